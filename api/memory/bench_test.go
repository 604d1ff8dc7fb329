package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammem/api/memory"
)

// A thousand memories of 2 KB, listed and their heads parsed, through a rooted
// file system.
func BenchmarkScan1000(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		text := fmt.Sprintf("---\nname: memory %d\ndescription: what is to be known of part %d\nmetadata: \n  type: project\n---\n%s", i, i, strings.Repeat("A line of what was found out.\n", 65))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("project_part_%d.md", i)), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	open, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer open.Close()
	b.ReportAllocs()
	for b.Loop() {
		list := memory.Scan(0, memory.Source{FS: open.FS(), Scope: memory.Team})
		if len(list.Memories) != 1000 || list.Memories[0].Type != memory.Project {
			b.Fatalf("%d memories", len(list.Memories))
		}
	}
}
