package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// Leeway is how far clocks may differ.
	Leeway = time.Minute
	// maxToken is far above what providers make: the largest seen, with some
	// hundred groups, have 12 KB.
	maxToken = 24 << 10
	// maxHeader bounds the first part; real ones have about a hundred bytes.
	maxHeader = 2 << 10
	// maxAudiences bounds the list that is looked through.
	maxAudiences = 32
	// maxSubject is what OpenID Connect Core, section 2, allows.
	maxSubject = 255
	// maxKeyID is in bytes; real ones have up to 90.
	maxKeyID = 256
)

// algorithms are those that tokens may be signed with: no none, and no HMAC, whose
// key a confused server takes for a public one.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// header is the first part of a token, as far as it matters.
type header struct{ algorithm, keyID, kind string }

// unverified is a token taken apart; nothing it says is to be believed yet.
type unverified struct {
	raw    string
	header header
	issuer string
	claims members
}

// parse takes a token apart and refuses what no provider makes.
func parse(raw string) (*unverified, error) {
	if len(raw) > maxToken {
		return nil, refusef("size", "the token is longer than %d bytes", maxToken)
	}
	parts := strings.Split(raw, ".")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" || len(parts[0]) > maxHeader {
		return nil, refusef("form", "the token is not a signed one in three parts")
	}
	t := &unverified{raw: raw}
	head, err := object(parts[0])
	if err != nil {
		return nil, refusef("form", "the token's header cannot be read")
	}
	if t.header, err = readHeader(head); err != nil {
		return nil, err
	}
	if t.claims, err = object(parts[1]); err != nil {
		return nil, refusef("form", "the token's claims cannot be read")
	}
	if t.issuer, err = t.claims.text("iss"); err != nil || t.issuer == "" {
		return nil, refusef("issuer", "the token names no issuer")
	}
	return t, nil
}

// readHeader takes names as they are spelled: to a reader that does not mind case
// there might be two of one.
func readHeader(names members) (h header, err error) {
	for name, into := range map[string]*string{"alg": &h.algorithm, "kid": &h.keyID, "typ": &h.kind} {
		if *into, err = names.text(name); err != nil {
			return h, err
		}
	}
	switch {
	case !slices.Contains(algorithms, h.algorithm):
		return h, refusef("algorithm", "the token's algorithm is not one of those taken: %s", strings.Join(algorithms, ", "))
	case names.has("jwk", "jku", "x5c", "x5u"):
		return h, refusef("key", "the token brings a key of its own")
	case names.has("crit", "zip", "enc", "b64"):
		return h, refusef("form", "the token's header asks for what is not known here")
	case len(h.keyID) > maxKeyID:
		return h, refusef("key", "the token's key id is longer than %d bytes", maxKeyID)
	}
	return h, nil
}

// members are a JSON object's, by their names.
type members map[string]json.RawMessage

// object decodes a part that is one JSON object without names that come twice: of
// two, one reader takes the first and another the last.
func object(part string) (members, error) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, errNoObject
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errNoObject
	}
	names := members{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errNoObject
		}
		if _, twice := names[name]; twice {
			return nil, errNoObject
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		names[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errNoObject
	}
	return names, nil
}

var errNoObject = refusef("form", "it is not one JSON object")

// text is a claim that is a string; empty when it is not there.
func (m members) text(name string) (string, error) {
	raw, ok := m[name]
	if !ok {
		return "", nil
	}
	var s string
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, &s) != nil {
		return "", refusef("form", "the token's %s is not a string", name)
	}
	return s, nil
}

// instant is a claim that is a time: seconds since 1970, perhaps with a fraction.
func (m members) instant(name string) (at time.Time, ok bool, err error) {
	raw, ok := m[name]
	if !ok {
		return time.Time{}, false, nil
	}
	var seconds float64
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, &seconds) != nil || math.IsNaN(seconds) || seconds < 0 || seconds > 253402300799 {
		return time.Time{}, false, refusef("form", "the token's %s is not a time", name)
	}
	return time.Unix(int64(seconds), 0), true, nil
}

// strings is a claim that is a string or a list of them.
func (m members) strings(name string) ([]string, error) {
	raw, ok := m[name]
	if !ok {
		return nil, nil
	}
	var one string
	if !bytes.Equal(raw, []byte("null")) && json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var several []*string
	if json.Unmarshal(raw, &several) != nil {
		return nil, refusef("form", "the token's %s is neither a string nor a list of strings", name)
	}
	list := make([]string, 0, len(several))
	for _, s := range several {
		if s == nil {
			return nil, refusef("form", "the token's %s holds what is no string", name)
		}
		list = append(list, *s)
	}
	return list, nil
}

func (m members) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := m[name]; return ok })
}

// check holds all that can be said without a key.
func (t *unverified) check(cfg *Config, kind Kind, now time.Time) error {
	for _, check := range []func() error{
		func() error { return t.checkType(kind) },
		func() error { return t.checkAudience(cfg, kind) },
		func() error { return t.checkTimes(now) },
		t.checkSubject,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkType tells the kinds apart by what each never has. Headers tell
// where a provider follows RFC 9068; most do not.
func (t *unverified) checkType(kind Kind) error {
	typ := strings.TrimPrefix(strings.ToLower(t.header.kind), "application/")
	inner, err := t.claims.text("typ") // as Keycloak writes it
	if err != nil {
		return err
	}
	use, err := t.claims.text("token_use") // as Cognito does
	if err != nil {
		return err
	}
	wrong := t.claims.has("events") // a notice of sign-out
	if kind == Access {
		wrong = wrong || typ != "" && typ != "jwt" && typ != "at+jwt" || inner != "" && inner != "Bearer" || use != "" && use != "access" ||
			t.claims.has("nonce", "at_hash", "c_hash", "s_hash")
	} else {
		wrong = wrong || typ != "" && typ != "jwt" || inner != "" && inner != "ID" || use != "" && use != "id" ||
			t.claims.has("scope", "scp") ||
			// Some ID tokens name the client as access tokens do; those say when
			// or for what they were made as well, which no access token does.
			t.claims.has("client_id", "cid", "appid") && !t.claims.has("nonce", "at_hash", "auth_time")
	}
	if wrong {
		return refusef("type", "the token is not what is asked for: an %s token", kind)
	}
	return nil
}

// checkAudience: the token is for us, and where it says who it was made for, that
// is a client of ours too. Of several audiences it has to say.
func (t *unverified) checkAudience(cfg *Config, kind Kind) error {
	audiences, err := t.claims.strings("aud")
	if err != nil {
		return err
	}
	if len(audiences) == 0 || len(audiences) > maxAudiences {
		return refusef("audience", "the token names no audience, or too many")
	}
	ours := cfg.Audiences
	if kind == ID {
		ours = cfg.clients()
	}
	if !slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(ours, a) }) {
		return refusef("audience", "the token is for another audience: want %s", strings.Join(slices.Compact(slices.Clone(ours)), " or "))
	}
	party, err := t.claims.text("azp")
	if err != nil {
		return err
	}
	client, err := t.claims.text("client_id")
	if err != nil {
		return err
	}
	several := slices.ContainsFunc(audiences, func(a string) bool { return a != audiences[0] })
	for _, who := range []struct {
		id   string
		must bool
	}{{party, several || t.claims.has("azp")}, {client, t.claims.has("client_id")}} {
		if who.must && !slices.Contains(cfg.clients(), who.id) {
			return refusef("party", "the token is for several audiences or another client, and does not say that it was made for one of ours (azp)")
		}
	}
	return nil
}

func (t *unverified) checkTimes(now time.Time) error {
	expires, ok, err := t.claims.instant("exp")
	if err != nil {
		return err
	}
	if !ok {
		return refusef("expired", "the token does not say when it ends")
	}
	issued, ok, err := t.claims.instant("iat")
	if err != nil {
		return err
	}
	if !ok {
		return refusef("form", "the token does not say when it was issued")
	}
	from, _, err := t.claims.instant("nbf")
	if err != nil {
		return err
	}
	for _, begin := range []time.Time{issued, from} {
		if ahead := begin.Sub(now); ahead > Leeway {
			return refusef("clock", "the token is of a time to come: check the clock, which differs from the provider's by %s or more", round(ahead))
		}
	}
	if late := now.Sub(expires); late > Leeway {
		return refusef("expired", "the token ended %s ago by this server's clock: sign in anew, and if it is newer than that, check the clock", round(late))
	}
	if expires.Before(issued) {
		return refusef("expired", "the token ends before it begins")
	}
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }

func (t *unverified) checkSubject() error {
	subject, err := t.claims.text("sub")
	if err != nil {
		return err
	}
	if subject == "" || len(subject) > maxSubject || strings.ContainsFunc(subject, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return refusef("subject", "the token does not say whose it is")
	}
	return nil
}
