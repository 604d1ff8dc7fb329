package scan

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// corpus reads real memory directories, or skips the test where they are absent.
func corpus(t testing.TB) map[string]string {
	t.Helper()
	root := os.Getenv("TEAMMEM_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	root = filepath.Join(root, "open")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no corpus of real memories: %v", err)
	}
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key, err := filepath.Rel(root, path)
		files[filepath.ToSlash(key)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCorpus scans what people and agents really keep. No secret is among it, and
// nothing hidden: whatever a rule says otherwise is a false alarm, and the table is
// the count of what it says.
func TestCorpus(t *testing.T) {
	files := corpus(t)
	s := newScanner(t)
	want := map[Class]int{Instruction: 4, Personal: 2}
	got := map[Class]int{}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		for _, f := range mustScan(t, s, key, files[key]) {
			got[f.Class]++
			t.Logf("%s:%d %s %s", key, f.Line, f.Class, f.Rule)
			if v := DefaultVerdict(f.Class); v == Refuse || v == Hold {
				t.Errorf("%s:%d: %s would %s it", key, f.Line, f.Rule, v)
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("findings by class: %v, want %v", got, want)
	}
	if len(files) < 260 {
		t.Errorf("read %d files, want at least 260", len(files))
	}
}

// TestFindsWhatGitleaksFinds holds the findings against the library's own engine on
// the same text: on every line where it sees a secret of a vendor, so do we.
func TestFindsWhatGitleaksFinds(t *testing.T) {
	ref, s := reference(t), newScanner(t)
	texts := markdown(t, 32<<10)
	for _, sample := range samples(t) {
		rng := seeded("around " + sample.rule)
		texts = append(texts, prose(rng, 12)+"\n\n"+sample.text+"\n\n"+prose(rng, 12)+"\n")
	}
	seen := 0
	for _, text := range texts {
		lines := map[int]bool{}
		for _, f := range mustScan(t, s, "notes.md", text) {
			for line := f.Line; line <= f.EndLine; line++ {
				lines[line] = true
			}
		}
		for _, f := range ref.DetectString(text) {
			if f.RuleID == "generic-api-key" {
				continue // ours leaves out digests and identifiers
			}
			seen++
			if !lines[f.StartLine+1] && !lines[f.EndLine+1] {
				t.Errorf("%s in line %d is not found", f.RuleID, f.StartLine+1)
			}
		}
	}
	if seen < len(ref.Config.Rules)*3/4 {
		t.Errorf("gitleaks found %d, too few to mean anything", seen)
	}
}
