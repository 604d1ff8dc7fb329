package provider

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestGoodTokens: what other providers write otherwise and mean the same.
func TestGoodTokens(t *testing.T) {
	f := newFixture(t, "", nil)
	for what, with := range map[string]m{
		"as it is":                     nil,
		"a list of one":                {"aud": []string{ours}, "azp": nil},
		"no party":                     {"azp": nil},
		"several, made for us":         {"aud": []string{ours, "other"}},
		"for the pages' client":        {"aud": web, "azp": web},
		"a time with a fraction":       {"exp": float64(f.now.Unix()) + 200.5},
		"ended within the leeway":      {"iat": f.now.Add(-time.Hour).Unix(), "exp": f.now.Add(-Leeway + 2*time.Second).Unix()},
		"issued within the leeway":     {"iat": f.now.Add(Leeway - 2*time.Second).Unix()},
		"as Keycloak says":             {"typ": "Bearer"},
		"a subject of another script":  {"sub": "sub-dana"},
		"groups as one text":           {"groups": "engineering"},
		"verified as a word":           {"email_verified": "true"},
		"the address in other letters": {"email": "DANA@Acme.Example"},
	} {
		claims := f.wantTaken(what, f.sign(f.claims(with), nil))
		if claims.Email != "dana@acme.example" || !claims.Verified || strings.Join(claims.Groups, " ") != "engineering" || claims.Name != "dana" {
			t.Errorf("%s: %+v", what, claims)
		}
	}
	for _, typ := range []any{nil, "JWT", "jwt", "application/at+jwt"} {
		f.wantTaken("another header", f.sign(f.claims(nil), m{"typ": typ}))
	}
}

// TestKindsAreNotInterchangeable: where ID tokens are taken access tokens are not.
func TestKindsAreNotInterchangeable(t *testing.T) {
	f := newFixture(t, "", func(cfg *Config) { cfg.Bearer = ID })
	jwt := m{"typ": "JWT"}
	f.wantTaken("an ID token", f.sign(f.claims(m{"nonce": "n", "at_hash": "h"}), jwt))
	f.wantTaken("an ID token of Keycloak", f.sign(f.claims(m{"typ": "ID"}), jwt))
	for what, token := range map[string]string{
		"by its header":     f.sign(f.claims(nil), nil),
		"by its scope":      f.sign(f.claims(m{"scope": "openid"}), jwt),
		"by its client":     f.sign(f.claims(m{"client_id": ours}), jwt),
		"by its inner type": f.sign(f.claims(m{"typ": "Bearer"}), jwt),
		"by its use":        f.sign(f.claims(m{"token_use": "access"}), jwt),
	} {
		f.wantRefused("an access token "+what, token, "type")
	}
	f.wantRefused("an ID token for an API", f.sign(f.claims(m{"aud": "api://teammem"}), jwt), "audience")
}

func TestClaimsByOtherNames(t *testing.T) {
	f := newFixture(t, "", func(cfg *Config) { cfg.NameClaim, cfg.GroupsClaim = "nick", "realm_access.roles" })
	claims := f.wantTaken("nested", f.sign(f.claims(m{"nick": "dee", "realm_access": m{"roles": []string{"b", "a", "b", "x\ny", ""}}}), nil))
	if claims.Name != "dee" || strings.Join(claims.Groups, " ") != "a b" {
		t.Errorf("%+v", claims)
	}
}

// TestSlashOfTheIssuer: issuers that differ by a slash are two, and who mixes them
// up is shown both.
func TestSlashOfTheIssuer(t *testing.T) {
	for _, path := range []string{"", "/", "/realms/acme", "/realms/acme/"} {
		f := newFixture(t, path, nil)
		f.wantTaken("path "+path, f.sign(f.claims(nil), nil))
		other := f.box.Issuer + "/"
		if strings.HasSuffix(path, "/") {
			other = strings.TrimSuffix(f.box.Issuer, "/")
		}
		wrong, err := New(slog.New(slog.DiscardHandler), []Config{{Issuer: other, ClientID: ours}}, nil, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		_, err = wrong.Bearer(context.Background(), f.sign(f.claims(nil), nil))
		if err == nil || !strings.Contains(err.Error(), `"`+other+`"`) || !strings.Contains(err.Error(), `"`+f.box.Issuer+`"`) {
			t.Errorf("configured %s, token of %s: %v", other, f.box.Issuer, err)
		}
		_, err = wrong.all[0].discover(context.Background())
		if err == nil || !strings.Contains(err.Error(), `"`+other+`"`) || !strings.Contains(err.Error(), `"`+f.box.Issuer+`"`) {
			t.Errorf("configured %s, provider %s: %v", other, f.box.Issuer, err)
		}
	}
}

func TestRotatedKeys(t *testing.T) {
	f := newFixture(t, "", nil)
	f.wantTaken("the first key", f.sign(f.claims(nil), nil))
	old := f.sign(f.claims(m{"jti": "old"}), nil)
	f.box.Rotate()
	f.wantTaken("the second key", f.sign(f.claims(nil), nil))
	f.wantTaken("the first key, still published", old)
	id, _ := f.box.PrivateKey()
	f.box.RotateAs(id)
	f.wantTaken("another key under the same id", f.sign(f.claims(m{"jti": "reused"}), nil))
	if n := f.box.Asked("/keys"); n != 3 {
		t.Errorf("the keys were asked for %d times", n)
	}
}

// TestFloodOfUnknownKeys: a thousand strange keys make one question, and what is
// signed with a known key is taken all the while.
func TestFloodOfUnknownKeys(t *testing.T) {
	f := newFixture(t, "", nil)
	f.wantTaken("before", f.sign(f.claims(nil), nil))
	began := time.Now()
	var crowd sync.WaitGroup
	for i := range 1000 {
		token := f.sign(f.claims(nil), m{"kid": "strange-" + strings.Repeat("x", i%50)})
		crowd.Go(func() { f.wantRefused("a strange key", token, "signature") })
	}
	f.wantTaken("meanwhile", f.sign(f.claims(m{"jti": "meanwhile"}), nil))
	crowd.Wait()
	allowed := 1 + int(time.Since(began)/refetchEvery) + 1
	if n := f.box.Asked("/keys"); n > allowed {
		t.Errorf("the keys were asked for %d times in %s", n, time.Since(began))
	}
}

// TestProviderDown: what is known goes on, what cannot be known is a fault that
// passes, and when the provider is back so is everything.
func TestProviderDown(t *testing.T) {
	f := newFixture(t, "", nil)
	f.set.all[0].keys.every = 10 * time.Millisecond
	f.box.Stop()
	token := f.sign(f.claims(nil), nil)
	_, err := f.bearer(token)
	var away *Unavailable
	if !errors.As(err, &away) || !strings.Contains(err.Error(), f.box.Issuer) {
		t.Errorf("before it was ever up: %v", err)
	}
	if err := f.box.Resume(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, err = f.bearer(token); err == nil || time.Now().After(deadline) {
			break
		}
	}
	f.wantTaken("when it is up", token)
	f.box.Stop()
	f.wantTaken("a new token, while it is down", f.sign(f.claims(m{"jti": "2"}), nil))
	old := f.sign(f.claims(m{"jti": "3"}), nil)
	f.box.Rotate()
	if _, err := f.bearer(f.sign(f.claims(nil), nil)); !errors.As(err, &away) {
		t.Errorf("a key that may be new: %v", err)
	}
	f.wantTaken("the good keys stay", old)
}

func TestClocksThatDiffer(t *testing.T) {
	f := newFixture(t, "", nil)
	now := f.now
	for ahead, reason := range map[time.Duration]string{
		30 * time.Second: "", 2 * time.Minute: "clock", 3 * time.Hour: "clock", 50 * time.Hour: "clock",
		-5 * time.Minute: "", -7 * time.Minute: "expired", -50 * time.Hour: "expired",
	} {
		f.now = now
		token := f.sign(f.claims(m{"jti": ahead.String()}), nil) // ends in five minutes
		f.now = now.Add(-ahead)
		if reason == "" {
			f.wantTaken("clock "+ahead.String(), token)
			continue
		}
		r := f.wantRefused("clock "+ahead.String(), token, reason)
		if want := ahead; reason == "clock" && !strings.Contains(r.Text, want.String()) || !strings.Contains(r.Text, "check the clock") {
			t.Errorf("clock %s: %s", ahead, r.Text)
		}
	}
}

func TestAVerifiedTokenIsKnownByItsHash(t *testing.T) {
	f := newFixture(t, "", nil)
	token := f.sign(f.claims(nil), nil)
	f.wantTaken("first", token)
	f.box.Stop()
	for range 100 {
		f.wantTaken("again", token)
	}
	f.now = f.now.Add(5*time.Minute + Leeway + time.Second)
	f.wantRefused("at its end", token, "expired")
	for i := range 2 * maxVerified {
		f.set.verified[[32]byte{byte(i), byte(i >> 8)}] = Claims{}
		f.set.makeRoom(f.now)
	}
	if len(f.set.verified) > maxVerified {
		t.Errorf("%d tokens are remembered", len(f.set.verified))
	}
}

func TestConfigurationsThatCannotBeMeant(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "no issuer"},
		{Config{Issuer: "acme"}, "not an address"},
		{Config{Issuer: "http://login.acme.example", ClientID: "x"}, "want https://"},
		{Config{Issuer: "https://login.acme.example?x", ClientID: "x"}, "not an address"},
		{Config{Issuer: "https://login.acme.example"}, "no client id"},
		{Config{Issuer: "https://login.acme.example", ClientID: "x", Bearer: "both"}, "want access or id"},
	} {
		if _, err := New(slog.New(slog.DiscardHandler), []Config{c.cfg}, nil, time.Now); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q", c.cfg, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(byHand(`{"alg":"RS256"}`, `{"iss":"https://a","aud":["x"],"exp":1}`, []byte("x")))
	f.Add("eyJ.eyJ.x")
	cfg := Config{Issuer: "https://a", ClientID: "x"}
	if err := cfg.Check(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		parsed, err := parse(token)
		if err != nil {
			return
		}
		_ = parsed.check(&cfg, Access, time.Now())
		var c Claims
		cfg.describe(&c, parsed.claims)
	})
}
