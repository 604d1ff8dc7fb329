package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

func testTokens(t *testing.T, w *world) {
	ctx := t.Context()
	token := newToken(w.org.ID, "lee")
	token.Role, token.Expires = api.Viewer, at(60).Add(987654*time.Nanosecond)
	token.Label, token.Scope, token.Repos = "nightly", api.ReadScope, "acme/*"
	made, err := w.store.CreateToken(ctx, token)
	if err != nil {
		t.Fatalf("CreateToken: %v", err)
	}
	if made.ID == 0 || made.User == 0 || made.User == w.token.User {
		t.Errorf("CreateToken: id %d, user %d", made.ID, made.User)
	}
	want := token
	want.ID, want.User, want.OrgUID, want.OrgName, want.Expires = made.ID, made.User, w.org.UID, w.org.Name, at(60)
	found, err := w.store.TokenByHash(ctx, token.Hash)
	member := store.Member{Org: w.org.ID, User: made.User, Name: "lee", Role: api.Viewer, Created: at(0)}
	if err != nil || found.Member != member {
		t.Errorf("TokenByHash: its user is\n%+v, %v; want\n%+v", found.Member, err, member)
	}
	found.Member = store.Member{}
	if found != want {
		t.Errorf("TokenByHash:\n%+v; want\n%+v", found, want)
	}
	if _, err := w.store.TokenByHash(ctx, [32]byte{1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("TokenByHash of a strange hash: %v, want ErrNotFound", err)
	}
	all, err := w.store.Tokens(ctx, w.org.ID)
	if err != nil || len(all) != 2 || all[0] != want || all[1].UID != w.token.UID {
		t.Errorf("Tokens: %+v, %v; want the new one, then the old", all, err)
	}
	if _, err := w.store.CreateToken(ctx, newToken(1<<40, "lee")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CreateToken in an unknown organization: %v, want ErrNotFound", err)
	}
}

// testTokenNames: one name is one user in an organization, and another in another.
func testTokenNames(t *testing.T, w *world) {
	ctx := t.Context()
	again, err := w.store.CreateToken(ctx, newToken(w.org.ID, "dana"))
	if err != nil {
		t.Fatalf("CreateToken: %v", err)
	}
	if again.User != w.token.User || again.ID == w.token.ID {
		t.Errorf("a second token of dana's: user %d, id %d; want user %d and a new id", again.User, again.ID, w.token.User)
	}
	other := newWorld(t, w.store)
	if other.token.User == w.token.User {
		t.Errorf("dana of one organization is dana of another")
	}
}

func testTokenRevocation(t *testing.T, w *world) {
	ctx := t.Context()
	for _, when := range []api.Version{5, 9} {
		if err := w.store.RevokeToken(ctx, w.org.ID, w.token.UID, at(when)); err != nil {
			t.Fatalf("RevokeToken: %v", err)
		}
	}
	found, err := w.store.TokenByHash(ctx, w.token.Hash)
	if err != nil || !found.Revoked.Equal(at(5)) {
		t.Errorf("TokenByHash of a revoked token: revoked %s, %v; want the first time, %s", found.Revoked, err, at(5))
	}
	if err := w.store.RevokeToken(ctx, w.org.ID, "tok_none", at(5)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("RevokeToken of an unknown id: %v, want ErrNotFound", err)
	}
	other := newWorld(t, w.store)
	if err := w.store.RevokeToken(ctx, w.org.ID, other.token.UID, at(5)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("RevokeToken of another organization's: %v, want ErrNotFound", err)
	}
	if found, err := w.store.TokenByHash(ctx, other.token.Hash); err != nil || !found.Revoked.IsZero() {
		t.Errorf("another organization's token: revoked %s, %v", found.Revoked, err)
	}
}

func testTokenUse(t *testing.T, w *world) {
	ctx := t.Context()
	for _, when := range []api.Version{7, 3} {
		if err := w.store.TouchToken(ctx, w.token.ID, at(when)); err != nil {
			t.Fatalf("TouchToken: %v", err)
		}
	}
	found, err := w.store.TokenByHash(ctx, w.token.Hash)
	if err != nil || !found.LastUsed.Equal(at(7)) {
		t.Errorf("last used %s, %v; want the latest, %s", found.LastUsed, err, at(7))
	}
}
