package servertest

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
)

// badKeys break each rule of protocol.md, section 1.7, once at least.
var badKeys = map[string]string{
	"": "empty", "a\x00b.md": "control", "a\nb.md": "control", "a\u0085b.md": "control",
	`..\a.md`: "backslash", `a\b.md`: "backslash", "C:a.md": "colon", "a.md:stream": "colon",
	"/a.md": "absolute", "//host/share/a.md": "absolute", "a//b.md": "empty-segment", "a/": "empty-segment",
	".": "dot-segment", "..": "dot-segment", "../a.md": "dot-segment", "a/../b.md": "dot-segment", "./a.md": "dot-segment",
	"a./b.md": "trailing", "a.md ": "trailing", "a.md.": "trailing",
	"CON": "device", "con.md": "device", "dir/LPT1.txt": "device", "COM¹": "device", "nul .md": "device",
	strings.Repeat("a/", 512) + "a": "key-length", strings.Repeat("a", 256): "segment-length",
	".git/config": "reserved", "a/.GIT": "reserved", ".claude/settings.json": "reserved", ".teammem/x": "reserved", ".teammem-x": "reserved", ".g\u200dit": "reserved",
	"%2e%2e/a.md": "percent-encoding", "%252e%252e%252fa.md": "percent-encoding", "..%c0%afa.md": "percent-encoding", "a%00.md": "percent-encoding",
	"\u2025/a.md": "compatibility", "a\uff0fb.md": "compatibility", "a\uff3cb.md": "compatibility", "a\uff1ab.md": "compatibility", "\u2100.md": "compatibility", "\uff0e\uff0e/a.md": "compatibility",
}

var keyCases = []conformanceCase{
	{"a bad key is 400, with the key and the rule named", func(w *wire) {
		r := w.repo()
		for key, rule := range badKeys {
			details := w.wantError(r.put(api.Push{Entries: map[api.Key]string{api.Key(key): "x"}}), http.StatusBadRequest, api.ErrorCodeBadKey)
			if details.Rule != rule {
				w.Errorf("%q breaks the rule %s, want %s", key, details.Rule, rule)
			}
			if len(key) < 60 && string(details.Key) != key {
				w.Errorf("%q is named %q", key, details.Key)
			}
			w.wantError(r.put(api.Push{Deletions: []api.Key{api.Key(key)}}), http.StatusBadRequest, api.ErrorCodeBadKey)
		}
		w.wantError(r.get(""), http.StatusNotFound, api.ErrorCodeNoMemory)
	}},
	{"odd keys that are legal are stored as they are spelled", func(w *wire) {
		r := w.repo()
		entries := map[api.Key]string{
			`a<b>"c|d?e*f.md`: "1", "caf\u00e9.md": "2", "100%.md": "3", ".hidden": "4", "dir/.dot/x.md": "5", "...a": "6",
			"no extension": "7", "甲/乙.md": "8", "conx.md": "9", "COM10.md": "10", api.Key(strings.Repeat("s", 255)): "11",
			api.Key(strings.Repeat("d/", 511) + "xy"): "12", "git": "13", "e\u0301.md": "14",
		}
		r.write(entries)
		r.holds(entries)
	}},
	{"twins within a PUT are 400, both named", func(w *wire) {
		r := w.repo()
		for one, other := range map[api.Key]api.Key{"Topic.md": "topic.md", "caf\u00e9.md": "cafe\u0301.md", "stra\u00dfe.md": "STRASSE.md", "\u212a.md": "k.md"} {
			details := w.wantError(r.put(api.Push{Entries: map[api.Key]string{one: "1", other: "2"}}), http.StatusBadRequest, api.ErrorCodeKeyTwin)
			if !(details.Key == one && details.Other == other || details.Key == other && details.Other == one) {
				w.Errorf("%q and %q are named %q and %q", one, other, details.Key, details.Other)
			}
		}
	}},
	{"a new twin of a stored key is 400, unless the same PUT deletes the old spelling", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"Topic.md": "text"})
		r.unchanged(func() {
			details := w.wantError(r.put(api.Push{Entries: map[api.Key]string{"topic.md": "text"}}, "If-Match", "*"), http.StatusBadRequest, api.ErrorCodeKeyTwin)
			if details.Key != "topic.md" || details.Other != "Topic.md" {
				w.Errorf("named are %q and %q", details.Key, details.Other)
			}
		})
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"topic.md": "text"}, Deletions: []api.Key{"Topic.md"}}, "If-Match", "*"))
		// The tombstone of the old spelling is void while its twin lives.
		r.holds(map[api.Key]string{"topic.md": "text"})
		r.delete("topic.md")
		r.holds(map[api.Key]string{}, "Topic.md", "topic.md")
	}},
	{"a key that is a directory of another key is 400", func(w *wire) {
		r := w.repo()
		w.wantError(r.put(api.Push{Entries: map[api.Key]string{"notes.md": "", "notes.md/today.md": ""}}), http.StatusBadRequest, api.ErrorCodeKeyDirectory)
		r.write(map[api.Key]string{"dir/a.md": "a", "file": "f"})
		r.unchanged(func() {
			for _, key := range []api.Key{"dir", "DIR", "file/b.md", "File/b.md"} {
				w.wantError(r.put(api.Push{Entries: map[api.Key]string{key: ""}}, "If-Match", "*"), http.StatusBadRequest, api.ErrorCodeKeyDirectory)
			}
		})
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"dir": "now a file"}, Deletions: []api.Key{"dir/a.md"}}, "If-Match", "*"))
	}},
	{"every known traversal is refused, or stored exactly as it is spelled", hostileKeys},
}

// hostileKeys puts every line of the corpus as a key: each that breaks a rule
// alone, and the legal ones in as few PUTs as their exclusions of each other
// allow.
func hostileKeys(w *wire) {
	// There are 27,000 of them, and two kinds of answer.
	w.sample = 100
	r := w.repo()
	var legal []api.Key
	refused := 0
	for i, line := range corpusLines(w) {
		if w.target.Quick && i%10 != 0 {
			continue
		}
		key, err := api.ParseKey(line)
		if err == nil {
			legal = append(legal, key)
			continue
		}
		refused++
		var bad *api.KeyError
		if !errors.As(err, &bad) {
			w.Fatalf("%q: %v", line, err)
		}
		details := w.wantError(r.put(api.Push{Entries: map[api.Key]string{api.Key(line): "x"}}), http.StatusBadRequest, api.ErrorCodeBadKey)
		if details.Rule != bad.Rule.Name {
			w.Errorf("%q: rule %s, want %s", line, details.Rule, bad.Rule.Name)
		}
	}
	w.wantError(r.get(""), http.StatusNotFound, api.ErrorCodeNoMemory)
	batches := compatible(legal)
	for _, batch := range batches {
		r := w.repo()
		entries := map[api.Key]string{}
		for _, key := range batch {
			entries[key] = string(key)
		}
		r.write(entries)
		r.holds(entries)
	}
	w.Logf("%d keys refused, %d stored in %d repos", refused, len(legal), len(batches))
}

// compatible parts keys into sets of a fair size in which none excludes another.
func compatible(keys []api.Key) (sets [][]api.Key) {
	const most = 1000
	var files, directories []map[string]bool // by Fold, of each set
	fits := func(i int, key api.Key) bool {
		inside := func(dir api.Key) bool { return files[i][dir.Fold()] }
		return len(sets[i]) < most && !files[i][key.Fold()] && !directories[i][key.Fold()] && !slices.ContainsFunc(key.Ancestors(), inside)
	}
	for _, key := range keys {
		i := 0
		for i < len(sets) && !fits(i, key) {
			i++
		}
		if i == len(sets) {
			sets, files, directories = append(sets, nil), append(files, map[string]bool{}), append(directories, map[string]bool{})
		}
		sets[i] = append(sets[i], key)
		files[i][key.Fold()] = true
		for _, dir := range key.Ancestors() {
			directories[i][dir.Fold()] = true
		}
	}
	return sets
}

// corpusLines reads the hostile names of the shared corpus.
func corpusLines(w *wire) []string {
	w.Helper()
	root := os.Getenv("TEAMMEM_CORPUS")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			w.Fatal(err)
		}
		for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
		}
		root = filepath.Join(dir, "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(root, "hostile", "traversal.txt"))
	if errors.Is(err, os.ErrNotExist) {
		w.Skip("the corpus is not here; TEAMMEM_CORPUS names its place")
	}
	if err != nil {
		w.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
