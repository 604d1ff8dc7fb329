package reading

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// line is an event and its changes in one line.
func line(e Event) string {
	s := fmt.Sprintf("%s@%d by %s:", e.Repo, e.Version, e.User)
	for _, p := range e.Changes {
		s += fmt.Sprintf(" %s %s", ActionOf(p), p.Key)
	}
	return s
}

// Whatever was pushed to whatever repo, the pages laid end to end are all events that
// the query asks for, newest first, each once.
func TestActivityAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBox(t)
		lee := b.person("lee", "desk")
		var all []Event
		live := map[string]bool{}
		for range rapid.IntRange(0, 60).Draw(rt, "pushes") {
			slug := api.RepoSlug("acme/" + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "repo"))
			who := rapid.SampledFrom([]string{"dana", "lee"}).Draw(rt, "who")
			key := api.Key(rapid.SampledFrom([]string{"x.md", "sub/y.md"}).Draw(rt, "key"))
			// Several within a millisecond, and some long after.
			b.clock = b.clock.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 5000}).Draw(rt, "ms")) * time.Millisecond)
			caller, at := b.dana, string(slug)+" "+string(key)
			if who == "lee" {
				caller = lee
			}
			push := api.Push{Entries: map[api.Key]string{key: rapid.StringN(1, 8, -1).Draw(rt, "text")}}
			if live[at] && rapid.Bool().Draw(rt, "delete") {
				push = api.Push{Deletions: []api.Key{key}}
			}
			done, err := b.ledger.Push(t.Context(), caller, slug, push, api.Tags{Sent: true, Any: true})
			if err != nil {
				done, err = b.ledger.Push(t.Context(), caller, slug, push, api.Tags{})
			}
			if err != nil {
				rt.Fatal(err)
			}
			if !done.Changed {
				continue
			}
			past := store.Past{Version: done.Version, At: done.LastModified, UserName: who}
			past.Key, past.Deleted = key, push.Entries == nil
			if live[at] {
				past.Previous = api.ChecksumOfString("")
			}
			live[at] = !past.Deleted
			all = append(all, Event{Repo: slug, Version: done.Version, At: done.LastModified, User: who, Changes: []store.Past{past}})
		}
		q := ActivityQuery{
			Author: rapid.SampledFrom([]string{"", "lee"}).Draw(rt, "author"), Prefix: rapid.SampledFrom([]string{"", "sub/"}).Draw(rt, "prefix"),
			Action: rapid.SampledFrom([]api.Action{"", api.ActionDeleted, api.ActionCreated}).Draw(rt, "action"), Limit: rapid.IntRange(1, 9).Draw(rt, "limit"),
		}
		if rapid.Bool().Draw(rt, "after") {
			q.After = noon.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(rt, "from")) * time.Millisecond)
		}
		if rapid.Bool().Draw(rt, "before") {
			q.Before = noon.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(rt, "to")) * time.Millisecond)
		}
		want := wanted(all, q)
		repos, err := b.store.Repos(t.Context(), b.dana.Org)
		if err != nil {
			rt.Fatal(err)
		}
		var got []string
		for pages := 0; ; pages++ {
			events, next, err := b.Activity(t.Context(), b.dana, Seen(repos, func(api.RepoSlug) bool { return true }), q)
			if err != nil || len(events) > q.Limit || pages > 100 {
				rt.Fatalf("page %d: %d events, %v", pages, len(events), err)
			}
			for _, e := range events {
				got = append(got, line(e))
			}
			if q.Cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%+v\ngot\n%s\nwant\n%s", q, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// wanted is what a query asks for, found the plain way.
func wanted(all []Event, q ActivityQuery) (lines []string) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Event) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Repo, b.Repo), cmp.Compare(b.Version, a.Version))
	})
	for _, e := range all {
		p := e.Changes[0]
		within := (q.After.IsZero() || !e.At.Before(q.After)) && (q.Before.IsZero() || e.At.Before(q.Before))
		if within && (q.Author == "" || q.Author == e.User) && strings.HasPrefix(string(p.Key), q.Prefix) && (q.Action == "" || q.Action == ActionOf(p)) {
			lines = append(lines, line(e))
		}
	}
	return lines
}

// What may not be seen is not there, and a cursor of another's making is refused.
func TestActivityOfWhatMayBeSeen(t *testing.T) {
	b := newBox(t)
	b.write(b.dana, map[api.Key]string{"a.md": "a"})
	repos, err := b.store.Repos(t.Context(), b.dana.Org)
	if err != nil {
		t.Fatal(err)
	}
	events, next, err := b.Activity(t.Context(), b.dana, Seen(repos, func(api.RepoSlug) bool { return false }), ActivityQuery{Limit: 10})
	if len(events) != 0 || next != "" || err != nil {
		t.Errorf("%+v, %q, %v", events, next, err)
	}
	for _, cursor := range []string{"x", "1.2", "1.2.nothing", "1.0.acme/widgets", "01.2.acme/widgets", "1.2.ACME/widgets", "-1.-2.acme/widgets"} {
		if _, _, err := b.Activity(t.Context(), b.dana, nil, ActivityQuery{Cursor: cursor, Limit: 10}); api.CodeOf(err) != api.InvalidRequest {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}
