package devoidc

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"strconv"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// keptKeys is how many signing keys are published: the one that signs and those
// before it, so that tokens outlive a change of keys.
const keptKeys = 2

// key is a signing key.
type key struct {
	id      string
	private *rsa.PrivateKey
}

func (k *key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k *key) Key() any                                    { return k.private }
func (k *key) ID() string                                  { return k.id }

// public is the half that is published.
type public struct{ *key }

func (k public) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k public) Use() string                        { return "sig" }
func (k public) Key() any                           { return &k.private.PublicKey }

// Rotate signs with a new key from now on.
func (p *Provider) Rotate() { p.rotate("") }

// RotateAs signs with a new key that has the id of an old one, which no provider
// should do and some have done.
func (p *Provider) RotateAs(id string) { p.rotate(id) }

func (p *Provider) rotate(id string) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // it never fails; see crypto/rand
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		id = "key-" + strconv.Itoa(len(p.keys)+1)
	}
	kept := p.keys[:0:0]
	for _, k := range p.keys {
		if k.id != id {
			kept = append(kept, k)
		}
	}
	p.keys = append(kept, &key{id: id, private: private})
}

// PrivateKey gives the key that signs and its id, for tests that forge.
func (p *Provider) PrivateKey() (id string, private *rsa.PrivateKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.keys[len(p.keys)-1]
	return k.id, k.private
}

// SigningKey implements op.Storage.
func (p *Provider) SigningKey(context.Context) (op.SigningKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[len(p.keys)-1], nil
}

// SignatureAlgorithms implements op.Storage.
func (p *Provider) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

// KeySet implements op.Storage.
func (p *Provider) KeySet(context.Context) ([]op.Key, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var keys []op.Key
	for _, k := range p.keys[max(0, len(p.keys)-keptKeys):] {
		keys = append(keys, public{k})
	}
	return keys, nil
}
