package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	// SecretPrefix opens every token, so that secret scanners know one.
	SecretPrefix = "tm_"
	// secretBytes of randomness are in a token: 200 bits, 40 characters.
	secretBytes = 25
	// shownChars of a token are kept for people to tell tokens apart. They give
	// away 25 of the 200 bits.
	shownChars = len(SecretPrefix) + 5
	// uidBytes of randomness are in a public id: 80 bits, 16 characters.
	uidBytes = 10
)

// encoding has lower-case letters and digits only, and no padding: a token can
// be selected by a double click.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewToken makes a token of user in the organization. The secret is returned
// once and is nowhere else. A zero expires means never.
func NewToken(org store.OrgID, user string, role api.Role, now, expires time.Time) (secret string, token store.Token) {
	secret = SecretPrefix + random(secretBytes)
	return secret, store.Token{
		UID:      "tok_" + random(uidBytes),
		Org:      org,
		UserName: user,
		Role:     role,
		Hash:     sha256.Sum256([]byte(secret)),
		Prefix:   secret[:shownChars],
		Created:  now,
		Expires:  expires,
	}
}

// NewOrganization makes an organization that is not stored yet.
func NewOrganization(name string, now time.Time) store.Organization {
	org := store.Organization{UID: "org_" + random(uidBytes), Name: name, Created: now}
	_, _ = rand.Read(org.FingerprintKey[:]) // never fails
	return org
}

func random(n int) string {
	b := make([]byte, n)
	// It never returns an error; see crypto/rand.
	_, _ = rand.Read(b)
	return encoding.EncodeToString(b)
}

// CheckName holds the name of an organization or a user against what can be
// shown, logged and typed everywhere: 1 to 128 bytes of printable text that does
// not begin or end with a space. what says which name it is, for the error.
func CheckName(what, name string) error {
	const most = 128
	switch {
	case name == "":
		return fmt.Errorf("the %s is empty", what)
	case len(name) > most:
		return fmt.Errorf("the %s is longer than %d bytes", what, most)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("the %s holds characters that cannot be printed", what)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("the %s begins or ends with a space", what)
	}
	return nil
}
