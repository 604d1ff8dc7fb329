package signon

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/teammem/teammem/server/store"
)

const (
	// askWithin bounds how long a provider is waited for.
	askWithin = 3 * time.Second
	// lookEvery is how often is looked whether another server has its answer.
	lookEvery = 20 * time.Millisecond
	// away is how long a provider that did not answer is not asked again.
	away = 5 * time.Second
)

// Word is how fresh a provider's word on whoever is signed in has to be.
type Word int

// The words.
const (
	Now    Word = iota // the question begins after the request came
	Lately             // at most [Config.Recheck] old
	AnyAge             // not asked for
)

// vouched is on whose word a session stands. It is stored sealed with a key that is
// made of the session's secret, which is not stored: whoever reads the database
// cannot go to the provider with it.
type vouched struct {
	issuer  string
	Subject string `json:"s"`
	Renewal string `json:"r"`
}

func (v vouched) seal(secret string) string {
	if v.Renewal == "" {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // two strings
	}
	box := boxOf(secret)
	nonce := make([]byte, box.NonceSize(), box.NonceSize()+len(text)+box.Overhead())
	_, _ = rand.Read(nonce) // it never returns an error; see crypto/rand
	return string(box.Seal(nonce, nonce, text, []byte(v.issuer)))
}

// unseal reports whether there was something to open, and it opened.
func unseal(secret string, s store.Session) (v vouched, ok bool) {
	box := boxOf(secret)
	if len(s.Renewal) < box.NonceSize() {
		return v, false
	}
	nonce, sealed := s.Renewal[:box.NonceSize()], s.Renewal[box.NonceSize():]
	text, err := box.Open(nil, []byte(nonce), []byte(sealed), []byte(s.Issuer))
	if err != nil || json.Unmarshal(text, &v) != nil {
		return v, false
	}
	v.issuer = s.Issuer
	return v, true
}

// boxOf seals with AES-256-GCM. The secret is random, so no salt is needed.
func boxOf(secret string) cipher.AEAD {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "teammem: what renews a session", 32)
	if err != nil {
		panic(err) // of lengths alone
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	box, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return box
}
