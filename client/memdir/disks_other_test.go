//go:build !linux

package memdir

import "testing"

// onEveryDisk runs a test on the file system there is.
func onEveryDisk(t *testing.T, do func(t *testing.T, root string)) { do(t, t.TempDir()) }
