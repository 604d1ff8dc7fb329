package memdir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/teammem/teammem/api"
)

// TestFullDisk: old bytes stay, nothing is left half written, and the error names the file
// and the cause.
func TestFullDisk(t *testing.T) {
	for _, options := range []string{"size=256k", "nr_inodes=10"} {
		t.Run(options, func(t *testing.T) {
			root := fullDisk(t, options)
			d, err := Open(root)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			old, err := d.Write(time.Now(), "a.md", []byte("old bytes"), time.Time{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			fillUp(t, root)
			content := bytes.Repeat([]byte("new "), 50_000)
			for _, expect := range []*File{&old, nil} {
				key := api.Key("a.md")
				if expect == nil {
					key = "folder/b.md"
				}
				_, err = d.Write(time.Now(), key, content, time.Time{}, expect)
				if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), string(key)) {
					t.Errorf("write %s: %v", key, err)
				}
			}
			if got, err := os.ReadFile(filepath.Join(root, "a.md")); string(got) != "old bytes" {
				t.Errorf("the old bytes are gone: %q, %v", got, err)
			}
			if rest, err := os.ReadDir(filepath.Join(root, ".teammem/tmp")); len(rest) != 0 {
				t.Errorf("left behind: %v, %v", rest, err)
			}
		})
	}
}

func fillUp(t *testing.T, root string) {
	t.Helper()
	for i := range 1000 {
		err := os.WriteFile(filepath.Join(root, fmt.Sprintf("filler-%d", i)), make([]byte, 64<<10), 0o600)
		if errors.Is(err, unix.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the disk never filled up")
}

// TestReadOnly: the same on a directory that cannot be written.
func TestReadOnly(t *testing.T) {
	root := fullDisk(t, "size=1m")
	d, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	old, err := d.Write(time.Now(), "a.md", []byte("old bytes"), time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip("tmpfs cannot be made read-only here:", err)
	}
	if _, err := d.Write(time.Now(), "a.md", []byte("new"), time.Time{}, &old); !errors.Is(err, unix.EROFS) {
		t.Error(err)
	}
	if err := d.Remove("a.md", old); !errors.Is(err, unix.EROFS) {
		t.Error(err)
	}
	if got, _ := d.Read("a.md", 100); string(got) != "old bytes" {
		t.Errorf("%q", got)
	}
	list, err := d.Scan(t.Context(), time.Now(), 100, func(api.Key) (File, bool) { return File{}, false })
	if err != nil || len(list.Files) != 1 {
		t.Error(list, err)
	}
}
