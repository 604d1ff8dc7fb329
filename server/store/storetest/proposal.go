package storetest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// testProposals: a commit may propose; only the author's view shows it, together
// with what everybody sees of the key, and the head counts what stands.
func testProposals(t *testing.T, w *world) {
	lee, err := w.store.CreateToken(t.Context(), newToken(w.org.ID, "lee"))
	if err != nil {
		t.Fatalf("CreateToken: %v", err)
	}
	mine, theirs := w.ref, w.ref
	mine.For, theirs.For = w.token.User, lee.User
	w.commit(t, write("a", "1"), write("b", "1"))
	propose := func(uid string, key api.Key, content string, by store.UserID) store.Proposal {
		return store.Proposal{
			UID: w.org.UID + uid, Slug: w.ref.Slug, Key: key, Author: by, User: "dana", Client: "laptop", State: api.ProposalOpen, Standing: true,
			Checksum: api.ChecksumOfString(content), Base: api.ChecksumOfString("1"), Size: len(content), Modified: modifiedAt(2), Version: 2, At: at(2),
			Detail: []byte(`{"why":"a test"}`),
		}
	}
	commit := func(proposals ...store.ProposalWrite) store.Head {
		t.Helper()
		head, err := w.store.Commit(t.Context(), w.ref, nil, func(state store.State) (*store.Change, error) {
			change := w.change(state, nil)
			change.Head.Checksum, change.Head.Set = state.Head.Checksum, state.Head.Set
			change.Proposals = proposals
			for _, p := range proposals {
				if p.Standing {
					change.Head.Proposals++
				} else {
					change.Head.Proposals--
				}
			}
			return change, nil
		})
		if err != nil {
			t.Fatalf("Commit: %v", err)
		}
		return head
	}
	body := func(content string) *store.Body { return store.Pack(api.ChecksumOfString(content), []byte(content)) }
	one, two := propose("p1", "a", "mine", w.token.User), propose("p2", "new", "mine too", w.token.User)
	head := commit(store.ProposalWrite{Proposal: one, Body: body("mine")}, store.ProposalWrite{Proposal: two, Body: body("mine too")})
	if head.Version != 2 || head.Proposals != 2 || w.head(t).Proposals != 2 {
		t.Errorf("the head counts %d proposals, then %d", head.Proposals, w.head(t).Proposals)
	}
	check := func(what string, shadows []store.Shadow, want ...store.Proposal) {
		t.Helper()
		if len(shadows) != len(want) {
			t.Fatalf("%s: %+v, want %d", what, shadows, len(want))
		}
		for i, s := range shadows {
			s.Proposal.ID = 0
			if !reflect.DeepEqual(s.Proposal, want[i]) {
				t.Errorf("%s:\n%+v, want\n%+v", what, s.Proposal, want[i])
			}
			if public := s.Public; s.Key == "a" && (public.Key != "a" || public.Checksum != api.ChecksumOfString("1") || public.Version != 1) || s.Key == "new" && public.Version != 0 {
				t.Errorf("%s: everybody sees %+v of %s", what, public, s.Key)
			}
		}
	}
	for _, since := range []api.Version{0, 1, 1 << 40} {
		view, err := w.store.View(t.Context(), mine, since)
		if err != nil || len(view.Head.Set) == 0 {
			t.Fatalf("View: %+v, %v; want it with its set", view.Head, err)
		}
		check("the author's view", view.Mine, one, two)
		if view, err = w.store.View(t.Context(), theirs, since); err != nil || len(view.Mine) != 0 {
			t.Errorf("another's view: %+v, %v", view.Mine, err)
		}
	}
	_, _ = w.store.Commit(t.Context(), mine, []api.Key{"b"}, func(state store.State) (*store.Change, error) {
		check("the author's state", state.Mine, one, two)
		return nil, nil
	})
	if past := w.history(t, "", 0, 1); len(past) != 2 || past[0].Version != 1 {
		t.Errorf("a page of history after a version that changed nothing for everybody: %+v", past)
	}

	// Closed, and another one of its key in the same commit.
	one.Version, one.State, one.Standing, one.Closed, one.ClosedAt, one.ClosedBy, one.Reason = 3, api.ProposalWithdrawn, false, 3, at(3), "dana", "replaced"
	next := propose("p3", "a", "newer", w.token.User)
	commit(store.ProposalWrite{Proposal: next, Body: body("newer")}, store.ProposalWrite{Proposal: one})
	view, err := w.store.View(t.Context(), mine, 0)
	if err != nil {
		t.Fatal(err)
	}
	check("after the replacement", view.Mine, next, two)

	found, err := w.store.Proposal(t.Context(), w.org.ID, one.UID)
	if found.ID = 0; err != nil || !reflect.DeepEqual(found, one) {
		t.Errorf("Proposal:\n%+v, %v; want\n%+v", found, err, one)
	}
	if _, err := w.store.Proposal(t.Context(), w.org.ID, "prop_none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Proposal of an unknown id: %v, want ErrNotFound", err)
	}
	other := newWorld(t, w.store)
	if _, err := w.store.Proposal(t.Context(), other.org.ID, one.UID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Proposal of another organization: %v, want ErrNotFound", err)
	}
	list := func(q store.ProposalQuery) (uids string) {
		t.Helper()
		if q.Limit == 0 {
			q.Limit = 9
		}
		all, err := w.store.Proposals(t.Context(), w.org.ID, q)
		if err != nil {
			t.Fatalf("Proposals: %v", err)
		}
		for _, p := range all {
			uids += " " + p.UID[len(w.org.UID):]
		}
		return uids
	}
	for _, c := range []struct {
		query store.ProposalQuery
		want  string
	}{
		{store.ProposalQuery{}, " p3 p2 p1"},
		{store.ProposalQuery{Limit: 2}, " p3 p2"},
		{store.ProposalQuery{Before: view.Mine[1].ID}, " p1"},
		{store.ProposalQuery{State: api.ProposalOpen, Repo: w.ref.Slug}, " p3 p2"},
		{store.ProposalQuery{Repo: "acme/other"}, ""},
		{store.ProposalQuery{Author: lee.User}, ""},
		{store.ProposalQuery{Author: w.token.User, State: api.ProposalWithdrawn}, " p1"},
	} {
		if got := list(c.query); got != c.want {
			t.Errorf("%+v lists%s, want%s", c.query, got, c.want)
		}
	}
}
