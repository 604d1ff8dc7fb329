package memdir_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody runs do without the rights of root: permissions do not bind root, and CI is
// root. The thread that gave its rights up is never used again.
func asNobody(t *testing.T, root string, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	for at := root; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread ends with its goroutine.
		runtime.LockOSThread()
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			t.Error(errno)
			return
		}
		do()
	}()
	<-done
}
