package storetest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

func testCommitReturns(t *testing.T, w *world) {
	head := w.commit(t, write("a.md", "one"))
	if head.ID == 0 || head.Version != 1 || !bytes.Equal(head.Set, setState(1)) {
		t.Errorf("Commit returns %s", public(head))
	}
	if public(head) != public(w.head(t)) {
		t.Errorf("Commit returns\n%s, and what stands is\n%s", public(head), public(w.head(t)))
	}
	shown := w.state(t, "a.md").Head
	if public(shown) != public(head) || !bytes.Equal(shown.Set, setState(1)) || shown.AuditHead != head.AuditHead {
		t.Errorf("the next decide is shown another head than Commit returned:\n%s, want\n%s", public(shown), public(head))
	}
	if shown.AuditHead == ([32]byte{}) {
		t.Error("the audit head is not kept")
	}
}

// testCommitNothing: a nil change leaves everything, and makes no repo.
func testCommitNothing(t *testing.T, w *world) {
	if state := w.state(t, "a.md"); public(state.Head) == "" || state.Head.Version != 0 || len(state.Rows) != 0 {
		t.Errorf("state of a repo without memory: %+v", state)
	}
	if head := w.head(t); public(head) != public(store.Head{}) {
		t.Errorf("head after a commit of nothing: %s", public(head))
	}
	want := w.commit(t, write("a.md", "one"))
	head, err := w.store.Commit(t.Context(), w.ref, []api.Key{"a.md"}, func(store.State) (*store.Change, error) { return nil, nil })
	if err != nil || public(head) != public(want) {
		t.Errorf("Commit of nothing: %s, %v; want\n%s", public(head), err, public(want))
	}
}

// testCommitRefused: an error of decide comes back as it is and leaves nothing.
func testCommitRefused(t *testing.T, w *world) {
	refusal := &api.Error{Code: api.Conflict, Message: "no"}
	refuse := func(store.State) (*store.Change, error) { return nil, refusal }
	if _, err := w.store.Commit(t.Context(), w.ref, []api.Key{"a.md"}, refuse); err != error(refusal) {
		t.Errorf("Commit returns %v, want decide's own error", err)
	}
	if head := w.head(t); public(head) != public(store.Head{}) {
		t.Errorf("head after a refusal: %s", public(head))
	}
	w.commit(t, write("a.md", "one"))
	if _, err := w.store.Commit(t.Context(), w.ref, []api.Key{"a.md"}, refuse); err != error(refusal) {
		t.Errorf("Commit returns %v, want decide's own error", err)
	}
	if head := w.commit(t, write("a.md", "two")); head.Version != 2 {
		t.Errorf("version %d after a refusal between two changes", head.Version)
	}
}

// testCommitBreaksContract: a change that is none is refused whole.
func testCommitBreaksContract(t *testing.T, w *world) {
	w.commit(t, write("a.md", "one"))
	before := w.head(t)
	for name, spoil := range map[string]func(*store.Change){
		"version again":      func(c *store.Change) { c.Head.Version-- },
		"version skipped":    func(c *store.Change) { c.Head.Version++ },
		"another audit":      func(c *store.Change) { c.Audit.Seq++ },
		"audit off the head": func(c *store.Change) { c.Head.AuditHead[0] ^= 1 },
		"no set checksum":    func(c *store.Change) { c.Head.Checksum = "" },
		"key twice":          func(c *store.Change) { c.Writes = append(c.Writes, c.Writes[0]) },
		"no body":            func(c *store.Change) { c.Writes[0].Body = nil },
		"another's body":     func(c *store.Change) { c.Writes[0].Body = store.Pack(api.ChecksumOfString("x"), []byte("x")) },
		"bad checksum":       func(c *store.Change) { c.Writes[0].Checksum = "sha256:12" },
		"no fold":            func(c *store.Change) { c.Writes[0].Fold = "" },
	} {
		_, err := w.store.Commit(t.Context(), w.ref, []api.Key{"b.md"}, func(state store.State) (*store.Change, error) {
			change := w.change(state, []edit{write("b.md", "two")})
			spoil(change)
			return change, nil
		})
		if err == nil {
			t.Errorf("%s: Commit accepts it", name)
		}
	}
	if after := w.head(t); public(after) != public(before) {
		t.Errorf("head after refused changes:\n%s, want\n%s", public(after), public(before))
	}
	if rows := w.view(t, 0).Rows; len(rows) != 1 {
		t.Errorf("rows after refused changes:\n%s", show(rows))
	}
}

func testCommitUnknownOrganization(t *testing.T, w *world) {
	stranger := *w
	stranger.ref.Org = 1 << 40
	if _, err := stranger.tryCommit(t.Context(), write("a.md", "one")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Commit in an unknown organization: %v, want ErrNotFound", err)
	}
}

// testCommitCancelled: a caller who is gone changes nothing and holds nothing.
func testCommitCancelled(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.tryCommit(ctx, write("a.md", "one")); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit of a cancelled request: %v, want context.Canceled", err)
	}
	if _, err := w.store.View(ctx, w.ref, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("View of a cancelled request: %v, want context.Canceled", err)
	}
	if head := w.commit(t, write("a.md", "one")); head.Version != 1 {
		t.Errorf("version %d after a cancelled request", head.Version)
	}
}
