package signon

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/store"
)

const (
	// AskEvery is how long a browser's session goes by what its provider said
	// before: the first request after it asks anew. Pages are looked at in bursts.
	AskEvery = 15 * time.Second
	// askWithin bounds how long a page waits for a provider.
	askWithin = 3 * time.Second
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

// renew asks the provider of a session anew, where [AskEvery] has passed: groups that
// were left are left here, and a sign-in that the provider ended is [ErrNoSession].
// A provider that does not answer ends nothing. Of several requests, on any server,
// one asks; a provider takes what renews a sign-in once.
func (d *Desk) renew(ctx context.Context, secret string, s store.Session) error {
	now := d.now()
	if s.Renewal == "" || now.Sub(s.Asked) < AskEvery {
		return nil
	}
	p := d.providers.By(s.Issuer)
	by, ok := unseal(secret, s)
	if p == nil || !ok {
		return nil
	}
	mine, err := d.store.RenewSession(ctx, s.Hash, s.Asked, now, s.Renewal)
	d.drop(s.Hash)
	if err != nil || !mine {
		return err
	}
	// Begun, it is brought to its end, whether or not the browser waits for it: else
	// what renews the sign-in next would be lost.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), askWithin)
	defer stop()
	claims, next, err := p.Renew(ctx, by.Subject, by.Renewal)
	var refusal *provider.Refusal
	switch {
	case errors.As(err, &refusal):
		d.log.Info("a browser is signed out, as the identity provider ended its sign-in", "issuer", s.Issuer, "why", refusal.Reason)
		if err := d.end(ctx, secret); err != nil {
			return err
		}
		return ErrNoSession
	case err != nil:
		d.log.Warn("the identity provider was asked about somebody who is signed in, and did not answer", "issuer", s.Issuer)
		return nil
	}
	if next != by.Renewal {
		by.Renewal = next
		if _, err := d.store.RenewSession(ctx, s.Hash, now, now, by.seal(secret)); err != nil {
			return fmt.Errorf("keep what renews a session: %w", err)
		}
		d.drop(s.Hash)
	}
	in, err := d.store.Memberships(ctx, s.User)
	if err != nil {
		return fmt.Errorf("find the memberships: %w", err)
	}
	return d.regroup(ctx, in, s.User, claims, From{How: "provider"})
}
