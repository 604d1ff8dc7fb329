package servertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
)

// ask reads a record or a list of the repo under /api/v1.
func ask[T any](r *repo, path, extra string) T {
	r.Helper()
	return into[T](r.wire, r.wantStatus(r.do(http.MethodGet, r.under(path, extra), r.target.Viewer, nil), http.StatusOK))
}

func (r *repo) under(path, extra string) string {
	return path + "?repo=" + url.QueryEscape(r.slug) + extra
}

func (r *repo) restore(ask api.Restore) answer {
	r.Helper()
	body, err := json.Marshal(ask)
	if err != nil {
		r.Fatal(err)
	}
	return r.do(http.MethodPost, r.under(api.PathRestore, ""), r.target.Member, strings.NewReader(string(body)))
}

// storied is a repo with a story: a is written, rewritten and deleted, b written.
func storied(w *wire) *repo {
	r := w.repo()
	r.write(map[api.Key]string{"a.md": "one\n", "b.md": "b\n"})
	r.write(map[api.Key]string{"a.md": "two\n"})
	r.delete("a.md")
	return r
}

var historyCases = []conformanceCase{
	{"entries lists what is live, a page at a time", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "1", "b.md": "22", "c.md": "333"})
		first := ask[api.EntryList](r, api.PathEntries, "&limit=2")
		rest := ask[api.EntryList](r, api.PathEntries, "&limit=2&cursor="+url.QueryEscape(first.NextCursor))
		all := append(first.Entries, rest.Entries...)
		if len(first.Entries) != 2 || rest.NextCursor != "" || len(all) != 3 || all[2].Key != "c.md" || all[2].Bytes != 3 || all[2].Checksum != api.ChecksumOfString("333") {
			w.Errorf("%+v, then %+v", first, rest)
		}
	}},
	{"history lists each change, newest first, with who and from where", func(w *wire) {
		r := storied(w)
		list := ask[api.HistoryList](r, api.PathHistory, "&key=a.md")
		var got []string
		for _, c := range list.Changes {
			got = append(got, fmt.Sprint(c.Version, c.Deleted, c.Checksum == api.ChecksumOfString("two\n"), c.Previous != ""))
			if c.User == "" || c.Key != "a.md" {
				w.Errorf("%+v", c)
			}
		}
		if want := []string{"3 true true true", "2 false true true", "1 false false false"}; !slices.Equal(got, want) {
			w.Errorf("got %v, want %v", got, want)
		}
	}},
	{"versions names the keys of each, and pages without a gap", func(w *wire) {
		r := storied(w)
		var got []string
		for cursor := ""; ; {
			page := ask[api.VersionList](r, api.PathVersions, "&limit=1&cursor="+cursor)
			for _, v := range page.Versions {
				got = append(got, fmt.Sprint(v.Version, v.Written, v.Deleted))
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if want := []string{"3 [] [a.md]", "2 [a.md] []", "1 [a.md b.md] []"}; !slices.Equal(got, want) {
			w.Errorf("got %v, want %v", got, want)
		}
	}},
	{"an entry is read as it stood at a version", func(w *wire) {
		r := storied(w)
		for version, want := range map[int]string{1: "one\n", 2: "two\n"} {
			if entry := ask[api.EntryAt](r, api.PathEntry, fmt.Sprintf("&key=a.md&version=%d", version)); entry.Content != want || entry.Version != api.Version(version) {
				w.Errorf("at %d: %+v", version, entry)
			}
		}
		if now := ask[api.EntryAt](r, api.PathEntry, "&key=a.md"); !now.Deleted || now.Content != "" {
			w.Errorf("now: %+v", now)
		}
		w.wantError(w.do(http.MethodGet, r.under(api.PathEntry, "&key=none.md"), r.target.Viewer, nil), http.StatusNotFound, api.ErrorCodeNoEntry)
	}},
	{"a diff shows the change that made a version", func(w *wire) {
		r := storied(w)
		if diff := ask[api.EntryDiff](r, api.PathDiff, "&key=a.md&to=2"); diff.From != 1 || !strings.Contains(diff.Diff, "-one\n+two\n") {
			w.Errorf("%+v", diff)
		}
	}},
	{"a restore is a new version with the old text", func(w *wire) {
		r := storied(w)
		result := r.ok(r.restore(api.Restore{Key: "a.md", Version: 1}))
		if result.Version != 4 {
			w.Errorf("version %d", result.Version)
		}
		r.holds(map[api.Key]string{"a.md": "one\n", "b.md": "b\n"})
		if again := r.ok(r.restore(api.Restore{Key: "a.md", Version: 1})); again.Version != 4 {
			w.Errorf("a restore of what stands made version %d", again.Version)
		}
		stale := api.ChecksumOfString("two\n")
		w.wantError(r.restore(api.Restore{Key: "a.md", Version: 2, Base: &stale, OnBase: true}), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		w.wantError(r.restore(api.Restore{Key: "none.md", Version: 2}), http.StatusNotFound, api.ErrorCodeNoEntry)
		body := strings.NewReader(`{"key":"a.md","version":1}`)
		w.wantError(w.do(http.MethodPost, r.under(api.PathRestore, ""), r.target.Viewer, body), http.StatusForbidden, api.ErrorCodeRole)
	}},
	{"another organization sees none of it", func(w *wire) {
		r := storied(w)
		for _, path := range []string{api.PathEntries, api.PathHistory, api.PathVersions} {
			w.wantError(w.do(http.MethodGet, r.under(path, ""), r.target.Foreign, nil), http.StatusNotFound, api.ErrorCodeNoMemory)
		}
	}},
	{"bad queries are 400", func(w *wire) {
		r := storied(w)
		for _, extra := range []string{"&limit=0", "&limit=501", "&limit=x", "&cursor=!", "&limit=1&limit=2"} {
			w.wantError(w.do(http.MethodGet, r.under(api.PathHistory, extra), r.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
		}
		w.wantError(w.do(http.MethodGet, r.under(api.PathEntry, ""), r.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
		w.wantError(w.do(http.MethodGet, r.under(api.PathEntry, "&key=../x"), r.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadKey)
		w.wantError(w.do(http.MethodPost, r.under(api.PathRestore, ""), r.target.Member, strings.NewReader(`{"key":"a.md"}`)), http.StatusBadRequest, api.ErrorCodeBadBody)
	}},
}

// stream reads the events of a live stream.
type stream struct {
	w     *wire
	lines *bufio.Scanner
	id    string
	close func()
}

func (r *repo) listen(lastID string) *stream {
	r.Helper()
	return r.listenAt(r.under(api.PathEvents, ""), lastID)
}

func (r *repo) listenAt(path, lastID string) *stream {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.target.URL+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.target.Viewer)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := r.target.Client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		r.Fatalf("status %d, %s", resp.StatusCode, kind)
	}
	s := &stream{w: r.wire, lines: bufio.NewScanner(resp.Body)}
	s.close = func() { cancel(); _ = resp.Body.Close() }
	r.Cleanup(s.close)
	return s
}

// next is the next change.
func (s *stream) next() (c api.Change) {
	s.w.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			s.id = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				s.w.Fatal(err)
			}
			return c
		}
	}
	s.w.Fatalf("the stream ended: %v", s.lines.Err())
	return c
}

var liveCases = []conformanceCase{
	{"activity lists what changed, newest first, by author, key and action", func(w *wire) {
		r := storied(w)
		list := ask[api.Activity](r, api.PathActivity, "")
		if len(list.Events) != 3 || list.Events[0].Version != 3 || list.Events[0].Changes[0].Action != api.ActionDeleted || list.Events[2].Total != 2 {
			w.Fatalf("%+v", list)
		}
		if list := ask[api.Activity](r, api.PathActivity, "&prefix=b&action=created"); len(list.Events) != 1 || list.Events[0].Version != 1 || len(list.Events[0].Changes) != 1 {
			w.Errorf("%+v", list)
		}
		if list := ask[api.Activity](r, api.PathActivity, "&author=nobody"); len(list.Events) != 0 {
			w.Errorf("%+v", list)
		}
		first := ask[api.Activity](r, api.PathActivity, "&limit=2")
		rest := ask[api.Activity](r, api.PathActivity, "&limit=2&cursor="+url.QueryEscape(first.NextCursor))
		if len(first.Events) != 2 || len(rest.Events) != 1 || rest.Events[0].Version != 1 || rest.NextCursor != "" {
			w.Errorf("%+v, then %+v", first, rest)
		}
		w.wantError(r.do(http.MethodGet, r.under(api.PathActivity, "&action=moved"), r.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
	}},
	{"activity of all repos holds none of another organization", func(w *wire) {
		r := storied(w)
		theirs := into[api.Activity](w, r.wantStatus(r.do(http.MethodGet, api.PathActivity+"?limit=500", r.target.Foreign, nil), http.StatusOK))
		for _, e := range theirs.Events {
			if string(e.Repo) == r.slug {
				w.Errorf("%+v", e)
			}
		}
	}},
	{"a stream of all repos tells of one that is new", func(w *wire) {
		r := w.repo()
		s := r.listenAt(api.PathActivityLive, "")
		r.write(map[api.Key]string{"a.md": "1"})
		for got := s.next(); string(got.Repo) != r.slug; got = s.next() {
		}
		r.write(map[api.Key]string{"a.md": "2"})
		for {
			if got := s.next(); string(got.Repo) == r.slug {
				if got.Version != 2 {
					w.Errorf("got %+v", got)
				}
				break
			}
		}
	}},
	{"a stream tells the current version and then each change", func(w *wire) {
		r := w.repo()
		first := r.write(map[api.Key]string{"a.md": "1"})
		s := r.listen("")
		if got := s.next(); got != (api.Change{Repo: api.RepoSlug(r.slug), Version: 1, Checksum: first.Checksum}) {
			w.Errorf("got %+v", got)
		}
		r.write(map[api.Key]string{"a.md": "2"})
		if got := s.next(); got.Version != 2 {
			w.Errorf("got %+v", got)
		}
		s.close()
		r.write(map[api.Key]string{"a.md": "3"})
		if got := r.listen(s.id).next(); got.Version != 3 {
			w.Errorf("the stream that goes on tells %+v", got)
		}
	}},
	{"a stream may begin before the repo has memory", func(w *wire) {
		r := w.repo()
		s := r.listen("")
		r.write(map[api.Key]string{"a.md": "1"})
		if got := s.next(); got.Version != 1 {
			w.Errorf("got %+v", got)
		}
	}},
	{"a stream names its repos and needs a token", func(w *wire) {
		w.wantError(w.do(http.MethodGet, api.PathEvents, w.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
		w.wantError(w.do(http.MethodGet, api.PathEvents+"?repo=x", w.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadRepo)
		w.wantError(w.do(http.MethodGet, api.PathEvents+"?repo=a/b", "", nil), http.StatusUnauthorized, api.ErrorCodeTokenMissing)
	}},
}
