package memdir

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

var raceFor = flag.Duration("race-for", time.Second, "how long an editor and the client write one file at once")

// TestEditorAndClientAtOnce is promise C1 at full speed: an editor and the client write
// one file as fast as they can. The editor saves only over a text of the client's, so
// every text of its own must be one that the client saw and expected, or stand at the
// end, or be given to Reap.
func TestEditorAndClientAtOnce(t *testing.T) {
	saves := map[string]func(b *box, content string) error{
		"replace": func(b *box, content string) error {
			if err := os.WriteFile(b.path("a.md.tmp"), []byte(content), 0o666); err != nil {
				return err
			}
			return os.Rename(b.path("a.md.tmp"), b.path("a.md"))
		},
		"in place": saveInPlace,
	}
	for how, save := range saves {
		t.Run(how, func(t *testing.T) {
			eachWayOn(t, QuickDisk, func(b *box) {
				if how == "replace" && !b.passes("exchanged") {
					return // The few microseconds that the comment of Write admits.
				}
				b.write("a.md", "client", nil)
				stop := make(chan struct{})
				time.AfterFunc(*raceFor, func() { close(stop) })
				var edits []string
				var editor sync.WaitGroup
				editor.Go(func() { edits = b.edit(stop, save) })
				seen, writes, refused := b.answer(stop)
				editor.Wait()
				found := seen + " | " + b.stands("a.md") + " | " + b.reaped()
				lost := 0
				for _, edit := range edits {
					if !strings.Contains(found, edit) {
						lost++
					}
				}
				t.Logf("%d edits, %d writes, %d refused, %d lost", len(edits), writes, refused, lost)
				if lost != 0 || len(edits) < 10 || writes < 10 {
					t.Error("edits were lost, or the two never met")
				}
			})
		})
	}
}

var errNotSaved = errors.New("the file is not the one that was read")

// saveInPlace overwrites the file if it is still a text of the client's.
func saveInPlace(b *box, content string) error {
	file, err := os.OpenFile(b.path("a.md"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	seen, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(seen), "client") {
		return errNotSaved
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt([]byte(content), 0)
	return err
}

// edit saves a new text over each of the client's until stop.
func (b *box) edit(stop <-chan struct{}, save func(*box, string) error) (edits []string) {
	for {
		select {
		case <-stop:
			return edits
		default:
		}
		content, err := os.ReadFile(b.path("a.md"))
		if err == nil && strings.HasPrefix(string(content), "client") {
			edit := fmt.Sprintf("<edit %d>", len(edits))
			switch err := save(b, edit); {
			case err == nil:
				edits = append(edits, edit)
			case !errors.Is(err, errNotSaved):
				b.Error(err)
			}
		}
	}
}

// answer writes a text over whatever it sees until stop, and says what it saw.
func (b *box) answer(stop <-chan struct{}) (seen string, writes, refused int) {
	var all strings.Builder
	for {
		select {
		case <-stop:
			return all.String(), writes, refused
		default:
		}
		now := time.Now()
		content, err := b.Read("a.md", 1000)
		if err != nil {
			continue
		}
		file := File{Key: "a.md", Checksum: api.ChecksumOf(content), Fingerprint: Fingerprint{Size: int64(len(content))}}
		_, err = b.Write(now, "a.md", fmt.Appendf(nil, "client %d", writes), time.Time{}, &file)
		switch changed := (*ChangedError)(nil); {
		case err == nil:
			writes++
			all.Write(content)
		case errors.As(err, &changed):
			refused++
		default:
			b.Error(err)
		}
	}
}
