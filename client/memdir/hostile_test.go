package memdir_test

import (
	"bufio"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

// corpus is where real and hostile input lies.
func corpus(t *testing.T, name string) string {
	t.Helper()
	at := os.Getenv("TEAMMEM_CORPUS")
	if at == "" {
		at = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	at = filepath.Join(at, name)
	if _, err := os.Stat(at); err != nil {
		t.Skip("the corpus is not here; TEAMMEM_CORPUS may name its place:", err)
	}
	return at
}

// TestTraversalLines takes every public path-traversal string as a key. What the key rules
// let pass is written below the root, under exactly that name, and read back.
func TestTraversalLines(t *testing.T) {
	file, err := os.Open(corpus(t, "hostile/traversal.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	outer := memdir.QuickDisk(t)
	root := filepath.Join(outer, "a", "b", "root")
	if err := os.MkdirAll(root, 0o777); err != nil {
		t.Fatal(err)
	}
	dir := open(t, root)
	written, refused := map[string]bool{}, 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		_, err := dir.Write(time.Now(), api.Key(line), []byte(line), time.Time{}, nil)
		if err != nil {
			if key, keyErr := api.ParseKey(line); keyErr == nil && !key.HasDotSegment() && !blocked(written, line) {
				t.Errorf("%q is a key and was not written: %v", line, err)
			}
			refused++
			continue
		}
		written[line] = true
		if b, err := dir.Read(api.Key(line), limit); string(b) != line {
			t.Errorf("%q came back as %q, %v", line, b, err)
		}
	}
	t.Logf("%d written, %d refused", len(written), refused)
	if len(written) == 0 || refused == 0 {
		t.Error("the list holds neither kind")
	}
	for _, name := range treeOf(t, outer) {
		name, inside := strings.CutPrefix(name, "a/b/root/")
		if !inside || !written[name] && !strings.HasPrefix(name, ".teammem/") {
			t.Errorf("odd name %q", name)
		}
	}
}

// generatedKeys and the list of the corpus are 30,000 together.
const generatedKeys = 4_000

// pieces are what keys that mean to escape are made of: dots, slashes, backslashes and
// colons in every form that NFKC turns into one, escapes up to three deep, and names
// that some system takes for something else.
var pieces = []string{
	"..", ".", "/", "//", "\\", ":", "\u2024\u2024", "\u2025", "\u2026", "\uff0e\uff0e", "\uff0f", "\u2100", "\u2101", "\u2105", "\u2106",
	"\ufe68", "\uff3c", "%2e%2e", "%2f", "%5c", "%252e%252e", "%252f", "%25252e", "%25252f", "C:", "\\\\host\\share", "con", "NUL.md", "aux.",
	"a ", "\x00", "\n", "~", ".git", ".GIT", ".claude", ".teammem", ".teammem/old", "ı", "ſ", "K", "é", "e\u0301", "etc", "passwd", "n.md", "x",
}

// TestGeneratedKeys puts such pieces together at random. Nothing outside the root is
// made, and what is made inside is what the rules let pass.
func TestGeneratedKeys(t *testing.T) {
	outer := memdir.QuickDisk(t)
	root := filepath.Join(outer, "a", "b", "root")
	if err := os.MkdirAll(root, 0o777); err != nil {
		t.Fatal(err)
	}
	dir, seed := open(t, root), rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	written := map[string]bool{}
	for range generatedKeys {
		var key strings.Builder
		for range 1 + r.IntN(6) {
			key.WriteString(pieces[r.IntN(len(pieces))])
			if r.IntN(2) == 0 {
				key.WriteString("/")
			}
		}
		if _, err := dir.Write(time.Now(), api.Key(key.String()), []byte("x"), time.Time{}, nil); err == nil {
			written[key.String()] = true
		}
	}
	for _, name := range treeOf(t, outer) {
		name, inside := strings.CutPrefix(name, "a/b/root/")
		if _, err := api.ParseKey(name); (!inside || !written[name] || err != nil) && !strings.HasPrefix(name, ".teammem/") {
			t.Errorf("seed %d: odd name %q", seed, name)
		}
	}
	t.Logf("%d of %d written", len(written), generatedKeys)
	if len(written) == 0 {
		t.Error("no key was let pass, so little is shown")
	}
}

// blocked reports whether a file already written stands where the key needs a directory,
// or the other way round, or is the very same.
func blocked(written map[string]bool, key string) bool {
	if written[key] {
		return true
	}
	for other := range written {
		if strings.HasPrefix(key, other+"/") || strings.HasPrefix(other, key+"/") {
			return true
		}
	}
	return false
}

// treeOf lists the files below a directory, with slashes.
func treeOf(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		all = append(all, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// TestWriteRefusesKeys: what the rules of keys refuse never reaches the disk, whoever asks.
func TestWriteRefusesKeys(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	if err := os.Mkdir(root, 0o777); err != nil {
		t.Fatal(err)
	}
	dir := open(t, root)
	for _, key := range []api.Key{
		"", ".", "..", "../x.md", "/x.md", "a/../../x.md", `..\x.md`, "C:x.md", "a\x00b.md", "a//b.md", "a/./b.md",
		".teammem/old/x", ".TEAMMEM/x", ".git/config", "a/.git/hooks/x", ".claude/settings.json", ".hidden.md", "a/.b/c.md",
		"con", "nul.md", "a./b.md", "a /b.md", "\u2025/x.md", "\uff0e\uff0e/x.md", "..%2fx.md", "%252e%252e%252fx.md",
	} {
		if _, err := dir.Write(time.Now(), key, []byte("x"), time.Time{}, nil); err == nil {
			t.Errorf("%q was written", key)
		}
		if memdir.Refuses(key) == nil {
			t.Errorf("%q is not refused", key)
		}
	}
	if got := treeOf(t, outer); len(got) != 0 {
		t.Errorf("something was made: %q", got)
	}
}

// TestCorpus takes every real directory through Write and back: bytes and times are kept.
func TestCorpus(t *testing.T) {
	source := corpus(t, "open")
	entries, err := os.ReadDir(source)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		from, to := open(t, filepath.Join(source, entry.Name())), open(t, memdir.QuickDisk(t))
		list := scan(t, from, time.Now(), nothing)
		for i, f := range list.Files {
			content, err := from.Read(f.Key, limit)
			if err != nil {
				t.Fatal(err)
			}
			modified := time.UnixMilli(1_700_000_000_000 + int64(i)*1001)
			if _, err := to.Write(time.Now(), f.Key, content, modified, nil); err != nil {
				t.Fatal(err)
			}
			list.Files[i].Fingerprint.MTime = modified.UnixNano()
		}
		back := scan(t, to, time.Now(), nothing)
		same := slices.EqualFunc(list.Files, back.Files, func(a, b memdir.File) bool {
			return a.Key == b.Key && a.Checksum == b.Checksum && a.Modified().Equal(b.Modified())
		})
		if !same || len(list.Left) != 0 {
			t.Errorf("%s: %v became %v; left out %v", entry.Name(), keys(list), keys(back), list.Left)
		}
		files += len(list.Files)
	}
	if files < 260 {
		t.Errorf("%d files in the corpus, want 260", files)
	}
}
