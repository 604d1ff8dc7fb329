//go:build unix

package claudemd

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// On a real disk, links are followed and a pipe does not make anybody wait.
func TestDisk(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, outside := filepath.Join(top, "p"), filepath.Join(top, "o")
	for path, text := range map[string]string{
		filepath.Join(project, "CLAUDE.md"): "@AGENTS.md @pipe.md @out.md @" + filepath.Join(outside, "x.md"),
		filepath.Join(project, "a", "x.md"): "x",
		filepath.Join(outside, "x.md"):      "outside",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"AGENTS.md": "a/../a/x.md", "out.md": filepath.Join(outside, "x.md")} {
		if err := os.Symlink(target, filepath.Join(project, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(project, "pipe.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	states := map[string]State{}
	for _, f := range Load(Options{FS: Disk(), Dir: Slash(project), Root: Slash(project)}).Files {
		states[filepath.Base(f.Path)] = f.State
	}
	for name, want := range map[string]State{"CLAUDE.md": Loaded, "AGENTS.md": Loaded, "pipe.md": Skipped, "out.md": Waiting, "x.md": Waiting} {
		if states[name] != want {
			t.Errorf("%s is %s, want %s", name, states[name], want)
		}
	}
	if _, err := Disk().Open(Slash(filepath.Join(project, "pipe.md"))[1:]); err != nil {
		t.Errorf("a pipe that came between is opened without waiting: %v", err)
	}
}

func TestApprovals(t *testing.T) {
	a := NewApprovals(filepath.Join(t.TempDir(), "state", "x.json"))
	for _, step := range []struct {
		remove bool
		paths  []string
		want   int
	}{{false, []string{"/b", "/a"}, 2}, {false, []string{"/a"}, 0}, {true, []string{"/c"}, 0}, {true, []string{"/b"}, 1}} {
		if got, err := a.Change("/r", step.remove, step.paths...); err != nil || got != step.want {
			t.Errorf("%+v: %d, %v", step, got, err)
		}
	}
	if got, err := a.List(); err != nil || len(got) != 1 || got[0] != "/a" {
		t.Errorf("%v, %v", got, err)
	}
}
