package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeCertificate makes a pair in PEM: certificate LIFE CERT KEY.
func makeCertificate(ts *testscript.TestScript, _ bool, args []string) {
	life, err := time.ParseDuration(args[0])
	ts.Check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(-time.Hour).Add(life),
	}
	cert, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	ts.Check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for file, block := range map[string]*pem.Block{args[1]: {Type: "CERTIFICATE", Bytes: cert}, args[2]: {Type: "PRIVATE KEY", Bytes: private}} {
		ts.Check(os.WriteFile(ts.MkAbs(file), pem.EncodeToMemory(block), 0o600))
	}
}

// However the database's address is written, its secret is not shown.
func TestAddressesAreShownWithoutSecrets(t *testing.T) {
	secret := "hunter" + strings.Repeat("2", 3)
	for _, c := range []struct{ address, shown string }{
		{"", ""},
		{"sqlite:///srv/teammem.db", "sqlite:///srv/teammem.db"},
		{"postgres://teammem@db/teammem", "postgres://teammem@db/teammem"},
		{"postgres://teammem:" + secret + "@db:5432/teammem?sslmode=disable", "postgres://teammem:xxxxx@db:5432/teammem?sslmode=disable"},
		{"postgres:///teammem?host=/run/postgresql&password=" + secret, "postgres:///teammem?host=%2Frun%2Fpostgresql&password=xxxxx"},
		{"postgres://db/teammem?sslpassword=" + secret, "postgres://db/teammem?sslpassword=xxxxx"},
		{"mysql://root:" + secret + "@db/x", "mysql://root:xxxxx@db/x"},
		{"postgres//teammem:" + secret + "@db/teammem", noAddress},
		{"host=db user=teammem password=" + secret, noAddress},
		{"teammem:" + secret + "@db", noAddress},
		{"postgres://teammem:1#" + secret + "@db/teammem", noAddress},
		{"postgres://teammem:%zz" + secret + "@db/teammem", noAddress},
	} {
		if got := withoutSecrets(c.address); got != c.shown {
			t.Errorf("withoutSecrets(%q) = %q, want %q", c.address, got, c.shown)
		}
	}
}

// Whatever a settings file holds, reading it ends with settings that exist or with an
// error that does not repeat a value.
func FuzzSettingsFile(f *testing.F) {
	f.Add("listen: 127.0.0.1:8080\n# a comment\ndata: \"/srv\"\n")
	f.Add("listen\n")
	f.Add("oidc-issuer: https://a:b\n\x00: 1")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parseFile(strings.NewReader(text))
		if err != nil {
			return
		}
		lines := strings.Count(text, "\n") + 1
		for name, value := range values {
			if !strings.Contains(text, name) || value.number < 1 || value.number > lines {
				t.Errorf("%q: %q at line %d of %d", name, value.value, value.number, lines)
			}
		}
	})
}
