package watch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// real is a watcher over real files.
type real struct {
	*testing.T
	root    string
	watcher *Watcher
	batches chan Batch
}

// onDisk runs a watcher over an empty directory, and makes sure that it leaves no goroutine.
func onDisk(t *testing.T, do func(r *real)) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &real{T: t, root: filepath.Join(root, "memory"), batches: make(chan Batch)}
	r.mkdir("")
	opts := Options{Quiet: 20 * time.Millisecond, Rescan: time.Hour, Ignore: scratch}
	r.watcher = New(slog.New(slog.DiscardHandler), r.root, opts)
	r.watcher.poll = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.watcher.Run(ctx, r.batches) }()
	func() {
		defer cancel()
		if b := r.next("the start"); b.Why != "start" {
			t.Errorf("the first batch is %+v", b)
		}
		do(r)
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}

func (r *real) next(after string) Batch {
	r.Helper()
	select {
	case b := <-r.batches:
		return b
	case <-time.After(10 * time.Second):
		r.Fatalf("no batch after %s", after)
		return Batch{}
	}
}

// calm takes all batches until none comes for several quiet delays.
func (r *real) calm() {
	for {
		select {
		case <-r.batches:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

func (r *real) path(name string) string { return filepath.Join(r.root, filepath.FromSlash(name)) }

func (r *real) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *real) mkdir(name string) { r.Helper(); r.must(os.MkdirAll(r.path(name), 0o777)) }

func (r *real) put(name, content string) {
	r.Helper()
	r.must(os.WriteFile(r.path(name), []byte(content), 0o666))
}

func (r *real) move(from, to string) { r.Helper(); r.must(os.Rename(r.path(from), r.path(to))) }

// TestRealSaves: each editor's way of saving is noticed, the third time as the first.
func TestRealSaves(t *testing.T) {
	saves := map[string]func(r *real, content string){
		"in place": func(r *real, content string) { r.put("topic.md", content) },
		"backup, then a new file": func(r *real, content string) {
			r.put(".topic.md.swp", "swap")
			r.move("topic.md", "topic.md~")
			r.put("topic.md", content)
			r.must(os.Remove(r.path("topic.md~")))
		},
		"a new file, renamed over": func(r *real, content string) {
			r.put("topic.md.tmp", content)
			r.move("topic.md.tmp", "topic.md")
		},
		"unlink and create": func(r *real, content string) {
			r.must(os.Remove(r.path("topic.md")))
			r.put("topic.md", content)
		},
	}
	for name, save := range saves {
		t.Run(name, func(t *testing.T) {
			onDisk(t, func(r *real) {
				r.put("topic.md", "first")
				r.calm()
				for i := range 3 {
					save(r, fmt.Sprint("save ", i))
					r.next(fmt.Sprint("save ", i))
					r.calm()
				}
			})
		})
	}
}

// TestRealDirectories: what lies in a new directory is looked at, and what is written
// there later is noticed, also after the directory has moved.
func TestRealDirectories(t *testing.T) {
	onDisk(t, func(r *real) {
		steps := []struct {
			name string
			do   func()
		}{
			{"a deep new directory", func() { r.mkdir("a/b/c"); r.put("a/b/c/x.md", "1") }},
			{"a write in it", func() { r.put("a/b/c/x.md", "2") }},
			{"a move of its parent", func() { r.move("a", "z") }},
			{"a write in the moved one", func() { r.put("z/b/c/x.md", "3") }},
			{"its removal", func() { r.must(os.RemoveAll(r.path("z"))) }},
			{"the same name again", func() { r.mkdir("a/b/c") }},
			{"a write in that", func() { r.put("a/b/c/x.md", "4") }},
		}
		for _, step := range steps {
			step.do()
			r.next(step.name)
			r.calm()
		}
		if h := r.watcher.Health(); h.Dirs != 4 || h.Mode != Inotify {
			r.Errorf("health %+v", h)
		}
	})
}

// TestRealHidden: our own folder and other hidden ones are not watched.
func TestRealHidden(t *testing.T) {
	onDisk(t, func(r *real) {
		r.mkdir(".teammem/old")
		r.mkdir(".git/refs")
		r.put(".teammem/old/X", "")
		r.put(".git/refs/HEAD", "")
		select {
		case b := <-r.batches:
			r.Errorf("%+v", b)
		case <-time.After(300 * time.Millisecond):
		}
		if h := r.watcher.Health(); h.Dirs != 1 {
			r.Errorf("health %+v", h)
		}
	})
}

// TestRealLinks: a link to a directory outside is not watched.
func TestRealLinks(t *testing.T) {
	outside := t.TempDir()
	onDisk(t, func(r *real) {
		if err := os.Symlink(outside, r.path("link")); err != nil {
			r.Skip("no links here:", err)
		}
		r.next("the link")
		r.calm()
		r.must(os.WriteFile(filepath.Join(outside, "x.md"), nil, 0o666))
		select {
		case b := <-r.batches:
			r.Errorf("an event outside gave %+v", b)
		case <-time.After(300 * time.Millisecond):
		}
	})
}

func TestRealRootGoesAndComes(t *testing.T) {
	onDisk(t, func(r *real) {
		r.must(os.Rename(r.root, r.root+".bak"))
		if b := r.next("its going"); !b.Rescan || r.watcher.Health().Mode != Polling {
			r.Errorf("%+v, %+v", b, r.watcher.Health())
		}
		r.must(os.Rename(r.root+".bak", r.root))
		for end := time.Now().Add(10 * time.Second); r.watcher.Health().Mode != Inotify; {
			if time.Now().After(end) {
				r.Fatalf("it is back, and not watched: %+v", r.watcher.Health())
			}
			r.next("its return")
		}
		r.calm()
		r.put("topic.md", "x")
		r.next("a write in it")
	})
}
