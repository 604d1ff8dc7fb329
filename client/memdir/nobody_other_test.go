//go:build unix && !linux

package memdir_test

import (
	"os"
	"testing"
)

// asNobody runs do where permissions bind.
func asNobody(t *testing.T, _ string, do func()) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("permissions do not bind root, and only Linux lets a thread stop being root")
	}
	do()
}
