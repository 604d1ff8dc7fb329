package memdir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

// BenchmarkScan looks at 10,000 files in 100 folders. With every fingerprint known, none
// is read; docs/benchmarks.md holds it against git status.
func BenchmarkScan(b *testing.B) {
	root := b.TempDir()
	content := make([]byte, 1700)
	for i := range content {
		content[i] = byte('a' + i%26)
	}
	for i := range 10_000 {
		folder := filepath.Join(root, fmt.Sprintf("folder-%02d", i%100))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("topic-%04d.md", i)), content, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	dir, err := memdir.Open(root)
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	// Later than all the files by more than the grain of a clock.
	now := time.Now().Add(time.Minute)
	list, err := dir.Scan(b.Context(), now, 250_000, nothing)
	if err != nil || len(list.Files) != 10_000 {
		b.Fatal(len(list.Files), err)
	}
	files := map[api.Key]memdir.File{}
	for _, f := range list.Files {
		files[f.Key] = f
	}
	all := func(key api.Key) (memdir.File, bool) { f, ok := files[key]; return f, ok }
	for name, known := range map[string]memdir.Known{"known": all, "hashed": nothing} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := dir.Scan(b.Context(), now, 250_000, known); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func nothing(api.Key) (memdir.File, bool) { return memdir.File{}, false }
