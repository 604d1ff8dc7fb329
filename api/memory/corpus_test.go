package memory_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammem/api/memory"
)

// corpus is the directory of real memory directories, or the test is skipped.
func corpus(t testing.TB) fs.FS {
	t.Helper()
	dir := os.Getenv("TEAMMEM_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "open")); err != nil {
		t.Skipf("the corpus of real directories is not there: %v", err)
	}
	return os.DirFS(filepath.Join(dir, "open"))
}

// oracle reads one field as the corpus's README says, and shares nothing with the
// reader: the first line of the block that begins with the key.
func oracle(text, key string) string {
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n"), "\n")
	if lines[0] != "---" {
		return ""
	}
	for _, line := range lines[1:] {
		if line == "---" {
			break
		}
		value, ok := strings.CutPrefix(line, key+": ")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		for _, quote := range []string{`"`, "'"} {
			if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
				return value[1 : len(value)-1]
			}
		}
		return value
	}
	return ""
}

func oracleType(text string) string {
	for _, key := range []string{"type", "  type"} {
		switch t := oracle(text, key); t {
		case "user", "feedback", "project", "reference":
			return t
		}
	}
	return ""
}

// Every real file is read as it is written, by the reader of whole texts and by the
// scan alike, and nothing in the directory changes.
func TestTheCorpusIsReadAsItIsWritten(t *testing.T) {
	dir := corpus(t)
	before := checksums(t, dir)
	scanned := map[string]memory.Memory{}
	list := memory.Scan(0, memory.Source{FS: dir})
	for _, m := range list.Memories {
		scanned[string(m.Key)] = m
	}
	for _, missed := range list.Missed {
		t.Errorf("%s: %v", missed.Key, missed.Err)
	}
	files, typed := 0, 0
	for name := range before {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		files++
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		heads := []memory.Head{memory.Parse(text)}
		if !strings.HasSuffix(name, "MEMORY.md") {
			m, ok := scanned[name]
			if !ok {
				t.Errorf("%s was not listed", name)
			}
			heads = append(heads, m.Head)
		}
		for _, h := range heads {
			got := [3]string{h.Name, h.Description, string(h.Type)}
			want := [3]string{oracle(string(text), "name"), oracle(string(text), "description"), oracleType(string(text))}
			if got != want {
				t.Errorf("%s:\n got %q\nwant %q", name, got, want)
			}
			if h.Type != memory.None {
				typed++
			}
		}
		memory.WikiLinks(text)
		memory.Links(text)
		memory.CutIndex(text)
	}
	if files != 260 || typed < 400 {
		t.Errorf("%d files, %d types; the corpus has 260 files", files, typed)
	}
	for name, sum := range checksums(t, dir) {
		if before[name] != sum {
			t.Errorf("%s was changed", name)
		}
	}
}

// The links of real indexes lead to files that are there, but for a few that the
// people themselves have left dangling.
func TestTheIndexesOfTheCorpus(t *testing.T) {
	dir := corpus(t)
	list := memory.Scan(0, memory.Source{FS: dir})
	entries, dangling := 0, 0
	for _, key := range list.Indexes {
		text, err := fs.ReadFile(dir, string(key))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range memory.Links(text) {
			if !l.Entry || l.Bare {
				continue
			}
			entries++
			if _, err := fs.Stat(dir, l.Path(filepath.Dir(string(key)))); err != nil {
				dangling++
				t.Logf("%s:%d leads to %q, which is not there", key, l.Line, l.Target)
			}
			if got := string(text[l.Offset : l.Offset+len(l.Target)]); got != l.Target {
				t.Errorf("%s:%d: at the offset stands %q, not %q", key, l.Line, got, l.Target)
			}
		}
	}
	if entries < 200 || dangling > entries/20 {
		t.Errorf("%d entries, of which %d lead nowhere", entries, dangling)
	}
}

// checksums is the tree as it lies on disk.
func checksums(t testing.TB, dir fs.FS) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, name)
		sum := sha256.Sum256(text)
		sums[name] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}
