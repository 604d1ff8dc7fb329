package memdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// onEveryDisk runs a test on the file system of the temporary directory, and on one that keeps
// whole seconds only: ext2 with the small inodes of old.
func onEveryDisk(t *testing.T, do func(t *testing.T, root string)) {
	t.Run("here", func(t *testing.T) { do(t, t.TempDir()) })
	t.Run("whole seconds", func(t *testing.T) { do(t, oldDisk(t)) })
}

func oldDisk(t *testing.T) string {
	t.Helper()
	mustBeRoot(t)
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 8<<20); err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext2", "-q", "-F", "-I", "128", image)
	at := t.TempDir()
	// mount(8) finds a free loop device.
	run(t, "mount", "-o", "loop", image, at)
	t.Cleanup(func() { run(t, "umount", at) })
	return at
}

// fullDisk is a file system with very little room.
func fullDisk(t *testing.T, options string) string {
	t.Helper()
	mustBeRoot(t)
	at := t.TempDir()
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, options); err != nil {
		t.Skip("tmpfs cannot be mounted here:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, 0) })
	return at
}

func mustBeRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system for this test")
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = filepath.Join("/sbin", name)
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Skipf("%s does not run here: %v: %s", name, err, out)
	}
}
