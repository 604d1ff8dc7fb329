package provider

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

type m = map[string]any

// forgery is one row of the table.
type forgery struct {
	what, token, reason string
}

// byHand puts a token together from parts that no library would sign.
func byHand(header, claims string, signature []byte) string {
	enc := base64.RawURLEncoding
	return enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString([]byte(claims)) + "." + enc.EncodeToString(signature)
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// TestForgedTokens: none is taken, and of all of them only those that a key had to
// judge made the provider be asked.
func TestForgedTokens(t *testing.T) {
	f := newFixture(t, "/realms/acme", nil)
	f.set.all[0].keys.every = 50 * time.Millisecond
	good := f.sign(f.claims(nil), nil)
	f.wantTaken("the token that the others are made from", good)
	rows := append(f.formRows(good), f.algorithmRows(good)...)
	rows = append(append(rows, f.audienceRows()...), f.claimRows()...)
	asked := f.box.Asked("/keys")
	for _, row := range rows {
		f.wantRefused(row.what, row.token, row.reason)
	}
	judged := 0
	for _, row := range rows {
		if row.reason == "signature" {
			judged++
		}
	}
	if n := f.box.Asked("/keys") - asked; n > judged {
		t.Errorf("%d forged tokens, of which %d needed a key, made the provider be asked %d times", len(rows), judged, n)
	}
	if n := f.box.Asked("/userinfo"); n != 0 {
		t.Errorf("forged tokens were shown to the provider %d times", n)
	}
	if len(rows) < 60 {
		t.Errorf("the table has %d rows", len(rows))
	}
	t.Logf("%d forged tokens, %d that needed a key, %d questions", len(rows), judged, f.box.Asked("/keys")-asked)
}

func (f *fixture) formRows(good string) []forgery {
	parts := strings.Split(good, ".")
	head, claims := jsonOf(m{"alg": "RS256", "typ": "at+jwt"}), jsonOf(f.claims(nil))
	return []forgery{
		{"empty", "", "form"},
		{"one part", parts[0], "form"},
		{"two parts", parts[0] + "." + parts[1], "form"},
		{"no signature", parts[0] + "." + parts[1] + ".", "form"},
		{"four parts", good + ".x", "form"},
		{"five parts, as encrypted ones have", good + ".x.y", "form"},
		{"JSON serialization", `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "form"},
		{"a header that is no base64", "e30=." + parts[1] + "." + parts[2], "form"},
		{"a header that is a list", byHand("[]", claims, []byte("x")), "form"},
		{"a header with a name twice", byHand(`{"alg":"none","alg":"RS256"}`, claims, []byte("x")), "form"},
		{"claims that are no JSON", byHand(head, "{", []byte("x")), "form"},
		{"claims with text behind", byHand(head, claims+"{}", []byte("x")), "form"},
		{"claims with a name twice", byHand(head, strings.Replace(claims, "{", `{"sub":"root",`, 1), []byte("x")), "form"},
		{"claims that are no UTF-8", byHand(head, "{\"iss\":\"\xff\"}", []byte("x")), "form"},
		{"too large", f.sign(f.claims(m{"fill": strings.Repeat("x", maxToken)}), nil), "size"},
		{"a header too large", f.sign(f.claims(nil), m{"fill": strings.Repeat("x", maxHeader)}), "form"},
		{"another's signature", parts[0] + "." + parts[1] + "." + strings.Split(f.sign(f.claims(m{"sub": "sub-lee"}), nil), ".")[2], "signature"},
		{"changed claims", parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(jsonOf(f.claims(m{"sub": "sub-lee"})))) + "." + parts[2], "signature"},
		{"a critical header", f.sign(f.claims(nil), m{"crit": []string{"exp"}, "exp": 1}), "form"},
		{"a compressed one", f.sign(f.claims(nil), m{"zip": "DEF"}), "form"},
		{"an encrypted one", f.sign(f.claims(nil), m{"enc": "A128GCM"}), "form"},
	}
}

func (f *fixture) algorithmRows(good string) []forgery {
	id, key := f.box.PrivateKey()
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		f.t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	other, _ := rsa.GenerateKey(rand.Reader, 2048)
	curve, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edwards, _ := ed25519.GenerateKey(rand.Reader)
	claims := f.claims(nil)
	body := strings.Split(good, ".")[1]
	none := func(alg string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(jsonOf(m{"alg": alg, "kid": id}))) + "." + body + "."
	}
	kid := m{"kid": id}
	return []forgery{
		{"none", none("none") + "eA", "algorithm"},
		{"None", none("None") + "eA", "algorithm"},
		{"nOnE", none("nOnE") + "eA", "algorithm"},
		{"none without a signature", none("none"), "form"},
		{"an empty algorithm", none("") + "eA", "algorithm"},
		{"no algorithm", byHand(jsonOf(kid), jsonOf(claims), []byte("x")), "algorithm"},
		{"an algorithm that is a list", byHand(`{"alg":["RS256"]}`, jsonOf(claims), []byte("x")), "form"},
		{"rs256", byHand(`{"alg":"rs256"}`, jsonOf(claims), []byte("x")), "algorithm"},
		{"HS256 with the public key in PEM", sign(f.t, jose.HS256, asPEM, claims, kid), "algorithm"},
		{"HS256 with the public key in DER", sign(f.t, jose.HS256, der, claims, kid), "algorithm"},
		{"HS256 with the modulus", sign(f.t, jose.HS256, key.N.Bytes(), claims, kid), "algorithm"},
		{"HS384", sign(f.t, jose.HS384, append(asPEM, asPEM...), claims, kid), "algorithm"},
		{"HS512", sign(f.t, jose.HS512, append(asPEM, asPEM...), claims, kid), "algorithm"},
		{"PS256 under a key for RS256", sign(f.t, jose.PS256, key, claims, kid), "signature"},
		{"RS512 under a key for RS256", sign(f.t, jose.RS512, key, claims, kid), "signature"},
		{"a stranger's key with the provider's id", sign(f.t, jose.RS256, other, claims, kid), "signature"},
		{"a stranger's key with an id of its own", sign(f.t, jose.RS256, other, claims, m{"kid": "stranger"}), "signature"},
		{"a stranger's key without an id", sign(f.t, jose.RS256, other, claims, nil), "signature"},
		{"an elliptic key with the provider's id", sign(f.t, jose.ES256, curve, claims, kid), "signature"},
		{"an Edwards key with the provider's id", sign(f.t, jose.EdDSA, edwards, claims, kid), "signature"},
		{"a key id that is a path", sign(f.t, jose.RS256, other, claims, m{"kid": "../../dev/null"}), "signature"},
		{"a key id that is SQL", sign(f.t, jose.RS256, other, claims, m{"kid": "x' UNION SELECT 'y"}), "signature"},
		{"a key id too long", sign(f.t, jose.RS256, other, claims, m{"kid": strings.Repeat("k", maxKeyID+1)}), "key"},
		{"a key id that is a number", byHand(`{"alg":"RS256","kid":7}`, jsonOf(claims), []byte("x")), "form"},
		{"a key of its own", sign(f.t, jose.RS256, other, claims, m{"jwk": jose.JSONWebKey{Key: &other.PublicKey}}), "key"},
		{"keys at an address of its own", sign(f.t, jose.RS256, other, claims, m{"kid": id, "jku": "https://evil.example/keys"}), "key"},
		{"a certificate of its own", sign(f.t, jose.RS256, other, claims, m{"kid": id, "x5c": []string{"MA=="}}), "key"},
		{"a certificate at an address", sign(f.t, jose.RS256, other, claims, m{"kid": id, "x5u": "https://evil.example/cert"}), "key"},
	}
}

func (f *fixture) audienceRows() []forgery {
	token := func(with m) string { return f.sign(f.claims(with), nil) }
	return []forgery{
		{"no audience", token(m{"aud": nil}), "audience"},
		{"an empty audience", token(m{"aud": ""}), "audience"},
		{"an empty list", token(m{"aud": []string{}}), "audience"},
		{"another's", token(m{"aud": "other"}), "audience"},
		{"a list of another's", token(m{"aud": []string{"other"}}), "audience"},
		{"ours with a letter more", token(m{"aud": ours + "x"}), "audience"},
		{"ours in capitals", token(m{"aud": strings.ToUpper(ours)}), "audience"},
		{"ours with a space", token(m{"aud": ours + " "}), "audience"},
		{"ours within a text", token(m{"aud": "other " + ours}), "audience"},
		{"a number", token(m{"aud": 7}), "form"},
		{"a list with a number", token(m{"aud": []any{ours, 7}}), "form"},
		{"a list with null", token(m{"aud": []any{ours, nil}}), "form"},
		{"an object", token(m{"aud": m{"0": ours}}), "form"},
		{"a list without end", token(m{"aud": strings.Split(strings.Repeat(ours+",", maxAudiences+1), ",")}), "audience"},
		{"several, made for another", token(m{"aud": []string{ours, "other"}, "azp": "other"}), "party"},
		{"several, made for nobody named", token(m{"aud": []string{ours, "other"}, "azp": nil}), "party"},
		{"several, made for an empty name", token(m{"aud": []string{ours, "other"}, "azp": ""}), "party"},
		{"ours, made for another", token(m{"azp": "other"}), "party"},
		{"ours, of another client", token(m{"client_id": "other"}), "party"},
		{"made for a list", token(m{"azp": []string{ours}}), "form"},
	}
}

func (f *fixture) claimRows() []forgery {
	token := func(with m) string { return f.sign(f.claims(with), nil) }
	at := func(d time.Duration) int64 { return f.now.Add(d).Unix() }
	return []forgery{
		{"no issuer", token(m{"iss": nil}), "issuer"},
		{"a stranger", token(m{"iss": "https://evil.example"}), "issuer"},
		{"the issuer with a slash", token(m{"iss": f.box.Issuer + "/"}), "issuer"},
		{"the issuer in capitals", token(m{"iss": strings.ToUpper(f.box.Issuer)}), "issuer"},
		{"the issuer without its path", token(m{"iss": strings.TrimSuffix(f.box.Issuer, "/realms/acme")}), "issuer"},
		{"the issuer of another realm", token(m{"iss": f.box.Issuer + "2"}), "issuer"},
		{"a list of issuers", token(m{"iss": []string{f.box.Issuer}}), "issuer"},
		{"ended two minutes ago", token(m{"exp": at(-2 * time.Minute)}), "expired"},
		{"ended 61 seconds ago", token(m{"exp": at(-Leeway - 2*time.Second)}), "expired"},
		{"ended days ago", token(m{"iat": at(-72 * time.Hour), "exp": at(-48 * time.Hour)}), "expired"},
		{"without end", token(m{"exp": nil}), "expired"},
		{"an end that is a text", token(m{"exp": "9999999999"}), "form"},
		{"an end below zero", token(m{"exp": -1}), "form"},
		{"an end beyond all calendars", token(m{"exp": 1e300}), "form"},
		{"an end that is null", byHand(`{"alg":"RS256"}`, `{"iss":"`+f.box.Issuer+`","aud":"teammem","sub":"x","exp":null}`, []byte("x")), "form"},
		{"ends before it begins", token(m{"iat": at(30 * time.Second), "exp": at(10 * time.Second)}), "expired"},
		{"issued in two minutes", token(m{"iat": at(2 * time.Minute)}), "clock"},
		{"issued in days", token(m{"iat": at(48 * time.Hour), "exp": at(72 * time.Hour)}), "clock"},
		{"issued never", token(m{"iat": nil}), "form"},
		{"not before two minutes", token(m{"nbf": at(2 * time.Minute)}), "clock"},
		{"not before a text", token(m{"nbf": "soon"}), "form"},
		{"nobody's", token(m{"sub": nil}), "subject"},
		{"an empty subject", token(m{"sub": ""}), "subject"},
		{"a subject that is a number", token(m{"sub": 7}), "form"},
		{"a subject too long", token(m{"sub": strings.Repeat("s", maxSubject+1)}), "subject"},
		{"a subject with a line break", token(m{"sub": "dana\nadmin"}), "subject"},
		{"an ID token by its nonce", token(m{"nonce": "n"}), "type"},
		{"an ID token by its hash", token(m{"at_hash": "h"}), "type"},
		{"an ID token by its inner type", token(m{"typ": "ID"}), "type"},
		{"a refresh token by its inner type", token(m{"typ": "Refresh"}), "type"},
		{"an ID token by its use", token(m{"token_use": "id"}), "type"},
		{"a notice of sign-out", token(m{"events": m{}}), "type"},
		{"a logout token by its header", f.sign(f.claims(nil), m{"typ": "logout+jwt"}), "type"},
		{"a proof by its header", f.sign(f.claims(nil), m{"typ": "dpop+jwt"}), "type"},
		{"a client's assertion by its header", f.sign(f.claims(nil), m{"typ": "client-authentication+jwt"}), "type"},
	}
}
