package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

// fixture is an Auth on the store in memory, with a clock that a test moves.
type fixture struct {
	t     *testing.T
	auth  *Auth
	store *memory.Store
	org   store.Organization
	clock time.Time
	reads atomic.Int64
	fault error // of the next reads

	touched chan time.Time // the uses that were written
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, store: memory.New(), clock: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), touched: make(chan time.Time, 100)}
	f.auth = New(slog.New(slog.DiscardHandler), f, func() time.Time { return f.clock }, Config{Failures: -1})
	t.Cleanup(func() {
		if f.auth != nil {
			f.auth.Close()
		}
	})
	var err error
	if f.org, err = f.store.CreateOrganization(context.Background(), NewOrganization("acme", f.clock)); err != nil {
		t.Fatal(err)
	}
	return f
}

// TokenByHash counts.
func (f *fixture) TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error) {
	f.reads.Add(1)
	if f.fault != nil {
		return store.Token{}, f.fault
	}
	return f.store.TokenByHash(ctx, hash)
}

func (f *fixture) Access(ctx context.Context, org store.OrgID) (store.Access, error) {
	return f.store.Access(ctx, org)
}

func (f *fixture) Memberships(ctx context.Context, user store.UserID) ([]store.Membership, error) {
	return f.store.Memberships(ctx, user)
}

func (f *fixture) TouchToken(ctx context.Context, id store.TokenID, at time.Time) error {
	err := f.store.TouchToken(ctx, id, at)
	f.touched <- at
	return err
}

func (f *fixture) token(expires time.Time) (secret string, token store.Token) {
	f.t.Helper()
	secret, token = NewToken(f.org.ID, "dana", api.Member, f.clock, expires)
	token, err := f.store.CreateToken(context.Background(), token)
	if err != nil {
		f.t.Fatal(err)
	}
	return secret, token
}

func (f *fixture) ask(header string) (Caller, error) {
	return f.auth.Authenticate(context.Background(), Credentials{Authorization: header})
}

func (f *fixture) wantRefused(header, errorCode string) {
	f.t.Helper()
	who, err := f.ask(header)
	e, ok := api.AsError(err)
	if !ok || e.Code != api.Authentication || e.Details.ErrorCode != errorCode || who.Org != 0 {
		f.t.Errorf("%q: %+v, %v; want %s", header, who, err, errorCode)
	}
}

func TestATokenSpeaksForItsUser(t *testing.T) {
	f := newFixture(t)
	secret, token := f.token(time.Time{})
	for _, header := range []string{"Bearer " + secret, "bearer " + secret, " BEARER  " + secret + " "} {
		who, err := f.ask(header)
		if err != nil {
			t.Fatalf("%q: %v", header, err)
		}
		want := Caller{Org: f.org.ID, OrgUID: f.org.UID, OrgName: "acme", User: token.User, UserName: "dana", How: ByToken, Token: token.ID, TokenUID: token.UID, Role: api.Member}
		if !who.Equal(want) {
			t.Errorf("%q speaks for %+v, want %+v", header, who, want)
		}
	}
}

func TestHeadersWithoutAToken(t *testing.T) {
	f := newFixture(t)
	secret, _ := f.token(time.Time{})
	for _, header := range []string{"", " ", "Bearer", "Bearer ", "Basic " + secret, secret, "Token " + secret} {
		f.wantRefused(header, api.ErrorCodeTokenMissing)
	}
	for _, header := range []string{"Bearer x", "Bearer tm_", "Bearer " + secret + "x", "Bearer " + secret[1:], "Bearer " + strings.ToUpper(secret), "Bearer " + secret + "," + secret} {
		f.wantRefused(header, api.ErrorCodeTokenInvalid)
	}
}

// Every refused token costs one read, so that neither body nor time tells what
// is wrong with it.
func TestRefusalsCostOneRead(t *testing.T) {
	f := newFixture(t)
	expired, _ := f.token(f.clock.Add(-time.Second))
	revoked, token := f.token(time.Time{})
	if err := f.store.RevokeToken(context.Background(), f.org.ID, token.UID, f.clock); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"tm_unknown", expired, revoked} {
		for range 2 {
			before := f.reads.Load()
			f.wantRefused("Bearer "+secret, api.ErrorCodeTokenInvalid)
			if n := f.reads.Load() - before; n != 1 {
				t.Errorf("a refusal cost %d reads", n)
			}
		}
	}
}

func TestARevokedTokenIsVoidWithinASecond(t *testing.T) {
	f := newFixture(t)
	secret, token := f.token(time.Time{})
	if _, err := f.ask("Bearer " + secret); err != nil {
		t.Fatal(err)
	}
	if err := f.store.RevokeToken(context.Background(), f.org.ID, token.UID, f.clock); err != nil {
		t.Fatal(err)
	}
	f.clock = f.clock.Add(FoundFor)
	f.wantRefused("Bearer "+secret, api.ErrorCodeTokenInvalid)
	if FoundFor >= time.Second {
		t.Errorf("a found token is believed for %s", FoundFor)
	}
}

func TestAnExpiredTokenIsVoidAtOnce(t *testing.T) {
	f := newFixture(t)
	secret, _ := f.token(f.clock.Add(FoundFor / 2))
	if _, err := f.ask("Bearer " + secret); err != nil {
		t.Fatal(err)
	}
	f.clock = f.clock.Add(FoundFor / 2)
	f.wantRefused("Bearer "+secret, api.ErrorCodeTokenInvalid)
}

func TestABusyTokenIsFoundOnce(t *testing.T) {
	f := newFixture(t)
	secret, _ := f.token(time.Time{})
	for range 100 {
		if _, err := f.ask("Bearer " + secret); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.reads.Load(); n != 1 {
		t.Errorf("100 requests cost %d reads", n)
	}
}

// A database that is away is no reason to call a token invalid: clients would
// stop for good.
func TestAFaultOfTheStoreIsNotARefusal(t *testing.T) {
	f := newFixture(t)
	secret, _ := f.token(time.Time{})
	f.fault = store.ErrBusy
	_, err := f.ask("Bearer " + secret)
	if _, refused := api.AsError(err); refused || !errors.Is(err, store.ErrBusy) {
		t.Errorf("the error is %v", err)
	}
}

func TestFoundTokensAreBounded(t *testing.T) {
	found := newFoundTokens()
	now := time.Now()
	for i := range 3 * maxFound {
		found.put([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, &store.Token{}, now, 0)
		if len(found.byHash) > maxFound {
			t.Fatalf("%d tokens are remembered", len(found.byHash))
		}
	}
}

func TestLastUseIsNotedOnceAMinute(t *testing.T) {
	f := newFixture(t)
	secret, _ := f.token(time.Time{})
	start := f.clock
	for f.clock.Sub(start) < 3*noteEvery {
		if _, err := f.ask("Bearer " + secret); err != nil {
			t.Fatal(err)
		}
		if f.clock.Sub(start)%noteEvery == 0 {
			select {
			case at := <-f.touched:
				if at != f.clock {
					t.Errorf("the use at %s was noted as %s", f.clock, at)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("the use at %s was not noted", f.clock)
			}
		}
		f.clock = f.clock.Add(FoundFor)
	}
	f.auth.Close()
	f.auth = nil
	if n := len(f.touched); n > 0 {
		t.Errorf("%d uses more were noted", n)
	}
}

// Close writes what was noted before it.
func TestCloseWritesWhatWasNoted(t *testing.T) {
	f := newFixture(t)
	for range 50 {
		secret, _ := f.token(time.Time{})
		if _, err := f.ask("Bearer " + secret); err != nil {
			t.Fatal(err)
		}
	}
	f.auth.Close()
	f.auth = nil
	if n := len(f.touched); n != 50 {
		t.Errorf("%d of 50 uses were noted", n)
	}
}

func TestTokensAreRandomAndKnowable(t *testing.T) {
	now := time.Now()
	seen := map[string]bool{}
	for range 1000 {
		secret, token := NewToken(1, "dana", api.Viewer, now, time.Time{})
		random := strings.TrimPrefix(secret, SecretPrefix)
		if random == secret || len(random)*5 < 160 || seen[secret] || seen[token.UID] {
			t.Fatalf("the token %s, %s", secret, token.UID)
		}
		if !strings.HasPrefix(secret, token.Prefix) || len(secret)-len(token.Prefix) < 32 {
			t.Fatalf("%q is shown of %q", token.Prefix, secret)
		}
		if strings.Contains(fmt.Sprintf("%+v", token), secret) {
			t.Fatal("the stored token holds the secret")
		}
		seen[secret], seen[token.UID] = true, true
	}
}

func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"dana": true, "Zoë Müller": true, "ci-bot@acme": true, "甲": true,
		"": false, " dana": false, "da\nna": false, "\x1b[31m": false, "da\u202ena": false, "\xff": false, strings.Repeat("x", 129): false,
	} {
		if err := CheckName("name", name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
