package storetest

import (
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// testIdentities: a subject is one user, whoever says so first, and an issuer that
// differs by a slash is another.
func testIdentities(t *testing.T, w *world) {
	ctx := t.Context()
	id := store.Identity{Issuer: random("https://login.example/"), Subject: "sub-lee", Created: at(0)}
	if _, err := w.store.Identity(ctx, id.Issuer, id.Subject); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an identity that nobody bound: %v, want ErrNotFound", err)
	}
	users := make([]store.UserID, 8)
	var all sync.WaitGroup
	for i := range users {
		all.Go(func() { users[i], _ = w.store.BindIdentity(ctx, id) })
	}
	all.Wait()
	found, err := w.store.Identity(ctx, id.Issuer, id.Subject)
	for _, user := range users {
		if err != nil || user == 0 || user != found {
			t.Fatalf("bound at once by several: %v, found %d, %v", users, found, err)
		}
	}
	slash := id
	slash.Issuer += "/"
	slash.User = w.token.User
	if user, err := w.store.BindIdentity(ctx, slash); err != nil || user != w.token.User || user == found {
		t.Errorf("bound to dana: user %d, %v", user, err)
	}
	slash.User = found
	if user, err := w.store.BindIdentity(ctx, slash); err != nil || user != w.token.User {
		t.Errorf("bound again: user %d, %v; the first stays", user, err)
	}
}

// testVouching: the newest token's time stays, and an older one learns that it is
// older.
func testVouching(t *testing.T, w *world) {
	ctx := t.Context()
	id := store.Identity{Issuer: random("https://login.example/"), Subject: "sub-lee", Created: at(0)}
	if newest, err := w.store.Vouch(ctx, id.Issuer, id.Subject, at(0)); newest || err != nil {
		t.Errorf("for nobody: %v, %v", newest, err)
	}
	if _, err := w.store.BindIdentity(ctx, id); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   api.Version
		want bool
	}{{5, true}, {5, true}, {3, false}, {7, true}, {5, false}} {
		if newest, err := w.store.Vouch(ctx, id.Issuer, id.Subject, at(c.at)); newest != c.want || err != nil {
			t.Errorf("issued at %d: %v, %v", c.at, newest, err)
		}
	}
}

func newSession(w *world, kind store.SessionKind) store.Session {
	s := store.Session{Kind: kind, User: w.token.User, Created: at(0), Seen: at(0), Until: at(60), Issuer: "https://login.example", Renewal: "sealed \x00\xff", Asks: store.Asks{Asked: at(0)}}
	_, _ = rand.Read(s.Hash[:])
	return s
}

func testSessions(t *testing.T, w *world) {
	ctx := t.Context()
	s := newSession(w, store.BrowserSession)
	if _, err := w.store.Session(ctx, s.Hash); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a session that is not there: %v, want ErrNotFound", err)
	}
	want := func(want store.Session) {
		t.Helper()
		if got, err := w.store.Session(ctx, s.Hash); err != nil || got != want {
			t.Errorf("Session:\n%+v, %v; want\n%+v", got, err, want)
		}
	}
	for range 2 {
		if err := w.store.AddSession(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	want(s)
	for _, seen := range []api.Version{7, 3} {
		if err := w.store.TouchSession(ctx, s.Hash, at(seen)); err != nil {
			t.Fatal(err)
		}
	}
	s.Seen = at(7)
	want(s)
	testRenewal(t, w, &s)
	want(s)
	s.Ended, s.Renewal, s.Asking = at(9), "", time.Time{}
	if got, err := w.store.EndSession(ctx, s.Hash, at(9)); err != nil || got != s {
		t.Errorf("EndSession: %+v, %v", got, err)
	}
	if renewed, err := w.store.RenewSession(ctx, s.Hash, s.Asks, store.Asks{Asked: at(11)}, "again"); renewed || err != nil {
		t.Errorf("renewed after its end: %v, %v", renewed, err)
	}
	if _, err := w.store.EndSession(ctx, s.Hash, at(10)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ended twice: %v, want ErrNotFound", err)
	}
	want(s)
	// The next sign-in, two days after the end, sweeps.
	late := newSession(w, store.BrowserSession)
	late.Created = s.Until.Add(2 * store.SessionKept)
	late.Seen, late.Until = late.Created, late.Created.Add(time.Hour)
	if err := w.store.AddSession(ctx, late); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Session(ctx, s.Hash); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a session of long ago: %v, want ErrNotFound", err)
	}
}

// testRenewal: of two who want to ask a session's provider only one does, and nobody
// else notes what it heard.
func testRenewal(t *testing.T, w *world, s *store.Session) {
	t.Helper()
	idle, asking, answered := store.Asks{Asked: at(0)}, store.Asks{Asked: at(0), Asking: at(8)}, store.Asks{Asked: at(8)}
	for _, c := range []struct {
		was, is store.Asks
		renewal string
		want    bool
	}{
		{idle, asking, s.Renewal, true},
		{idle, asking, "too late", false},
		{idle, answered, "not asked", false},
		{asking, answered, "next", true},
		{answered, store.Asks{Asked: at(8), Asking: at(9)}, "next", true},
	} {
		renewed, err := w.store.RenewSession(t.Context(), s.Hash, c.was, c.is, c.renewal)
		if renewed != c.want || err != nil {
			t.Errorf("asked %+v, then %+v: %v, %v; want %v", c.was, c.is, renewed, err, c.want)
		}
	}
	s.Asks, s.Renewal = store.Asks{Asked: at(8), Asking: at(9)}, "next"
}

// testSessionsOfUser: signing out everywhere ends what is of the kind and the user,
// and nothing else; of two who end one at once only one does.
func testSessionsOfUser(t *testing.T, w *world) {
	ctx := t.Context()
	other := newWorld(t, w.store)
	mine := []store.Session{newSession(w, store.BrowserSession), newSession(w, store.BrowserSession)}
	rest := []store.Session{newSession(w, store.LinkSession), newSession(other, store.BrowserSession)}
	for _, s := range append(mine, rest...) {
		if err := w.store.AddSession(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.store.EndSessions(ctx, w.token.User, store.BrowserSession, at(5)); n != 2 || err != nil {
		t.Errorf("%d were ended, %v", n, err)
	}
	for _, s := range mine {
		if got, err := w.store.Session(ctx, s.Hash); err != nil || !got.Ended.Equal(at(5)) {
			t.Errorf("mine: %+v, %v", got, err)
		}
	}
	for _, s := range rest {
		if got, err := w.store.Session(ctx, s.Hash); err != nil || !got.Ended.IsZero() {
			t.Errorf("another's, or of another kind: %+v, %v", got, err)
		}
	}
	ends := make(chan error, 8)
	for range cap(ends) {
		go func() {
			_, err := w.store.EndSession(ctx, rest[0].Hash, at(6))
			ends <- err
		}()
	}
	good := 0
	for range cap(ends) {
		if <-ends == nil {
			good++
		}
	}
	if good != 1 {
		t.Errorf("a link was used %d times", good)
	}
}

func testInvitations(t *testing.T, w *world) {
	ctx := t.Context()
	other := newWorld(t, w.store)
	email := random("lee@") + ".example"
	i := store.Invitation{Org: w.org.ID, Email: email, Name: "lee", Role: api.Viewer, Created: at(0), Until: at(60)}
	j := i
	j.Org, j.Role = other.org.ID, ""
	invite := func(w *world, i store.Invitation, before *store.Invitation) {
		t.Helper()
		w.administer(t, store.About{}, func(s store.OrgState) *store.OrgChange {
			if got := s.Invitation(email); (got == nil) != (before == nil) || got != nil && *got != *before {
				t.Errorf("the invitation before is %+v, want %+v", got, before)
			}
			return &store.OrgChange{Invite: []store.Invitation{i}}
		})
	}
	first := i
	invite(w, i, nil)
	invite(other, j, nil)
	i.Role = api.Member
	invite(w, i, &first)
	for _, c := range []struct {
		org   store.OrgID
		email string
		want  []store.Invitation
	}{{0, email, []store.Invitation{i, j}}, {w.org.ID, "", []store.Invitation{i}}, {other.org.ID, email, []store.Invitation{j}}, {w.org.ID, "x", nil}} {
		got, err := w.store.Invitations(ctx, c.org, c.email)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%d, %q: %+v, %v", c.org, c.email, got, err)
			continue
		}
		for k := range got {
			if got[k] != c.want[k] {
				t.Errorf("%d, %q: %+v, want %+v", c.org, c.email, got[k], c.want[k])
			}
		}
	}
	w.administer(t, store.About{}, func(store.OrgState) *store.OrgChange {
		return &store.OrgChange{Uninvite: []string{email}}
	})
	if left, err := w.store.Invitations(ctx, 0, email); err != nil || len(left) != 1 || left[0] != j {
		t.Errorf("taken back in one organization: %+v, %v", left, err)
	}
}
