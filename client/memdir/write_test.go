package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// box is a memory directory with the two ways of placing a file: with an exchange, and
// with plain links and renames for file systems that have no exchange.
type box struct {
	*testing.T
	*Dir
	root string
	now  time.Time
}

func eachWay(t *testing.T, do func(b *box)) { eachWayOn(t, (*testing.T).TempDir, do) }

func eachWayOn(t *testing.T, disk func(*testing.T) string, do func(b *box)) {
	for name, plain := range map[string]bool{"exchange": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			d, err := Open(disk(t))
			if err != nil {
				t.Fatal(err)
			}
			d.plain = plain
			t.Cleanup(func() { _ = d.Close() })
			do(&box{T: t, Dir: d, root: d.Path(), now: time.Now()})
		})
	}
}

// passes reports whether this way of placing comes by a point of a write.
func (b *box) passes(point string) bool {
	switch point {
	case "exchanged", "putting back":
		return !b.plain && !onWindows
	case "held":
		return b.plain || onWindows
	}
	return true
}

func (b *box) path(name string) string { return filepath.Join(b.root, filepath.FromSlash(name)) }

// put saves a file as most editors do, by a new file and a rename.
func (b *box) put(name, content string) {
	b.Helper()
	err := os.MkdirAll(filepath.Dir(b.path(name)), 0o777)
	if err == nil {
		err = os.WriteFile(b.path(name)+".tmp", []byte(content), 0o666)
	}
	if err == nil {
		err = os.Rename(b.path(name)+".tmp", b.path(name))
	}
	if err != nil {
		b.Fatal(err)
	}
}

// overwrite saves a file in place.
func (b *box) overwrite(name, content string) {
	b.Helper()
	if err := os.WriteFile(b.path(name), []byte(content), 0o666); err != nil {
		b.Fatal(err)
	}
}

func (b *box) write(key api.Key, content string, expect *File) File {
	b.Helper()
	f, err := b.Write(b.now, key, []byte(content), time.Time{}, expect)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// stands is what stands at the name, "" for nothing.
func (b *box) stands(name string) string {
	b.Helper()
	content, err := os.ReadFile(b.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
	return string(content)
}

// reaped is what Reap gives to be saved, as "key=content", one after the other.
func (b *box) reaped() string {
	b.Helper()
	var all []string
	err := b.Reap(time.Now().Add(time.Hour), func(key api.Key, content []byte) error {
		all = append(all, fmt.Sprintf("%s=%s", key, content))
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.clear("old")
	return strings.Join(all, " ")
}

// clear reports whether nothing is left in a folder of ours.
func (b *box) clear(name string) {
	b.Helper()
	entries, err := os.ReadDir(b.path(".teammem/" + name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) != 0 {
		b.Errorf("left in %s: %v, %v", name, entries, err)
	}
}

func (b *box) changed(err error, detail string) {
	b.Helper()
	var changed *ChangedError
	if !errors.As(err, &changed) || !strings.Contains(changed.Detail, detail) {
		b.Errorf("want a ChangedError: %q, got %v", detail, err)
	}
}

func TestWrite(t *testing.T) {
	eachWay(t, func(b *box) {
		modified := time.Date(2026, 3, 4, 5, 6, 7, 8_000_000, time.UTC)
		first, err := b.Write(b.now, "a/b/c.md", []byte("one"), modified, nil)
		if err != nil {
			b.Fatal(err)
		}
		if !first.Modified().Equal(modified) || first.Checksum != api.ChecksumOf([]byte("one")) {
			b.Errorf("%+v", first)
		}
		second := b.write("a/b/c.md", "two\r\n\ufeff", &first)
		if got := b.stands("a/b/c.md"); got != "two\r\n\ufeff" {
			b.Errorf("stands %q", got)
		}
		looked, _, err := b.Look(b.now, "a/b/c.md", 100)
		if err != nil || looked != second {
			b.Errorf("Write gave %+v, Look %+v, %v", second, looked, err)
		}
		if got := b.reaped(); got != "" {
			b.Errorf("nobody edited, but reaped %q", got)
		}
		b.clear("tmp")
	})
}

func TestWriteKeepsPermissions(t *testing.T) {
	if onWindows {
		t.Skip("Windows has no permission bits")
	}
	eachWay(t, func(b *box) {
		for _, mode := range []fs.FileMode{0o600, 0o664, 0o444, 0o755} {
			name := fmt.Sprintf("%o.md", mode)
			b.put(name, "old")
			if err := os.Chmod(b.path(name), mode); err != nil {
				b.Fatal(err)
			}
			old, _, err := b.Look(b.now, api.Key(name), 100)
			if err != nil {
				b.Fatal(err)
			}
			b.write(api.Key(name), "new", &old)
			if info, err := os.Stat(b.path(name)); err != nil || info.Mode() != mode {
				b.Errorf("%s became %v, %v", name, info.Mode(), err)
			}
		}
	})
}

// TestWriteRefusesWhatChanged: one row a way in which the place is not as expected, before
// anything is done.
func TestWriteRefusesWhatChanged(t *testing.T) {
	eachWay(t, func(b *box) {
		old := b.write("a.md", "old", nil)
		again := func() { b.put("a.md", "old") }
		cases := map[string]struct {
			change func()
			expect *File
			detail string
			stands string
		}{
			"something came":       {again, nil, "is there", "old"},
			"it went":              {func() { _ = os.Remove(b.path("a.md")) }, &old, "is gone", ""},
			"its folder went":      {func() { _ = os.Remove(b.path("a.md")) }, &File{Checksum: old.Checksum}, "is gone", ""},
			"edited":               {func() { b.put("a.md", "edited") }, &old, "was edited", "edited"},
			"edited in place":      {func() { b.overwrite("a.md", "ed.") }, &old, "was edited", "ed."},
			"a directory":          {func() { _ = os.Remove(b.path("a.md")); _ = os.Mkdir(b.path("a.md"), 0o777) }, &old, "is a directory", "-"},
			"a directory, not one": {func() { _ = os.Remove(b.path("a.md")); _ = os.Mkdir(b.path("a.md"), 0o777) }, nil, "is there", "-"},
		}
		for name, c := range cases {
			c.change()
			_, err := b.Write(b.now, "a.md", []byte("new"), time.Time{}, c.expect)
			b.changed(err, c.detail)
			if c.stands != "-" {
				if got := b.stands("a.md"); got != c.stands {
					b.Errorf("%s: stands %q", name, got)
				}
			}
			_ = os.RemoveAll(b.path("a.md"))
		}
		_, err := b.Write(b.now, "no/such/folder.md", []byte("new"), time.Time{}, &old)
		b.changed(err, "is gone")
		if got := b.reaped(); got != "" {
			b.Errorf("reaped %q", got)
		}
	})
}

// TestEqualBytesAreNoChange: a save that changes nothing but the time is none.
func TestEqualBytesAreNoChange(t *testing.T) {
	eachWay(t, func(b *box) {
		old := b.write("a.md", "old", nil)
		b.put("a.md", "old")
		b.write("a.md", "new", &old)
		if got := b.stands("a.md"); got != "new" {
			b.Errorf("stands %q", got)
		}
	})
}

// TestWriteAgainstAnEditor lets an editor save at each point of a write. Whatever it does,
// its text stands at the key or is given to Reap.
func TestWriteAgainstAnEditor(t *testing.T) {
	saves := map[string]func(b *box){
		"replace":  func(b *box) { b.put("a.md", "edit") },
		"in place": func(b *box) { b.overwrite("a.md", "edit") },
	}
	for _, point := range []string{"staged", "exchanged", "held"} {
		for how, save := range saves {
			t.Run(point+", "+how, func(t *testing.T) {
				eachWay(t, func(b *box) {
					if !b.passes(point) {
						return
					}
					old := b.write("a.md", "old", nil)
					saved := false
					b.hook = func(at string) {
						if at == point {
							saved = true
							save(b)
						}
					}
					_, err := b.Write(b.now, "a.md", []byte("new"), time.Time{}, &old)
					b.hook = nil
					if !saved {
						b.Fatal("the write never came by that point")
					}
					stands, kept := b.stands("a.md"), b.reaped()
					if stands != "edit" && kept != "a.md=edit" {
						b.Errorf("the edit is lost: stands %q, kept %q, %v", stands, kept, err)
					}
					if changed := (*ChangedError)(nil); errors.As(err, &changed) && stands != "edit" {
						b.Errorf("said to be unchanged, but stands %q", stands)
					}
				})
			})
		}
	}
}

// TestWriteIntoAnOpenFile: an editor that opened the file before and writes after.
func TestWriteIntoAnOpenFile(t *testing.T) {
	if onWindows {
		t.Skip("a file that is open is not replaced there")
	}
	eachWay(t, func(b *box) {
		old := b.write("a.md", "old", nil)
		editor, err := os.OpenFile(b.path("a.md"), os.O_WRONLY|os.O_TRUNC, 0)
		if err == nil {
			_, err = editor.WriteString("old")
		}
		if err != nil {
			b.Fatal(err)
		}
		b.write("a.md", "new", &old)
		if _, err := editor.WriteString(" and late words"); err != nil {
			b.Fatal(err)
		}
		if err := editor.Close(); err != nil {
			b.Fatal(err)
		}
		if got := b.stands("a.md"); got != "new" {
			b.Errorf("stands %q", got)
		}
		if got := b.reaped(); got != "a.md=old and late words" {
			b.Errorf("kept %q", got)
		}
	})
}

// TestPutBackAgainstAnEditor: a second edit comes while the first is put back. Both must
// be somewhere, and the later one at the key.
func TestPutBackAgainstAnEditor(t *testing.T) {
	cases := map[string]struct {
		second func(b *box)
		stands string
		kept   string
	}{
		"replaced": {func(b *box) { b.put("a.md", "second") }, "second", "a.md=first"},
		"in place": {func(b *box) { b.overwrite("a.md", "second") }, "second", "a.md=first"},
		"removed":  {func(b *box) { _ = os.Remove(b.path("a.md")) }, "first", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(b *box) {
				if !b.passes("putting back") {
					return
				}
				old := b.write("a.md", "old", nil)
				came := false
				b.hook = func(at string) {
					switch at {
					case "staged":
						b.put("a.md", "first")
					case "putting back":
						came = true
						c.second(b)
					}
				}
				_, err := b.Write(b.now, "a.md", []byte("new"), time.Time{}, &old)
				b.hook = nil
				if !came {
					b.Fatal("nothing was put back")
				}
				b.changed(err, "was edited")
				if stands, kept := b.stands("a.md"), b.reaped(); stands != c.stands || kept != c.kept {
					b.Errorf("stands %q, kept %q; want %q and %q", stands, kept, c.stands, c.kept)
				}
			})
		})
	}
}

// TestWriteWhereSomethingComes: nothing stood there, and something comes before the file
// is placed.
func TestWriteWhereSomethingComes(t *testing.T) {
	eachWay(t, func(b *box) {
		b.hook = func(at string) {
			if at == "staged" {
				b.put("a.md", "edit")
			}
		}
		_, err := b.Write(b.now, "a.md", []byte("new"), time.Time{}, nil)
		b.changed(err, "is there")
		if got := b.stands("a.md"); got != "edit" {
			b.Errorf("stands %q", got)
		}
		b.clear("old")
		b.clear("tmp")
	})
}

// killed is what a hook panics with where a test has the process die.
type killed struct{}

// TestKilledWhileWriting dies at each point and starts anew: the old file or the new one
// stands, whole, and no edit is missing.
func TestKilledWhileWriting(t *testing.T) {
	for _, edited := range []bool{false, true} {
		for _, point := range []string{"staged", "exchanged", "putting back", "held"} {
			if comes := edited || point != "putting back"; !comes {
				continue
			}
			if comes := !edited || point != "held"; !comes {
				continue // What is edited before it is held is refused there.
			}
			t.Run(fmt.Sprintf("%s, edited %v", point, edited), func(t *testing.T) {
				eachWay(t, func(b *box) {
					if !b.passes(point) {
						return
					}
					old := b.write("a.md", "old", nil)
					b.hook = func(at string) {
						if edited && at == "staged" {
							b.put("a.md", "edit")
						}
						if at == point {
							panic(killed{})
						}
					}
					died := b.dies(func() { _, _ = b.Write(b.now, "a.md", []byte("new"), time.Time{}, &old) })
					b.hook = nil
					if !died {
						b.Fatal("the write never came by that point")
					}
					unlock, err := b.Lock("the next run")
					if err != nil {
						b.Fatal(err)
					}
					defer unlock()
					stands, kept := b.stands("a.md"), b.reaped()
					if stands != "old" && stands != "new" && stands != "edit" {
						b.Errorf("stands %q", stands)
					}
					if edited != (stands == "edit" || kept == "a.md=edit") {
						b.Errorf("stands %q, kept %q", stands, kept)
					}
					b.clear("tmp")
				})
			})
		}
	}
}

func (b *box) dies(do func()) (died bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, died = r.(killed); !died {
				panic(r)
			}
		}
	}()
	do()
	return false
}
