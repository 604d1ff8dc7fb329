package servertest

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/teammem/teammem/api"
)

// stale is the ETag of a state that no repo is in.
var stale = api.ChecksumOfString("no such state").ETag()

var putCases = []conformanceCase{
	{"a PUT never answers 404: the repo is created by its first one", func(w *wire) {
		r := w.repo()
		if first := r.ok(r.put(api.Push{Entries: map[api.Key]string{"a.md": "a"}})); first.Version != 1 {
			w.Errorf("the first version is %d", first.Version)
		}
		r.holds(map[api.Key]string{"a.md": "a"})
	}},
	{"a PUT is an upsert: other keys stay", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a", "b.md": "b"})
		r.write(map[api.Key]string{"b.md": "B", "c.md": "c"})
		r.holds(map[api.Key]string{"a.md": "a", "b.md": "B", "c.md": "c"})
	}},
	{"equal bytes are a no-op: same version, same ETag, 200, whatever If-Match says", func(w *wire) {
		r := w.repo()
		first := r.write(map[api.Key]string{"a.md": "a", "b.md": "b"})
		first.Changed = false
		for _, headers := range [][]string{nil, {"If-Match", stale}, {"If-Match", "*"}, {"If-Match", first.Checksum.ETag()}} {
			again := r.ok(r.put(api.Push{Entries: map[api.Key]string{"a.md": "a"}}, headers...))
			if !reflect.DeepEqual(again, first) {
				w.Errorf("with %q: %+v, want %+v", headers, again, first)
			}
		}
		if again := r.ok(r.put(api.Push{Deletions: []api.Key{"absent.md"}}, "If-Match", stale)); !reflect.DeepEqual(again, first) {
			w.Errorf("deleting what is not there: %+v", again)
		}
	}},
	{"the next batch takes its If-Match from the reply before", func(w *wire) {
		r := w.repo()
		tag := r.put(api.Push{Entries: map[api.Key]string{"1.md": "1"}}).header.Get("ETag")
		for _, key := range []api.Key{"2.md", "3.md"} {
			a := r.put(api.Push{Entries: map[api.Key]string{key: "x"}}, "If-Match", tag)
			r.ok(a)
			tag = a.header.Get("ETag")
		}
	}},
	{"neither If-Match nor baseChecksums, repo with memory: 412", func(w *wire) {
		r := w.repo()
		now := r.write(map[api.Key]string{"a.md": "a"})
		r.unchanged(func() {
			details := w.wantError(r.put(api.Push{Entries: map[api.Key]string{"a.md": "b"}}), http.StatusPreconditionFailed, api.ErrorCodeConflict)
			if details.Version == nil || *details.Version != now.Version || details.Checksum != now.Checksum || details.Conflicts == nil {
				w.Errorf("the 412 says %+v", details)
			}
		})
	}},
	{"If-Match stale: 412, nothing changed", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		r.unchanged(func() {
			w.wantError(r.put(api.Push{Entries: map[api.Key]string{"a.md": "b", "c.md": "c"}}, "If-Match", stale), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		})
	}},
	{"If-Match * needs a repo with memory", func(w *wire) {
		r := w.repo()
		w.wantError(r.put(api.Push{Entries: map[api.Key]string{"a.md": "a"}}, "If-Match", "*"), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		w.wantError(r.get(""), http.StatusNotFound, api.ErrorCodeNoMemory)
		r.write(map[api.Key]string{"a.md": "a"})
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"a.md": "b"}}, "If-Match", "*"))
	}},
	{"If-Match stale on a repo without memory: 412", func(w *wire) {
		w.wantError(w.repo().put(api.Push{Entries: map[api.Key]string{"a.md": "a"}}, "If-Match", stale), http.StatusPreconditionFailed, api.ErrorCodeConflict)
	}},
	{"a key both written and deleted: 400", func(w *wire) {
		r := w.repo()
		w.wantError(r.put(api.Push{Entries: map[api.Key]string{"a.md": "a"}, Deletions: []api.Key{"a.md"}}), http.StatusBadRequest, api.ErrorCodeKeyTwice)
	}},
	{"all or nothing", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		r.unchanged(func() {
			w.wantError(r.put(api.Push{Entries: map[api.Key]string{"b.md": "b", "../c.md": "c"}}, "If-Match", "*"), http.StatusBadRequest, api.ErrorCodeBadKey)
		})
	}},
	{"the checksum of the set is a function of keys and contents alone", func(w *wire) {
		straight, winding := w.repo(), w.repo()
		straight.write(map[api.Key]string{"a.md": "a", "b.md": "b"})
		winding.write(map[api.Key]string{"b.md": "x"})
		winding.write(map[api.Key]string{"a.md": "a", "c.md": "c"})
		winding.write(map[api.Key]string{"b.md": "b"})
		winding.delete("c.md")
		if one, other := straight.memory("").Checksum, winding.memory("").Checksum; one != other {
			w.Errorf("%s and %s", one, other)
		}
	}},
	{"contents are byte-exact, and so are their checksums", func(w *wire) {
		r := w.repo()
		entries := map[api.Key]string{
			"crlf.md": "a\r\nb\r\n", "bom.md": "\ufeffa", "nfc.md": "caf\u00e9", "nfd.md": "cafe\u0301", "empty.md": "",
			"tabs.md": "\ta\tb\n", "emoji.md": "👩\u200d👩\u200d👧", "noeol.md": "x", "quotes.md": `"\/` + "`",
			"spaces.md": " \t ", "replacement.md": "\ufffd", "high.md": "\U0010ffff",
		}
		r.write(entries)
		memory := r.holds(entries)
		for key, text := range entries {
			if memory.Content.EntryChecksums[key] != api.ChecksumOfString(text) {
				w.Errorf("%s has checksum %s", key, memory.Content.EntryChecksums[key])
			}
		}
	}},
	{"escapes in JSON are decoded before hashing", func(w *wire) {
		r := w.repo()
		r.ok(r.putText(`{"entries":{"\u0061.md":"\u00e9\ud83d\ude42\n"}}`))
		r.holds(map[api.Key]string{"a.md": "é🙂\n"})
	}},
}

// tagCases: ETags come back damaged by proxies (protocol.md, section 1.5; BR-35,
// BR-36).
var tagCases = []conformanceCase{
	{"a damaged ETag of ours is understood in If-Match", func(w *wire) {
		for _, damage := range []func(sum string) string{
			func(sum string) string { return `"` + sum + `"` },
			func(sum string) string { return sum },
			func(sum string) string { return `W/"` + sum + `"` },
			func(sum string) string { return `"W/` + sum + `"` },
			func(sum string) string { return `"` + strings.TrimPrefix(sum, "sha256:") + `"` },
			func(sum string) string { return strings.TrimPrefix(sum, "sha256:") },
			func(sum string) string { return `"` + sum + `-gzip"` },
			func(sum string) string { return `"` + sum + `--gzip"` },
			func(sum string) string { return `"` + sum + `;gzip"` },
			func(sum string) string { return `"` + sum + `"-gzip` },
			func(sum string) string { return `W/"` + sum + `-gzip"` },
			func(sum string) string { return stale + `, "` + sum + `"` },
			func(sum string) string { return `"something-else", W/"` + sum + `"` },
		} {
			r := w.repo()
			tag := damage(string(r.write(map[api.Key]string{"a.md": "1"}).Checksum))
			if a := r.put(api.Push{Entries: map[api.Key]string{"a.md": "2"}}, "If-Match", tag); a.status != http.StatusOK {
				w.Errorf("If-Match: %s: %d %s", tag, a.status, a.body)
			}
		}
	}},
	{"a list may come in several lines", func(w *wire) {
		r := w.repo()
		tag := r.write(map[api.Key]string{"a.md": "1"}).Checksum.ETag()
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"a.md": "2"}}, "If-Match", stale, "If-Match", tag))
	}},
	{"what cannot be read as an entity tag is 400, never a match", func(w *wire) {
		r := w.repo()
		sum := string(r.write(map[api.Key]string{"a.md": "1"}).Checksum)
		for _, tag := range []string{"", "abc", `"` + sum, sum + `"`, `"a"b"`, sum[:20], "*, " + stale, "'" + sum + "'", sum + "-other"} {
			r.unchanged(func() {
				w.wantError(r.put(api.Push{Entries: map[api.Key]string{"a.md": "2"}}, "If-Match", tag), http.StatusBadRequest, api.ErrorCodeBadPrecond)
			})
			w.wantError(r.get("", "If-None-Match", tag), http.StatusBadRequest, api.ErrorCodeBadPrecond)
		}
	}},
	{"a well-formed tag of another is 412", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "1"})
		for _, tag := range []string{stale, `""`, `"x"`, `W/"x"`, `"` + strings.Repeat("0", 64) + `"`} {
			w.wantError(r.put(api.Push{Entries: map[api.Key]string{"a.md": "2"}}, "If-Match", tag), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		}
	}},
	{"where a proxy eats the ETag, version and checksum are in the body too", func(w *wire) {
		r := w.repo()
		put := r.write(map[api.Key]string{"a.md": "1"})
		if memory := r.memory(""); memory.Version != put.Version || memory.Checksum != put.Checksum {
			w.Errorf("PUT says %+v, GET %+v", put, memory)
		}
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"a.md": "2"}}, "If-Match", put.Checksum.ETag()))
	}},
}
