package claudemd

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what was found into the archives")

// scenario is an archive: its files are the machine's, but for "links" (path ->
// target), "nodes" (pipe, device or big, and a path) and each "want …", which names
// where the agent stands and what else differs, and lists what it gets.
type scenario struct {
	archive *txtar.Archive
	fsys    fstest.MapFS
}

func readScenario(t *testing.T, file string) scenario {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := scenario{archive, fstest.MapFS{}}
	for _, f := range archive.Files {
		switch {
		case f.Name == "links":
			for line := range strings.Lines(string(f.Data)) {
				name, target, _ := strings.Cut(strings.TrimSpace(line), " -> ")
				s.fsys[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			}
		case f.Name == "nodes":
			for line := range strings.Lines(string(f.Data)) {
				kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
				s.fsys[name] = node(t, kind)
			}
		case !strings.HasPrefix(f.Name, "want "):
			s.fsys[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
		}
	}
	return s
}

func node(t *testing.T, kind string) *fstest.MapFile {
	switch kind {
	case "pipe":
		return &fstest.MapFile{Data: []byte("a pipe was opened"), Mode: fs.ModeNamedPipe | 0o644}
	case "device":
		return &fstest.MapFile{Data: []byte("a device was opened"), Mode: fs.ModeDevice | 0o644}
	case "long":
		return &fstest.MapFile{Data: []byte(strings.Repeat("eleven text", 4_000)), Mode: 0o644}
	case "huge":
		return &fstest.MapFile{Data: make([]byte, 5<<20), Mode: 0o644}
	case "binary":
		return &fstest.MapFile{Data: []byte("text\x00and no text"), Mode: 0o644}
	}
	t.Fatalf("no kind of node: %s", kind)
	return nil
}

// options reads "want dir=/r read=/r/a.go approve=/x without=user exclude=**/x.md".
func (s scenario) options(t *testing.T, name string) Options {
	o := Options{FS: noSpecial{s.fsys, t}, Dir: "/r", Root: "/r", ManagedDir: "/etc/claude-code", UserDir: "/home/dana/.claude", Home: "/home/dana"}
	for pair := range strings.FieldsSeq(strings.TrimPrefix(name, "want ")) {
		key, value, _ := strings.Cut(pair, "=")
		switch key {
		case "dir":
			o.Dir = value
		case "root":
			o.Root = value
		case "main":
			o.Main = value
		case "read":
			o.Read = value
		case "add":
			o.Added = append(o.Added, value)
		case "approve":
			o.Approved = append(o.Approved, value)
		case "without":
			o.Without = append(o.Without, Layer(value))
		case "exclude":
			o.Excludes = append(o.Excludes, Exclude{Pattern: value})
		case "committed":
			o.Excludes = append(o.Excludes, Exclude{Pattern: value, Committed: true})
		default:
			t.Fatalf("%s is no option", pair)
		}
	}
	return o
}

// noSpecial fails the test when something is opened that is no file or folder.
type noSpecial struct {
	fstest.MapFS
	t *testing.T
}

func (n noSpecial) Open(name string) (fs.File, error) {
	if info, err := n.Lstat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		n.t.Errorf("%s was opened: %v", name, info.Mode())
	}
	return n.MapFS.Open(name)
}

// show lists files and warnings as the archives hold them.
func show(r Result) string {
	var b strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s%s %s [%s]", strings.Repeat("  ", f.Depth), f.State, f.Path, f.Layer)
		if f.Real != "" {
			fmt.Fprintf(&b, " = %s", f.Real)
		}
		if f.Line > 0 {
			fmt.Fprintf(&b, " by line %d", f.Line)
		}
		fmt.Fprintf(&b, ": %s; %d bytes, %d tokens\n", f.Why, f.Bytes, f.Tokens)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "! %s:%d %s\n", w.Path, w.Line, w.Text)
	}
	return b.String()
}

// TestTrees: from each place of each tree the agent gets what the archive says, and
// the same each time.
func TestTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/trees/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d trees, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".txtar"), func(t *testing.T) {
			s := readScenario(t, file)
			for i, f := range s.archive.Files {
				if !strings.HasPrefix(f.Name, "want ") {
					continue
				}
				o := s.options(t, f.Name)
				got := show(Load(o))
				if again := show(Load(o)); again != got {
					t.Errorf("%s: the second time it is\n%s", f.Name, again)
				}
				if *update {
					s.archive.Files[i].Data = []byte(got)
				} else if got != string(f.Data) {
					t.Errorf("%s\ngot\n%s\nwant\n%s", f.Name, got, f.Data)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(s.archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestSameContentFromEveryStart holds the tree of case BR-52 against itself: what is
// loaded does not depend on how deep one stands.
func TestSameContentFromEveryStart(t *testing.T) {
	s := readScenario(t, "testdata/trees/starts.txtar")
	texts := func(name string) []string {
		var all []string
		for _, f := range Load(s.options(t, name)).Files {
			if f.State == Loaded && strings.HasPrefix(f.Path, "/r/") && path.Dir(f.Path) == "/r" {
				all = append(all, f.Path+" "+f.Text)
			}
		}
		return all
	}
	want := texts("dir=/r")
	if len(want) != 3 {
		t.Fatalf("from the root: %q", want)
	}
	for _, start := range []string{"dir=/r/sub", "dir=/r/sub/deep", "dir=/r/nested root=/r/nested", "dir=/r/nested/x root=/r/nested"} {
		if got := texts(start); !slices.Equal(got, want) {
			t.Errorf("from %s: %q, want %q", start, got, want)
		}
	}
}
