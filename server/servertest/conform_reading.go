package servertest

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
)

// send posts or puts a value as the body of a change under /api/v1.
func (r *repo) send(method, path string, v any) answer {
	r.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		r.Fatal(err)
	}
	return r.do(method, r.under(path, ""), r.target.Member, bytes.NewReader(body))
}

// linked is a repo whose entries lead to each other, and to nothing.
func linked(w *wire) *repo {
	r := w.repo()
	r.write(map[api.Key]string{
		"MEMORY.md":  strings.Repeat("a line\n", 199) + "- [a](a.md) — first\n- [late](late.md) — behind the cut\n",
		"a.md":       "---\nname: a\ndescription: what a is\nmetadata:\n  type: project\n---\n[[b]] and [[nowhere]]\n",
		"b.md":       "one\ntwo\n",
		"late.md":    "late\n",
		"sub/alone":  "no memory\n",
		"orphan.md":  "nobody\n",
		"sub/log.md": "[up](../b.md)\n",
	})
	return r
}

var readingCases = []conformanceCase{
	{"the catalogue says what heads say, who wrote it, and how it is linked", func(w *wire) {
		r := linked(w)
		list := ask[api.Catalogue](r, api.PathCatalogue, "&type=project")
		if len(list.Entries) != 1 || list.Total != 1 {
			w.Fatalf("%+v", list)
		}
		e := list.Entries[0]
		if e.Key != "a.md" || e.Description != "what a is" || e.Type != "project" || e.User == "" || e.Links != 2 || e.Dangling != 1 || e.LinkedBy != 1 || e.Orphan {
			w.Errorf("%+v", e)
		}
		if list := ask[api.Catalogue](r, api.PathCatalogue, "&author=nobody"); list.Total != 0 || len(list.Entries) != 0 {
			w.Errorf("%+v", list)
		}
	}},
	{"the catalogue pages without a gap and counts all", func(w *wire) {
		r := linked(w)
		var keys []api.Key
		for cursor := ""; ; {
			page := ask[api.Catalogue](r, api.PathCatalogue, "&limit=2&cursor="+cursor)
			for _, e := range page.Entries {
				keys = append(keys, e.Key)
			}
			if page.Total != 7 {
				w.Errorf("the total is %d", page.Total)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if want := []api.Key{"MEMORY.md", "a.md", "b.md", "late.md", "orphan.md", "sub/alone", "sub/log.md"}; !slices.Equal(keys, want) {
			w.Errorf("%v", keys)
		}
	}},
	{"links lead out of an entry, into it, and to nothing", func(w *wire) {
		r := linked(w)
		a, b := ask[api.EntryLinks](r, api.PathLinks, "&key=a.md"), ask[api.EntryLinks](r, api.PathLinks, "&key=b.md")
		want := []api.EntryLink{{From: "a.md", To: "b.md", Target: "b", Line: 7, Wiki: true}, {From: "a.md", Target: "nowhere", Line: 7, Wiki: true}}
		if !slices.Equal(a.Out, want) || !slices.Equal(a.In, []api.Key{"MEMORY.md"}) || !slices.Equal(b.In, []api.Key{"a.md", "sub/log.md"}) {
			w.Errorf("a: %+v, b: %+v", a, b)
		}
		w.wantError(r.do(http.MethodGet, r.under(api.PathLinks, "&key=none.md"), r.target.Viewer, nil), http.StatusNotFound, api.ErrorCodeNoEntry)
	}},
	{"indexes tell what falls outside of 200 lines", func(w *wire) {
		report := ask[api.IndexReport](linked(w), api.PathIndexes, "")
		if len(report.Indexes) != 1 || report.TotalDangling != 1 || report.Dangling[0].Target != "nowhere" || !slices.Equal(report.Orphans, []api.Key{"orphan.md", "sub/log.md"}) {
			w.Fatalf("%+v", report)
		}
		x := report.Indexes[0]
		if x.Lines != 201 || x.LoadedLines != 200 || x.MaxLines != 200 || x.MaxBytes != 25_000 || len(x.Outside) != 1 || x.Outside[0].To != "late.md" || x.Warning == "" {
			w.Errorf("%+v", x)
		}
	}},
	{"blame names the change of each line", func(w *wire) {
		r := linked(w)
		r.write(map[api.Key]string{"b.md": "one\n2\n"})
		blame := ask[api.Blame](r, api.PathBlame, "&key=b.md")
		if len(blame.Lines) != 2 || blame.Lines[0].Version != 1 || blame.Lines[1].Version != 2 || blame.Lines[1].Text != "2\n" || blame.Lines[1].User == "" {
			w.Errorf("%+v", blame)
		}
	}},
	{"a diff by words marks what changed within a line", func(w *wire) {
		r := linked(w)
		r.write(map[api.Key]string{"b.md": "one\ntwo words\n"})
		diff := ask[api.EntryDiff](r, api.PathDiff, "&key=b.md&view=words")
		if len(diff.Hunks) != 1 || len(diff.Hunks[0].Lines) != 3 || diff.Diff == "" {
			w.Fatalf("%+v", diff)
		}
		want := []api.DiffSpan{{Text: "two"}, {Text: " words", Changed: true}}
		if line := diff.Hunks[0].Lines[2]; !slices.Equal(line.Spans, want) || line.New != 2 || line.Old != 0 {
			w.Errorf("%+v", line)
		}
		if diff := ask[api.EntryDiff](r, api.PathDiff, "&key=b.md"); diff.Hunks != nil {
			w.Errorf("words were not asked for: %+v", diff)
		}
		w.wantError(r.do(http.MethodGet, r.under(api.PathDiff, "&key=b.md&view=x"), r.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
	}},
	{"an edit on a text that has changed names who was quicker", func(w *wire) {
		r := linked(w)
		seen := api.ChecksumOfString("late\n")
		done := into[api.PushResult](w, r.wantStatus(r.send(http.MethodPut, api.PathEntry, api.Edit{Key: "late.md", Content: "mine\n", Base: &seen, Reason: "it was wrong"}), http.StatusOK))
		if done.Version != 2 || !done.Changed {
			w.Errorf("%+v", done)
		}
		r.unchanged(func() {
			details := w.wantError(r.send(http.MethodPut, api.PathEntry, api.Edit{Key: "late.md", Content: "too late\n", Base: &seen}), http.StatusPreconditionFailed, api.ErrorCodeConflict)
			if details.Quicker == nil || details.Quicker.Version != 2 || details.Quicker.User == "" {
				w.Errorf("%+v", details)
			}
			w.wantError(r.send(http.MethodPut, api.PathEntry, map[string]string{"key": "late.md", "content": "no base"}), http.StatusBadRequest, api.ErrorCodeBadBody)
		})
	}},
	{"a move is one version, and is there when it is asked for again", func(w *wire) {
		r := linked(w)
		for range 2 {
			done := into[api.PushResult](w, r.wantStatus(r.send(http.MethodPost, api.PathMove, api.Move{Key: "late.md", To: "sub/late.md"}), http.StatusOK))
			if done.Version != 2 {
				w.Errorf("version %d", done.Version)
			}
		}
		memory := r.memory("")
		if _, there := memory.Content.Entries["late.md"]; there || memory.Content.Entries["sub/late.md"] != "late\n" || memory.Deleted["late.md"] != api.ChecksumOfString("late\n") {
			w.Errorf("%+v", memory)
		}
		r.unchanged(func() {
			w.wantError(r.send(http.MethodPost, api.PathMove, api.Move{Key: "a.md", To: "b.md"}), http.StatusPreconditionFailed, api.ErrorCodeConflict)
			w.wantError(r.send(http.MethodPost, api.PathMove, api.Move{Key: "none.md", To: "c.md"}), http.StatusNotFound, api.ErrorCodeNoEntry)
			w.wantError(r.send(http.MethodPost, api.PathMove, map[string]string{"key": "a.md", "to": "../c.md"}), http.StatusBadRequest, api.ErrorCodeBadKey)
		})
	}},
	{"an export holds every live entry", func(w *wire) {
		r := linked(w)
		r.delete("late.md")
		got := r.wantStatus(r.do(http.MethodGet, r.under(api.PathExport, "&format=zip"), r.target.Viewer, nil), http.StatusOK)
		archive, err := zip.NewReader(bytes.NewReader(got.body), int64(len(got.body)))
		if err != nil || len(archive.File) != 6 || !strings.Contains(got.header.Get("Content-Disposition"), "-memory-2.zip") {
			w.Errorf("%v, %v", got.header, err)
		}
		w.wantError(r.do(http.MethodGet, r.under(api.PathExport, "&format=rar"), r.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
	}},
	{"another organization reads none of it", func(w *wire) {
		r := linked(w)
		for _, path := range []string{api.PathCatalogue, api.PathLinks, api.PathIndexes, api.PathBlame, api.PathExport} {
			w.wantError(w.do(http.MethodGet, r.under(path, "&key=a.md"), r.target.Foreign, nil), http.StatusNotFound, api.ErrorCodeNoMemory)
		}
	}},
}
