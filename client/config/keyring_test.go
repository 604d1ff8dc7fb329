package config

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

// withKeyring are the paths of a process, on a keyring in memory that all of a test's
// processes share.
func withKeyring(t *testing.T, dir string) Paths {
	t.Helper()
	p, err := env(dir, "TEAMMEM_CONFIG_DIR", filepath.Join(dir, "config")).Paths()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func grantOf(tail string) Grant {
	return Grant{Issuer: "https://login.example", ClientID: "teammem", Kind: "access", Token: "eyJ" + tail, Refresh: "refresh" + tail, TokenURL: "https://login.example/token", Issued: time.Unix(1e9, 0).UTC()}
}

// TestTheKeyringHoldsTheSecrets: the file only says where they are, and another
// process finds them.
func TestTheKeyringHoldsTheSecrets(t *testing.T) {
	keyring.MockInit()
	dir := t.TempDir()
	one, two := withKeyring(t, dir), withKeyring(t, dir)
	if err := one.SaveGrant(acme, grantOf("first")); err != nil {
		t.Fatal(err)
	}
	if content, _, err := readSmall(filepath.Join(one.Config, credentialsName)); err != nil || strings.Contains(string(content), "first") {
		t.Errorf("the file holds %s, %v", content, err)
	}
	if g, ok, err := two.Grant(acme); err != nil || !ok || g != grantOf("first") {
		t.Errorf("%v, %v, %v", g, ok, err)
	}
	// A sign-in of one process holds for another that has read the one before.
	if err := one.SaveGrant(acme, grantOf("second")); err != nil {
		t.Fatal(err)
	}
	if g, ok, err := two.Grant(acme); err != nil || !ok || g.Token != "eyJsecond" {
		t.Errorf("after a new sign-in: %v, %v, %v", g.Token, ok, err)
	}
	if err := two.RemoveToken(acme); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := one.Grant(acme); ok || err != nil {
		t.Errorf("after signing out: %v, %v", ok, err)
	}
	if _, err := keyring.Get(keyringService, acme); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring still has it: %v", err)
	}
}

// TestWithoutAKeyring the file has the secrets, whatever is wrong with it.
func TestWithoutAKeyring(t *testing.T) {
	keyring.MockInitWithError(errors.New("there is no session bus"))
	t.Cleanup(keyring.MockInit)
	p := withKeyring(t, t.TempDir())
	if err := p.SaveToken(acme, "tm_one"); err != nil {
		t.Fatal(err)
	}
	if token, ok, err := p.Token(acme); token != "tm_one" || !ok || err != nil {
		t.Errorf("%q, %v, %v", token, ok, err)
	}
}

// slowKeyring takes its time, and can be locked.
type slowKeyring struct {
	Keyring
	asked  atomic.Int32
	locked atomic.Bool
}

func (k *slowKeyring) Get(name string) (string, error) {
	k.asked.Add(1)
	if k.locked.Load() {
		return "", errKeyringSlow
	}
	return k.Keyring.Get(name)
}

// TestAKeyringIsAskedOnceAChange, however many requests are made, and one that is
// locked meanwhile stops nothing.
func TestAKeyringIsAskedOnceAChange(t *testing.T) {
	keyring.MockInit()
	dir := t.TempDir()
	login, daemon := withKeyring(t, dir), withKeyring(t, dir)
	slow := &slowKeyring{Keyring: systemKeyring{}}
	daemon.Keyring = newKnownKeyring(slow)
	for n, tail := range []string{"first", "second"} {
		slow.locked.Store(false)
		if err := login.SaveGrant(acme, grantOf(tail)); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if g, ok, err := daemon.Grant(acme); err != nil || !ok || g.Token != "eyJ"+tail {
				t.Fatalf("%v, %v, %v", g.Token, ok, err)
			}
			slow.locked.Store(true)
		}
		if asked := slow.asked.Load(); asked != int32(n)+1 {
			t.Errorf("the keyring was asked %d times for %d sign-ins", asked, n+1)
		}
	}
	// The entry of a client that wrote no mark is asked for each time.
	slow.locked.Store(false)
	before := slow.asked.Load()
	if err := login.changeCredentials(func(c *credentials) { c.Tokens[acme] = savedToken{Keyring: true} }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, ok, err := daemon.Grant(acme); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if asked := slow.asked.Load() - before; asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// BenchmarkCredential is what looking the token up costs each request.
func BenchmarkCredential(b *testing.B) {
	keyring.MockInit()
	p, err := env("", "TEAMMEM_CONFIG_DIR", b.TempDir()).Paths()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.SaveGrant(acme, grantOf("one")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok, err := p.Grant(acme); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}
