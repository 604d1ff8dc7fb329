package watch

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestSystemLimits has the kernel itself refuse to watch. The test runs itself again in a
// user namespace of its own, where the limits are its own too.
func TestSystemLimits(t *testing.T) {
	const inside = "TEAMMEM_TEST_INSIDE"
	limits := map[string]string{"max_inotify_watches": "max_user_watches", "max_inotify_instances": "max_user_instances"}
	if os.Getenv(inside) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestSystemLimits$", "-test.v")
		again.Env = append(os.Environ(), inside+"=1")
		self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: self}
		out, err := again.CombinedOutput()
		if err != nil && again.ProcessState == nil {
			t.Skip("no user namespace can be made here:", err)
		}
		if err != nil || strings.Contains(string(out), "SKIP") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for limit, says := range limits {
		t.Run(limit, func(t *testing.T) {
			setting := "/proc/sys/user/" + limit
			before, err := os.ReadFile(setting)
			if err != nil {
				t.Skip(err)
			}
			if err := os.WriteFile(setting, []byte("0"), 0); err != nil {
				t.Skip(err)
			}
			defer os.WriteFile(setting, before, 0)
			onDisk(t, func(r *real) {
				h := r.watcher.Health()
				if h.Mode != Polling || !strings.Contains(h.Why, says) || strings.Contains(h.Why, "space") {
					r.Errorf("health %+v", h)
				}
				r.next("a pause of polling")
			})
		})
	}
}
