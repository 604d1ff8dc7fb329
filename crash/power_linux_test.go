package crash

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver that a file's integrity is asked of
)

// imagesEnvironment names the variable with how often the plug is pulled.
const imagesEnvironment = "TEAMMEM_CRASH_IMAGES"

const (
	// repoImages is how many images are taken of one repo, before the next one begins:
	// an ever larger one would only make the checks slower.
	repoImages = 5
	// outerSize and innerSize are of the disks, in bytes; both are thin.
	outerSize = 6 << 30
	innerSize = 1 << 30
)

// disk is a file system in a file, which lies on another that can make a snapshot of
// a file in one instant.
type disk struct {
	dir   string // where the inner one is mounted
	image string // the file that it is in
	outer string // where that one's own file system is mounted
}

// newDisk makes and mounts the two. The test is skipped where one may not, and fails
// there with CI set.
func newDisk(t *testing.T) *disk {
	t.Helper()
	root := t.TempDir()
	d := &disk{dir: filepath.Join(root, "inner"), outer: filepath.Join(root, "outer")}
	d.image = filepath.Join(d.outer, "disk")
	err := errFirst(
		func() error { return os.Mkdir(d.outer, 0o755) },
		func() error { return os.Mkdir(d.dir, 0o755) },
		func() error { return thin(filepath.Join(root, "file"), outerSize) },
		func() error { return system("mkfs.xfs", "-q", "-m", "reflink=1", filepath.Join(root, "file")) },
		func() error { return mount(t, filepath.Join(root, "file"), d.outer) },
		func() error { return thin(d.image, innerSize) },
		func() error { return system("mkfs.ext4", "-q", "-F", d.image) },
		func() error { return mount(t, d.image, d.dir) },
	)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI is set and nothing may be skipped: %v", err)
		}
		t.Skipf("a disk whose plug can be pulled needs root, loop devices and xfsprogs: %v", err)
	}
	return d
}

func errFirst(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func thin(path string, size int64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	err = file.Truncate(size)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// system runs one of the system's tools.
func system(name string, arguments ...string) error {
	if said, err := exec.Command(name, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(said)))
	}
	return nil
}

// mount mounts a file until the test ends.
func mount(t *testing.T, file, dir string) error {
	err := system("mount", "-o", "loop", file, dir)
	if err == nil {
		t.Cleanup(func() { _ = system("umount", "--lazy", dir) })
	}
	return err
}

// pull is the moment in which the plug is pulled: a snapshot of all that has reached
// the disk by then. What the file system still holds in memory is not in it.
func (d *disk) pull(image string) error {
	return system("cp", "--reflink=always", d.image, image)
}

// boot mounts a snapshot, which replays the file system's journal, and gives it to
// look, with a server started on it.
func (v *victim) boot(t *testing.T, d *disk, image string, look func(*wire) error) (err error) {
	t.Helper()
	dir := filepath.Join(d.outer, "after")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := system("mount", "-o", "loop", image, dir); err != nil {
		return err
	}
	defer func() {
		if unmounted := system("umount", dir); err == nil {
			err = unmounted
		}
	}()
	begun := time.Now()
	server := start(t, exec.Command(program(t, "server"), "--listen", "127.0.0.1:0", "--data", dir, "--database", "sqlite://"+filepath.Join(dir, "crash.db")))
	defer server.kill()
	to := newWire(server.address(t), v.token)
	to.client.Timeout = recoveryWait // a busy machine is no lost write
	if err := to.ready(t.Context()); err != nil {
		return err
	}
	v.ready = append(v.ready, time.Since(begun))
	if err := look(to); err != nil {
		return err
	}
	server.kill()
	return integrity(filepath.Join(dir, "crash.db"))
}

// integrity asks SQLite whether a database is whole.
func integrity(path string) error {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var said string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&said); err != nil {
		return fmt.Errorf("the database's integrity: %w", err)
	}
	if said != "ok" {
		return fmt.Errorf("the database is damaged: %s", said)
	}
	return nil
}

// powerCuts pulls the plug so many times under a server of programs that is being
// written to, and gives how many acknowledged writes the images had to hold.
func powerCuts(t *testing.T, programs string, images int) (acked int, v *victim, err error) {
	t.Helper()
	d := newDisk(t)
	v = newVictimIn(t, programs, d.dir)
	// The token is no write of the writers': all before them is on the disk.
	if err := system("sync", "--file-system", d.dir); err != nil {
		return 0, v, err
	}
	var s, before *stint
	end := func() {}
	defer func() { end() }()
	for n := range images {
		if n%repoImages == 0 {
			end()
			before = s
			s, end = begin(v.wire, fmt.Sprintf("crash/power-%d", n), rand.Uint64())
		}
		wait(longestStint)
		image := filepath.Join(d.outer, "image-"+strconv.Itoa(n))
		then := s.soFar()
		if err := d.pull(image); err != nil {
			return acked, v, err
		}
		must := then.upTo(s.soFar())
		err := v.boot(t, d, image, func(to *wire) error {
			if before != nil {
				if err := before.check(t.Context(), to); err != nil {
					return err
				}
			}
			return must.check(t.Context(), to)
		})
		acked += must.acked()
		if err != nil {
			return acked, v, fmt.Errorf("image %d: %w", n, err)
		}
		if err := os.Remove(image); err != nil {
			return acked, v, err
		}
	}
	return acked, v, nil
}

// Whenever the plug is pulled, what was acknowledged by then is on the disk.
func TestPowerCut(t *testing.T) {
	images, err := strconv.Atoi(os.Getenv(imagesEnvironment))
	if err != nil {
		images = 8
	}
	acked, v, err := powerCuts(t, ours(t), images)
	if err != nil {
		t.Fatal(err)
	}
	middle, last := v.readiness()
	t.Logf("%d images, each with the writes acknowledged before it, %d in all: none lost, every database whole; ready after %s, at most %s",
		images, acked, middle.Round(time.Millisecond), last.Round(time.Millisecond))
	if acked == 0 {
		t.Error("nothing was acknowledged, so nothing is shown")
	}
}

// A server that acknowledges what only the file system's memory holds must be found
// out. No kill of a process shows it.
func TestALazyFlushIsCaught(t *testing.T) {
	lazy := faulty(t, "server/store/sqlite/db.go", "_pragma=synchronous(full)", "_pragma=synchronous(normal)")
	_, _, err := powerCuts(t, lazy, 20)
	if err == nil {
		t.Fatal("a server that does not flush is not found out in 20 images")
	}
	t.Logf("caught: %v", err)
}
