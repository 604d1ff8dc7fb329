package memdir

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// Names reach the disk with the next flush, however many folders there are, and of
// whatever became of these meanwhile.
func TestFlushLate(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	put := func(key api.Key) File {
		t.Helper()
		file, err := d.Write(time.Now(), key, []byte(key), time.Time{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	put("at-once.md")
	if n := len(d.flushing.waiting); n != 0 {
		t.Fatalf("%d folders wait, though nobody asked for that", n)
	}
	if d.FlushLate(); !d.flushing.late {
		t.Skip("names need no flush on this system")
	}
	first := put("x/a.md")
	put("x/b.md")
	if n := len(d.flushing.waiting); n != 1 {
		t.Errorf("%d folders wait after two files in one", n)
	}
	if err := d.Remove("x/a.md", first); err != nil {
		t.Fatal(err)
	}
	if n := len(d.flushing.waiting); n != 2 { // .teammem/old took the file
		t.Errorf("%d folders wait after a removal", n)
	}
	for i := range 2 * mostWaiting {
		put(api.Key(fmt.Sprintf("y%d/a.md", i)))
		if n := len(d.flushing.waiting); n > mostWaiting {
			t.Fatalf("%d folders are held open", n)
		}
	}
	put("z/a.md")
	if err := os.RemoveAll(filepath.Join(d.Path(), "z")); err != nil {
		t.Fatal(err)
	}
	put("z/b.md") // in another folder of that name
	if err := d.Flush(); err != nil || len(d.flushing.waiting) != 0 {
		t.Errorf("%v, %d folders wait after a flush", err, len(d.flushing.waiting))
	}
}
