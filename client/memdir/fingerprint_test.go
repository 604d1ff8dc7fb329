package memdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// TestFingerprint: a known fingerprint is trusted only when a change after the hashing
// would have left a trace in it, on a file system with any grain up to two seconds.
func TestFingerprint(t *testing.T) {
	const s = int64(time.Second)
	hashed := Fingerprint{Size: 5, MTime: 50 * s, CTime: 60 * s, Inode: 7, At: 100 * s}
	with := func(change func(*Fingerprint)) Fingerprint {
		f := hashed
		change(&f)
		return f
	}
	cases := map[string]struct {
		then, now Fingerprint
		same      bool
	}{
		"nothing moved":                {hashed, hashed, true},
		"another size":                 {hashed, with(func(f *Fingerprint) { f.Size = 6 }), false},
		"another time":                 {hashed, with(func(f *Fingerprint) { f.MTime++ }), false},
		"the time was set back":        {hashed, with(func(f *Fingerprint) { f.CTime = 101 * s }), false},
		"replaced by one like it":      {hashed, with(func(f *Fingerprint) { f.Inode = 8 }), false},
		"hashed within the same grain": {with(func(f *Fingerprint) { f.At = 61 * s }), hashed, false},
		"hashed two seconds later":     {with(func(f *Fingerprint) { f.At = 62 * s }), hashed, true},
		"changed during the scan":      {with(func(f *Fingerprint) { f.At = 55 * s }), hashed, false},
		"never hashed at rest":         {with(func(f *Fingerprint) { f.At = 0 }), hashed, false},
		"a time in the future": {
			with(func(f *Fingerprint) { f.MTime = 900 * s }),
			with(func(f *Fingerprint) { f.MTime = 900 * s }), true,
		},
		"a future that the system wrote": {
			with(func(f *Fingerprint) { f.CTime = 900 * s }),
			with(func(f *Fingerprint) { f.CTime = 900 * s }), false,
		},
		"no ctime, old enough": {
			Fingerprint{Size: 5, MTime: 50 * s, At: 52 * s},
			Fingerprint{Size: 5, MTime: 50 * s},
			true,
		},
		"no ctime, too young": {
			Fingerprint{Size: 5, MTime: 51 * s, At: 52 * s},
			Fingerprint{Size: 5, MTime: 51 * s},
			false,
		},
	}
	for name, c := range cases {
		c.now.At = 0
		if got := c.then.same(c.now); got != c.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
}

// TestSameSizeSameTime edits a file without a trace in size and modification time, as an
// editor within one grain or a tool that sets times back does.
func TestSameSizeSameTime(t *testing.T) {
	onEveryDisk(t, func(t *testing.T, root string) {
		d, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		path := filepath.Join(root, "a.md")
		past := time.Now().Add(-time.Hour).Truncate(2 * time.Second)
		edit := func(content string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, past, past); err != nil {
				t.Fatal(err)
			}
		}
		edit("one 1")
		first, _, err := d.Look(time.Now(), "a.md", 100)
		if err != nil {
			t.Fatal(err)
		}
		known := func(api.Key) (File, bool) { return first, true }
		for _, content := range []string{"two 2", "thr 3", "fou 4"} {
			edit(content)
			list, err := d.Scan(t.Context(), time.Now(), 100, known)
			if err != nil || len(list.Files) != 1 {
				t.Fatal(list, err)
			}
			got := list.Files[0]
			if got.Checksum != api.ChecksumOf([]byte(content)) {
				t.Errorf("the edit to %q was not seen: %+v", content, got)
			}
			if got.Fingerprint.MTime != first.Fingerprint.MTime || got.Fingerprint.Size != first.Fingerprint.Size {
				t.Errorf("the test left a trace: %+v", got)
			}
			first = got
		}
	})
}
