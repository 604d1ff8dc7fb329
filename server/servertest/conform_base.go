package servertest

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
)

// bases is short for the field of that name.
type bases = map[api.Key]*api.Checksum

// baseCases are protocol.md, section 2.1.
var baseCases = []conformanceCase{
	{"all bases hold: applied, without If-Match", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a", "b.md": "b"})
		r.ok(r.put(api.Push{
			Entries:       map[api.Key]string{"a.md": "A", "new.md": "n"},
			Deletions:     []api.Key{"b.md"},
			BaseChecksums: bases{"a.md": sumOf("a"), "b.md": sumOf("b"), "new.md": nil},
		}))
		r.holds(map[api.Key]string{"a.md": "A", "new.md": "n"}, "b.md")
	}},
	{"one base fails: 412 with what stands there, nothing applied", func(w *wire) {
		r := w.repo()
		now := r.write(map[api.Key]string{"a.md": "a", "b.md": "b", "there.md": "t"})
		r.unchanged(func() {
			details := w.wantError(r.put(api.Push{
				Entries:       map[api.Key]string{"a.md": "A", "b.md": "B", "there.md": "T", "gone.md": "g"},
				BaseChecksums: bases{"a.md": sumOf("a"), "b.md": sumOf("old"), "there.md": nil, "gone.md": sumOf("was")},
			}), http.StatusPreconditionFailed, api.ErrorCodeConflict)
			got := map[api.Key]api.Checksum{}
			for _, conflict := range details.Conflicts {
				got[conflict.Key] = ""
				if conflict.Checksum != nil {
					got[conflict.Key] = *conflict.Checksum
				}
			}
			if want := (map[api.Key]api.Checksum{"b.md": *sumOf("b"), "there.md": *sumOf("t"), "gone.md": ""}); !maps.Equal(got, want) {
				w.Errorf("conflicts are %v, want %v", got, want)
			}
			if details.Version == nil || *details.Version != now.Version || details.Checksum != now.Checksum {
				w.Errorf("the 412 says version %v and checksum %s", details.Version, details.Checksum)
			}
		})
	}},
	{"unrelated changes do not collide", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a", "b.md": "b"})
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"a.md": "A"}, BaseChecksums: bases{"a.md": sumOf("a")}}))
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"b.md": "B"}, BaseChecksums: bases{"b.md": sumOf("b")}}))
		r.holds(map[api.Key]string{"a.md": "A", "b.md": "B"})
	}},
	{"a key whose content already stands counts as holding: a retry after a lost reply is a success", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "1"})
		push := api.Push{Entries: map[api.Key]string{"a.md": "2", "b.md": "b"}, BaseChecksums: bases{"a.md": sumOf("1"), "b.md": nil}}
		first := r.ok(r.put(push))
		first.Changed = false
		if again := r.ok(r.put(push)); !reflect.DeepEqual(again, first) {
			w.Errorf("the retry says %+v, want %+v", again, first)
		}
		push.Entries["c.md"], push.BaseChecksums["c.md"] = "c", nil
		r.ok(r.put(push))
	}},
	{"with If-Match as well, both must hold", func(w *wire) {
		r := w.repo()
		tag := r.write(map[api.Key]string{"a.md": "a"}).Checksum.ETag()
		push := api.Push{Entries: map[api.Key]string{"a.md": "A"}, BaseChecksums: bases{"a.md": sumOf("a")}}
		w.wantError(r.put(push, "If-Match", stale), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		wrong := api.Push{Entries: push.Entries, BaseChecksums: bases{"a.md": sumOf("x")}}
		w.wantError(r.put(wrong, "If-Match", tag), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		r.ok(r.put(push, "If-Match", tag))
	}},
	{"a key without a base and no If-Match: 412", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a", "b.md": "b"})
		r.unchanged(func() {
			push := api.Push{Entries: map[api.Key]string{"a.md": "A", "b.md": "B"}, BaseChecksums: bases{"a.md": sumOf("a")}}
			w.wantError(r.put(push), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		})
	}},
}

// deletionCases are protocol.md, section 2.2, and promise S13.
var deletionCases = []conformanceCase{
	{"a deletion leaves a tombstone with the checksum of what was deleted", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a", "b.md": "b"})
		r.delete("b.md")
		for _, extra := range []string{"", "&view=hashes"} {
			if got := r.memory(extra).Deleted; !maps.Equal(got, map[api.Key]api.Checksum{"b.md": *sumOf("b")}) {
				w.Errorf("%s: deleted are %v", extra, got)
			}
		}
		r.holds(map[api.Key]string{"a.md": "a"}, "b.md")
	}},
	{"uploading exactly the deleted bytes is 200, and the key stays deleted", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a", "b.md": "b"})
		deleted := r.delete("b.md")
		deleted.Changed = false
		for _, headers := range [][]string{{"If-Match", "*"}, nil} {
			if again := r.ok(r.put(api.Push{Entries: map[api.Key]string{"b.md": "b"}}, headers...)); !reflect.DeepEqual(again, deleted) {
				w.Errorf("the zombie makes %+v of %+v", again, deleted)
			}
		}
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"b.md": "b", "c.md": "c"}}, "If-Match", "*"))
		r.holds(map[api.Key]string{"a.md": "a", "c.md": "c"}, "b.md")
	}},
	{"different bytes revive the key", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"b.md": "b"})
		r.delete("b.md")
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"b.md": "new"}}, "If-Match", "*"))
		r.holds(map[api.Key]string{"b.md": "new"})
	}},
	{"null as the base of a deleted key restores it", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"b.md": "b"})
		r.delete("b.md")
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"b.md": "b"}, BaseChecksums: bases{"b.md": nil}}))
		r.holds(map[api.Key]string{"b.md": "b"})
	}},
	{"deleting what is not there changes nothing", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		r.unchanged(func() {
			r.ok(r.put(api.Push{Deletions: []api.Key{"never.md"}}, "If-Match", "*"))
			r.ok(r.put(api.Push{Deletions: []api.Key{"never.md"}, BaseChecksums: bases{"never.md": sumOf("x")}}))
		})
	}},
	{"a deletion on another base is 412", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "edited meanwhile"})
		r.unchanged(func() {
			w.wantError(r.put(api.Push{Deletions: []api.Key{"a.md"}, BaseChecksums: bases{"a.md": sumOf("a")}}), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		})
	}},
	{"the last entry may go: an empty repo is not one without memory", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		gone := r.delete("a.md")
		if memory := r.holds(map[api.Key]string{}, "a.md"); memory.Version != gone.Version || memory.Content.Entries == nil {
			w.Errorf("%+v", memory)
		}
	}},
}

// deltaCases are protocol.md, section 2.3.
var deltaCases = []conformanceCase{
	{"since answers what changed after it, entries and deletions", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a", "b.md": "b", "c.md": "c"})
		second := r.write(map[api.Key]string{"b.md": "B"})
		r.delete("c.md")
		for _, extra := range []string{"", "&view=hashes"} {
			delta := r.memory("&since=1" + extra)
			if !delta.Partial || !maps.Equal(delta.Content.EntryChecksums, map[api.Key]api.Checksum{"b.md": *sumOf("B")}) || !maps.Equal(delta.Deleted, map[api.Key]api.Checksum{"c.md": *sumOf("c")}) {
				w.Errorf("since 1%s: %+v", extra, delta)
			}
			if delta.Version != 3 || delta.Epoch == "" || delta.Checksum != r.memory("").Checksum {
				w.Errorf("since 1%s: %+v", extra, delta)
			}
		}
		if delta := r.memory("&since=2"); len(delta.Content.Entries) != 0 || len(delta.Deleted) != 1 {
			w.Errorf("since %d: %+v", second.Version, delta)
		}
		if delta := r.memory("&since=3"); !delta.Partial || len(delta.Content.Entries) != 0 || len(delta.Deleted) != 0 {
			w.Errorf("since now: %+v", delta)
		}
	}},
	{"a version that the server cannot answer from gets the full set", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		for _, since := range []string{"0", "2", "9223372036854775807"} {
			if full := r.memory("&since=" + since); full.Partial || len(full.Content.Entries) != 1 {
				w.Errorf("since %s: %+v", since, full)
			}
		}
	}},
	{"a delta leaves out a tombstone whose key has a live twin, however old that is", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"Topic.md": "1"})
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"topic.md": "2"}, Deletions: []api.Key{"Topic.md"}}, "If-Match", "*"))
		if delta := r.memory("&since=1"); len(delta.Deleted) != 0 || delta.Content.Entries["topic.md"] != "2" {
			w.Errorf("%+v", delta)
		}
	}},
	{"the epoch is in every answer, and always the same", func(w *wire) {
		r := w.repo()
		put := r.write(map[api.Key]string{"a.md": "a"})
		epochs := []api.Epoch{put.Epoch, r.memory("").Epoch, r.memory("&view=hashes").Epoch, r.memory("&since=1").Epoch}
		if len(slices.Compact(slices.Clone(epochs))) != 1 || epochs[0] == "" {
			w.Errorf("epochs are %q", epochs)
		}
	}},
	{"versions rise by one a change", func(w *wire) {
		r := w.repo()
		for want := api.Version(1); want <= 5; want++ {
			text := strings.Repeat("x", int(want))
			if got := r.write(map[api.Key]string{"a.md": text}); got.Version != want {
				w.Errorf("version %d, want %d", got.Version, want)
			}
			if again := r.write(map[api.Key]string{"a.md": text}); again.Version != want {
				w.Errorf("a no-op makes version %d of %d", again.Version, want)
			}
		}
	}},
}

// timeCases are protocol.md, section 2.4.
var timeCases = []conformanceCase{
	{"the file's own time comes back", func(w *wire) {
		r := w.repo()
		at, err := api.ParseTime("2024-02-29T23:59:58.123+02:00")
		if err != nil {
			w.Fatal(err)
		}
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"a.md": "a", "b.md": "b"}, Modified: map[api.Key]api.Time{"a.md": at}}))
		if got := r.memory("").Content.EntryModified["a.md"]; got != at {
			w.Errorf("the time is %s, want %s", got, at)
		}
		if got := r.memory("&since=0").Content.EntryModified["a.md"]; got != at {
			w.Errorf("the delta's time is %s, want %s", got, at)
		}
	}},
	{"a time in the future is clamped to now", func(w *wire) {
		r := w.repo()
		future := api.NewTime(time.Now().Add(48 * time.Hour))
		put := r.ok(r.put(api.Push{Entries: map[api.Key]string{"a.md": "a"}, Modified: map[api.Key]api.Time{"a.md": future}}))
		if got := r.memory("").Content.EntryModified["a.md"]; got.IsZero() || got.After(put.LastModified.Add(time.Minute)) {
			w.Errorf("the time is %s, and it is %s", got, put.LastModified)
		}
	}},
}

// rightsCases are roles, and promise S11.
var rightsCases = []conformanceCase{
	{"without a token: 401", func(w *wire) {
		r := w.repo()
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			w.wantError(w.do(method, r.path(""), "", strings.NewReader(`{"entries":{"a.md":"a"}}`)), http.StatusUnauthorized, api.ErrorCodeTokenMissing)
			w.wantError(w.do(method, r.path(""), "tm_wrong", strings.NewReader(`{"entries":{"a.md":"a"}}`)), http.StatusUnauthorized, api.ErrorCodeTokenInvalid)
		}
	}},
	{"a viewer reads and does not write: 403", func(w *wire) {
		r := w.repo()
		w.wantError(w.do(http.MethodPut, r.path(""), w.target.Viewer, strings.NewReader(`{"entries":{"a.md":"a"}}`)), http.StatusForbidden, api.ErrorCodeRole)
		r.write(map[api.Key]string{"a.md": "a"})
		r.unchanged(func() {
			w.wantError(w.do(http.MethodPut, r.path(""), w.target.Viewer, strings.NewReader(`{"entries":{"a.md":"b"}}`), "If-Match", "*"), http.StatusForbidden, api.ErrorCodeRole)
		})
	}},
	{"member, maintainer and admin write", func(w *wire) {
		for _, token := range []string{w.target.Member, w.target.Maintainer, w.target.Admin} {
			r := w.repo()
			w.wantStatus(w.do(http.MethodPut, r.path(""), token, strings.NewReader(`{"entries":{"a.md":"a"}}`)), http.StatusOK)
		}
	}},
	{"another organization sees and changes nothing, and cannot tell that there is anything", func(w *wire) {
		r, empty := w.repo(), w.repo()
		tag := r.write(map[api.Key]string{"a.md": "ours"}).Checksum.ETag()
		foreign := func(r *repo, method, body string, headers ...string) answer {
			a := w.do(method, r.path(""), w.target.Foreign, strings.NewReader(body), headers...)
			// What differs by request, and what names the repo that was asked for.
			text := strings.ReplaceAll(string(a.body), a.header.Get(api.HeaderRequestID), "")
			return answer{status: a.status, header: a.header, body: []byte(strings.ReplaceAll(text, r.slug, ""))}
		}
		r.unchanged(func() {
			for _, headers := range [][]string{nil, {"If-None-Match", tag}, {"If-None-Match", "*"}, {"If-Match", tag}} {
				for method, body := range map[string]string{http.MethodGet: "", http.MethodPut: `{"entries":{"../bad":""}}`} {
					there, nowhere := foreign(r, method, body, headers...), foreign(empty, method, body, headers...)
					if there.status != nowhere.status || string(there.body) != string(nowhere.body) || there.header.Get("ETag") != "" {
						w.Errorf("%s with %q: %d %s, and where nothing is %d %s", method, headers, there.status, there.body, nowhere.status, nowhere.body)
					}
				}
			}
			w.wantError(foreign(r, http.MethodPut, `{"entries":{"b.md":"b"}}`, "If-Match", tag), http.StatusPreconditionFailed, api.ErrorCodeConflict)
			w.wantStatus(foreign(r, http.MethodPut, `{"entries":{"a.md":"theirs"}}`), http.StatusOK)
		})
		r.holds(map[api.Key]string{"a.md": "ours"})
	}},
}
