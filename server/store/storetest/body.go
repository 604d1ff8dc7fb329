package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

func testBodies(t *testing.T, w *world) {
	noise := make([]byte, 250_000)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise) // never fails
	contents := []string{
		"plain text\r\nwith a carriage return",
		"", "\x00", "\ufeffa byte order mark", "e\u0301 and é",
		strings.Repeat("the same line again\n", 10_000),
		string(noise),
	}
	for i := range 100 {
		contents = append(contents, fmt.Sprintf("content number %d", i))
	}
	var edits []edit
	for i, content := range contents {
		edits = append(edits, write(api.Key(fmt.Sprintf("%03d.md", i)), content))
	}
	// Two keys of one content, in one change and over two.
	edits = append(edits, write("twice.md", contents[0]))
	w.commit(t, edits...)
	w.commit(t, write("thrice.md", contents[0]))

	var sums []api.Checksum
	for i := range contents {
		sums = append(sums, api.ChecksumOfString(contents[len(contents)-1-i]))
	}
	sums = append(sums, sums[3], sums[3])
	contents = append([]string{contents[len(contents)-4], contents[len(contents)-4]}, contents...)
	next := 0
	err := w.store.Bodies(t.Context(), w.org.ID, sums, func(sum api.Checksum, content []byte) error {
		want := contents[len(contents)-1-next]
		if sum != sums[next] || string(content) != want {
			t.Errorf("body %d: %d bytes for %s, want %d bytes for %s", next, len(content), sum.Short(), len(want), sums[next].Short())
		}
		next++
		return nil
	})
	if err != nil || next != len(sums) {
		t.Errorf("Bodies: %d of %d, %v", next, len(sums), err)
	}
}

func testBodiesMissing(t *testing.T, w *world) {
	w.commit(t, write("a.md", "here"))
	here, gone := api.ChecksumOfString("here"), api.ChecksumOfString("never stored")
	calls := 0
	err := w.store.Bodies(t.Context(), w.org.ID, []api.Checksum{here, gone, here}, func(api.Checksum, []byte) error {
		calls++
		return nil
	})
	if !errors.Is(err, store.ErrCorrupt) || calls > 1 {
		t.Errorf("Bodies with one missing: %d calls, %v; want ErrCorrupt after one call at most", calls, err)
	}
	stop := errors.New("enough")
	if err := w.store.Bodies(t.Context(), w.org.ID, []api.Checksum{here}, func(api.Checksum, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Bodies when fn fails: %v, want its error", err)
	}
	if err := w.store.Bodies(t.Context(), w.org.ID, nil, nil); err != nil {
		t.Errorf("Bodies of nothing: %v", err)
	}
}

func (s *suite) testBodiesCorrupt(t *testing.T, w *world) {
	if s.damage == nil {
		t.Skip("the implementation lends no hand that damages a body")
	}
	for _, content := range []string{"short, so it is stored as it is", strings.Repeat("long, so it is packed\n", 100)} {
		w.commit(t, write("a.md", content))
		sum := api.ChecksumOfString(content)
		s.damage(t, w.store, w.org.ID, sum)
		err := w.store.Bodies(t.Context(), w.org.ID, []api.Checksum{sum}, func(api.Checksum, []byte) error {
			t.Error("Bodies hands out damaged content")
			return nil
		})
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Bodies of a damaged content: %v, want ErrCorrupt", err)
		}
	}
}
