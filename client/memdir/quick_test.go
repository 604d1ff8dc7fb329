package memdir

import (
	"os"
	"testing"
)

// QuickDisk is a directory in memory where there is one: these tests ask what is written,
// not whether it would outlive a power cut.
func QuickDisk(t *testing.T) string {
	t.Helper()
	at, err := os.MkdirTemp("/dev/shm", "teammem-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(at) })
	return at
}
