//go:build unix

package memdir_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

var swapFor = flag.Duration("swap", 2*time.Second, "how long directories and links are swapped under the client (promises.md asks for 60s)")

// TestSymlinkSwapper is promise C6 and BR-06 under fire: directories, .teammem among them,
// are replaced by links to an outside directory and back, as fast as it goes, while
// the client reads, writes and removes below them. Nothing outside may change or be read.
func TestSymlinkSwapper(t *testing.T) {
	root, outside := memdir.QuickDisk(t), memdir.QuickDisk(t)
	folders := []string{"team", "team/deep", ".teammem", ".teammem/old", ".teammem/tmp"}
	for _, name := range folders {
		put(t, outside, filepath.Base(name)+"/n.md", "outside")
		put(t, outside, "n.md", "outside")
		put(t, root, name+"/n.md", "inside")
	}
	before := snapshot(t, outside)
	// The swapper itself must not be led outside by the other swappers' links.
	inside, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()

	stop := make(chan struct{})
	time.AfterFunc(*swapFor, func() { close(stop) })
	var all sync.WaitGroup
	var swaps, tries, done atomic.Int64
	forever := func(do func()) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					do()
				}
			}
		})
	}
	for _, some := range [][]string{{"team"}, folders} {
		forever(func() {
			swap(inside, some[rand.IntN(len(some))], outside)
			swaps.Add(1)
		})
	}
	for range 4 {
		dir := open(t, root)
		forever(func() {
			tries.Add(1)
			content, err := attack(dir)
			if err == nil {
				done.Add(1)
			}
			if content == "outside" {
				t.Error("read what lies outside")
			}
		})
	}
	all.Wait()
	t.Logf("%d attempts, %d done, %d swaps", tries.Load(), done.Load(), swaps.Load())
	if done.Load() == 0 || done.Load() == tries.Load() || swaps.Load() == 0 {
		t.Error("the swapper and the client never met")
	}
	if after := snapshot(t, outside); after != before {
		t.Errorf("outside changed:\n%s\nbecame\n%s", before, after)
	}
}

// swap puts a link in the place of a directory, for a moment.
func swap(root *os.Root, name, outside string) {
	if root.Rename(name, name+".bak") != nil {
		return
	}
	_ = root.Symlink(outside, name)
	_ = root.Remove(name)
	if root.Rename(name+".bak", name) != nil {
		// The client made it anew.
		_ = root.RemoveAll(name + ".bak")
	}
}

// attack does one thing of those a client does.
func attack(dir *memdir.Dir) (content string, err error) {
	key := api.Key([]string{"n.md", "team/n.md", "team/deep/n.md", "team/../../n.md", ".teammem/n.md"}[rand.IntN(5)])
	now := time.Now()
	for range 20 {
		// Reading is quick, so it gets between the steps of a swap most often.
		if b, err := dir.Read(key, limit); err == nil && string(b) == "outside" {
			return string(b), nil
		}
	}
	file, left, err := dir.Look(now, key, limit)
	if left != nil {
		return "", left
	}
	expect := &file
	if err != nil {
		expect = nil
	}
	switch rand.IntN(4) {
	case 0:
		_, err = dir.Write(now, key, []byte(fmt.Sprint("inside ", rand.Int())), now.Add(-time.Hour), expect)
	case 1:
		err = errors.New("nothing to remove")
		if expect != nil {
			err = dir.Remove(key, *expect)
		}
	case 2:
		err = errors.New("nothing to touch")
		if expect != nil {
			_, err = dir.SetModified(now, key, now.Add(-2*time.Hour), *expect)
		}
	default:
		err = dir.Reap(now.Add(time.Hour), func(_ api.Key, b []byte) error {
			content = string(b)
			return nil
		})
	}
	return content, err
}

// snapshot describes all that lies below a directory.
func snapshot(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			content = get(t, root, strings.TrimPrefix(path, root))
		}
		fmt.Fprintln(&all, path, info.Mode(), info.ModTime().UnixNano(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
