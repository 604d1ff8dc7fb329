package memdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// A withdrawn text leaves no trace in our own folder; what else was displaced stays
// for Reap.
func TestRedact(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	now := time.Now()
	long := api.Key("a/" + strings.Repeat("n", 200) + "/" + strings.Repeat("n", 200) + ".md")
	for _, key := range []api.Key{"a.md", "b.md", long} {
		file, err := d.Write(now, key, []byte("withdrawn "+string(key[0])), time.Time{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Remove(key, file); err != nil {
			t.Fatal(err)
		}
	}
	staged := filepath.Join(d.Path(), ownFolder, "tmp", "left")
	if err := os.WriteFile(staged, []byte("withdrawn b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Redact([]api.Checksum{api.ChecksumOfString("withdrawn a"), api.ChecksumOfString("nothing here has this")}); err != nil {
		t.Fatal(err)
	}
	// b.md was displaced, and so was the file with the long name, whose text is a.md's.
	left, err := os.ReadDir(filepath.Join(d.Path(), ownFolder, "old"))
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, entry := range left {
		text, err := os.ReadFile(filepath.Join(d.Path(), ownFolder, "old", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if string(text) == "withdrawn a" {
			t.Errorf("%s still holds what was withdrawn", entry.Name())
		}
		if string(text) == "withdrawn b" {
			texts++
		}
	}
	if texts != 1 {
		t.Errorf("%d other texts are left, want 1", texts)
	}
	if err := d.Redact([]api.Checksum{api.ChecksumOfString("withdrawn b")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(staged); !os.IsNotExist(err) {
		t.Errorf("what was staged is still there: %v", err)
	}
	err = d.Reap(now.Add(time.Hour), func(key api.Key, _ []byte) error {
		t.Errorf("Reap gives %s back", key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
