package auth

import (
	"sync"
	"time"

	"github.com/teammem/teammem/server/store"
)

const (
	// maxFound bounds the memory of found tokens; an entry is about 700 bytes.
	maxFound = 4096
	// knownFor is how long a token counts as one that was good, see [Door].
	knownFor = time.Hour
)

// foundTokens remembers valid tokens for [FoundFor], so that a busy client costs
// one read of the store a request and not two. Only valid tokens are remembered:
// a guessed one costs a read every time, whatever is wrong with it.
type foundTokens struct {
	mu     sync.RWMutex
	byHash map[[32]byte]foundToken
	gen    uint64 // counts what was forgotten
}

type foundToken struct {
	token *store.Token // never changed
	until time.Time
}

func newFoundTokens() *foundTokens {
	return &foundTokens{byHash: make(map[[32]byte]foundToken)}
}

func (f *foundTokens) get(hash [32]byte, now time.Time) (*store.Token, bool) {
	f.mu.RLock()
	found, ok := f.byHash[hash]
	f.mu.RUnlock()
	return found.token, ok && now.Before(found.until)
}

// knows reports whether the token was good within [knownFor].
func (f *foundTokens) knows(hash [32]byte) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, ok := f.byHash[hash]
	return ok
}

func (f *foundTokens) generation() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.gen
}

// put remembers a token that was read at the generation: what was read before
// something was forgotten may be what had to be forgotten.
func (f *foundTokens) put(hash [32]byte, token *store.Token, now time.Time, gen uint64) {
	until := now.Add(FoundFor)
	if !token.Expires.IsZero() && token.Expires.Before(until) {
		until = token.Expires
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if gen != f.gen {
		return
	}
	if _, known := f.byHash[hash]; !known && len(f.byHash) >= maxFound {
		f.makeRoom(now)
	}
	f.byHash[hash] = foundToken{token: token, until: until}
}

// forget lets no token be believed, but still knows which were good.
func (f *foundTokens) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gen++
	for hash, found := range f.byHash {
		found.until = time.Time{}
		f.byHash[hash] = found
	}
}

func (f *foundTokens) drop(hash [32]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byHash, hash)
}

// makeRoom drops what was good too long ago, else what is no longer believed, else
// everything: they are all found again at the price of one read each.
func (f *foundTokens) makeRoom(now time.Time) {
	for _, late := range []time.Duration{knownFor, 0} {
		for hash, found := range f.byHash {
			if !now.Before(found.until.Add(late)) {
				delete(f.byHash, hash)
			}
		}
		if len(f.byHash) < maxFound {
			return
		}
	}
	clear(f.byHash)
}

// maxRules bounds for how many organizations the grants are remembered.
const maxRules = 1024

// foundRules remembers organizations' grants for [FoundFor].
type foundRules struct {
	mu    sync.RWMutex
	byOrg map[store.OrgID]foundRule
	gen   uint64
}

type foundRule struct {
	rules *rules
	until time.Time
}

func newFoundRules() *foundRules { return &foundRules{byOrg: make(map[store.OrgID]foundRule)} }

func (f *foundRules) get(org store.OrgID, now time.Time) (*rules, bool) {
	f.mu.RLock()
	found, ok := f.byOrg[org]
	f.mu.RUnlock()
	return found.rules, ok && now.Before(found.until)
}

func (f *foundRules) generation() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.gen
}

func (f *foundRules) put(org store.OrgID, r *rules, now time.Time, gen uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if gen != f.gen {
		return
	}
	if len(f.byOrg) >= maxRules {
		clear(f.byOrg)
	}
	f.byOrg[org] = foundRule{rules: r, until: now.Add(FoundFor)}
}

func (f *foundRules) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gen++
	clear(f.byOrg)
}
