package memdir

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

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
		"in place": func(b *box, content string) error { return os.WriteFile(b.path("a.md"), []byte(content), 0o666) },
	}
	for how, save := range saves {
		t.Run(how, func(t *testing.T) {
			eachWay(t, func(b *box) {
				if how == "replace" && !b.passes("exchanged") {
					return // The few microseconds that the comment of Write admits.
				}
				b.write("a.md", "client", nil)
				stop := make(chan struct{})
				time.AfterFunc(time.Second, func() { close(stop) })
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
			if err := save(b, edit); err != nil {
				b.Error(err)
			}
			edits = append(edits, edit)
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
