package servertest

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
)

// find asks a question about what a repo holds.
func (r *repo) find(question, extra string) api.SearchResult {
	r.Helper()
	address := api.PathSearch + "?q=" + url.QueryEscape(question+" repo:"+r.slug) + extra
	result := into[api.SearchResult](r.wire, r.wantStatus(r.do(http.MethodGet, address, r.target.Viewer, nil), http.StatusOK))
	if !result.Complete {
		r.Errorf("the index of %s is not complete", r.slug)
	}
	return result
}

// keysFound lists what a question finds, in order of their keys.
func (r *repo) keysFound(question, extra string) []string {
	r.Helper()
	var keys []string
	for _, hit := range r.find(question, extra).Hits {
		keys = append(keys, string(hit.Key))
	}
	slices.Sort(keys)
	return keys
}

func (r *repo) wantKeys(question, extra string, want ...string) {
	r.Helper()
	if got := r.keysFound(question, extra); !slices.Equal(got, want) {
		r.Errorf("%s %s: %v, want %v", question, extra, got, want)
	}
}

// marked is what stands at the marks of a snippet.
func marked(s api.Snippet) (all []string) {
	for _, m := range s.Marks {
		all = append(all, s.Text[m.Start:m.End])
	}
	return all
}

var searchCases = []conformanceCase{
	{"search finds words, beginnings, phrases and pairs, with marks", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{
			"feedback_release.md": "---\nname: Releases\ndescription: by hand\ntype: feedback\n---\nWe release by hand, then watch.\n",
			"team/notes.md":       "Release: rolled back by Ｈａｎｄ. <b>Straße</b>\n",
			"jp.md":               "東京都の天気 release\n",
		})
		for _, c := range []struct {
			question string
			want     []string
		}{
			{"release", []string{"feedback_release.md", "jp.md", "team/notes.md"}},
			{"RELEASE Hand", []string{"feedback_release.md", "team/notes.md"}},
			{"rel*", []string{"feedback_release.md", "jp.md", "team/notes.md"}},
			{"rel", nil},
			{`"release by hand"`, []string{"feedback_release.md"}},
			{`"by hand release"`, nil},
			{"京都", []string{"jp.md"}},
			{"東京都", []string{"jp.md"}},
			{"京", []string{"jp.md"}},
			{"東都", nil},
			{"STRASSE", []string{"team/notes.md"}},
			{"type:feedback", []string{"feedback_release.md"}},
			{"type:feedback type:user release", []string{"feedback_release.md"}},
			{"release after:2000-01-01", []string{"feedback_release.md", "jp.md", "team/notes.md"}},
			{"release before:2000-01-01", nil},
			{"release author:nobody-of-that-name", nil},
			{`"OR" NEAR( ^ * - {`, nil},
		} {
			r.wantKeys(c.question, "", c.want...)
		}
		hits := r.find("release hand", "").Hits
		if len(hits) != 2 || hits[0].Key != "feedback_release.md" || hits[0].Name != "Releases" || hits[0].Type != "feedback" || !hits[0].Current || hits[0].User == "" {
			w.Fatalf("the best is the one that has it in its name: %+v", hits)
		}
		if got := marked(hits[1].Snippet); !slices.Equal(got, []string{"Release", "Ｈａｎｄ"}) || !strings.Contains(hits[1].Snippet.Text, "<b>Straße</b>") {
			w.Errorf("%q of %q", got, hits[1].Snippet.Text)
		}
		r.wantKeys("release author:"+hits[0].User, "", "feedback_release.md", "jp.md", "team/notes.md")
	}},
	{"search finds what stands, and with history what stood", func(w *wire) {
		r := storied(w)
		r.wantKeys("one", "")
		r.wantKeys("two", "")
		r.wantKeys("b", "", "b.md")
		r.wantKeys("one", "&history=true", "a.md")
		hits := r.find("two", "&history=true").Hits
		if len(hits) != 1 || hits[0].Version != 2 || hits[0].Current {
			w.Errorf("%+v", hits)
		}
		// a.md was seen in two versions that fit: it is found once, as it was last.
		if hits := r.find("md", "&history=true").Hits; len(hits) != 2 {
			w.Errorf("%+v", hits)
		}
		r.write(map[api.Key]string{"b.md": "another\n"})
		r.wantKeys("another", "", "b.md") // at once
	}},
	{"search pages without a gap, and the order is that of one page", func(w *wire) {
		r := w.repo()
		entries := map[api.Key]string{}
		for i := range 7 {
			entries[api.Key(fmt.Sprintf("n%d.md", i))] = strings.Repeat("word ", i+1) + "and others of no matter here"
		}
		r.write(entries)
		whole := r.find("word", "")
		var got []api.SearchHit
		for cursor := ""; ; {
			page := r.find("word", "&limit=3&cursor="+cursor)
			got = append(got, page.Hits...)
			if page.Found != 7 || page.More {
				w.Errorf("%d found, more %v", page.Found, page.More)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if len(got) != 7 || len(whole.Hits) != 7 || got[0].Key != "n6.md" {
			w.Fatalf("%d in pages, %d in one; the first is %s", len(got), len(whole.Hits), got[0].Key)
		}
		for i := range got {
			if got[i].Key != whole.Hits[i].Key {
				w.Errorf("at %d: %s, and in one page %s", i, got[i].Key, whole.Hits[i].Key)
			}
		}
	}},
	{"search finds nothing of another organization", func(w *wire) {
		r := w.repo()
		secret := strings.ToLower(rand.Text())
		r.write(map[api.Key]string{"a.md": secret})
		r.wantKeys(secret, "", "a.md")
		for _, question := range []string{secret, "repo:" + r.slug, secret + " repo:**"} {
			a := w.wantStatus(w.do(http.MethodGet, api.PathSearch+"?q="+url.QueryEscape(question), w.target.Foreign, nil), http.StatusOK)
			if found := into[api.SearchResult](w, a); len(found.Hits) != 0 || found.Found != 0 {
				w.Errorf("%s: %+v", question, found)
			}
		}
		a := w.wantStatus(w.do(http.MethodGet, api.PathDigest+"?since=2000-01-01&limit=500", w.target.Foreign, nil), http.StatusOK)
		for _, g := range into[api.Digest](w, a).Groups {
			if g.Repo == api.RepoSlug(r.slug) {
				w.Errorf("the digest tells of %+v", g)
			}
		}
	}},
	{"search refuses what it cannot read", func(w *wire) {
		for _, query := range []string{
			"", "?q=", "?q=%20", "?q=type:", "?q=before:yesterday", "?q=repo:[", "?q=a&limit=0", "?q=a&limit=51", "?q=a&cursor=-", "?q=a&history=yes",
			"?q=a&q=b", "?q=%ff", "?q=" + strings.Repeat("a", 1001), "?q=" + strings.Repeat("a+", 33),
		} {
			w.wantError(w.do(http.MethodGet, api.PathSearch+query, w.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
		}
		for _, query := range []string{"", "?since=now", "?since=2026-01-01&limit=501"} {
			w.wantError(w.do(http.MethodGet, api.PathDigest+query, w.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
		}
		w.wantError(w.do(http.MethodGet, api.PathDigest+"?since=2026-01-01&repo=", w.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadRepo)
	}},
	{"the digest tells what is new and what was changed, by repo and type", func(w *wire) {
		r := w.repo()
		start := time.Now().Add(-time.Hour)
		r.write(map[api.Key]string{
			"MEMORY.md": "- [Releases](rel.md)\n", "gone.md": "x",
			"rel.md":     "---\nname: Releases\ndescription: by hand\ntype: project\n---\n1\n",
			"project.md": "---\ntype: project\n---\n", "plain.md": "no header",
		})
		r.delete("gone.md")
		if got, want := r.learned(start), []string{"plain.md new", "project/project.md new", "project/rel.md new"}; !slices.Equal(got, want) {
			w.Errorf("%q, want %q", got, want)
		}
		list := ask[api.HistoryList](r, api.PathHistory, "&key=rel.md")
		// The clock of versions is the server's, to the millisecond.
		later := list.Changes[0].At.Add(time.Millisecond)
		for w.Context().Err() == nil {
			r.write(map[api.Key]string{"rel.md": "---\nname: Releases\ntype: project\n---\n" + rand.Text()})
			if now := ask[api.HistoryList](r, api.PathHistory, "&key=rel.md&limit=1"); !now.Changes[0].At.Before(later) {
				break
			}
		}
		r.write(map[api.Key]string{"new.md": "n"})
		if got, want := r.learned(later), []string{"new.md new", "project/rel.md"}; !slices.Equal(got, want) {
			w.Errorf("%q, want %q", got, want)
		}
		if got := r.learned(time.Now().Add(time.Hour)); got != nil {
			w.Errorf("what was learned in an hour from now: %q", got)
		}
	}},
}

// learned lists what the digest tells of a repo.
func (r *repo) learned(since time.Time) (lines []string) {
	r.Helper()
	address := api.PathDigest + "?repo=" + r.slug + "&since=" + url.QueryEscape(since.Format(time.RFC3339Nano))
	digest := into[api.Digest](r.wire, r.wantStatus(r.do(http.MethodGet, address, r.target.Viewer, nil), http.StatusOK))
	if !digest.Complete || digest.NextCursor != "" {
		r.Errorf("of a repo of few entries, the digest says complete %v, cursor %q", digest.Complete, digest.NextCursor)
	}
	for _, g := range digest.Groups {
		if g.Repo != api.RepoSlug(r.slug) {
			r.Errorf("the digest of %s tells of %s", r.slug, g.Repo)
		}
		for _, e := range g.Entries {
			line := string(e.Key)
			if g.Type != "" {
				line = g.Type + "/" + line
			}
			if e.New {
				line += " new"
			}
			lines = append(lines, line)
		}
	}
	return lines
}
