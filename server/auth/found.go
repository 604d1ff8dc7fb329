package auth

import (
	"sync"
	"time"
)

// maxFound bounds the memory of found tokens; an entry is about 300 bytes.
const maxFound = 4096

// foundTokens remembers valid tokens for [FoundFor], so that a busy client costs
// one read of the store a request and not two. Only valid tokens are remembered:
// a guessed one costs a read every time, whatever is wrong with it.
type foundTokens struct {
	mu     sync.RWMutex
	byHash map[[32]byte]foundToken
}

type foundToken struct {
	who   Identity
	until time.Time
}

func newFoundTokens() *foundTokens {
	return &foundTokens{byHash: make(map[[32]byte]foundToken)}
}

func (f *foundTokens) get(hash [32]byte, now time.Time) (Identity, bool) {
	f.mu.RLock()
	found, ok := f.byHash[hash]
	f.mu.RUnlock()
	return found.who, ok && now.Before(found.until)
}

func (f *foundTokens) put(hash [32]byte, who Identity, now time.Time) {
	until := now.Add(FoundFor)
	if !who.Expires.IsZero() && who.Expires.Before(until) {
		until = who.Expires
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byHash) >= maxFound {
		f.makeRoom(now)
	}
	f.byHash[hash] = foundToken{who: who, until: until}
}

// makeRoom drops what is no longer believed, or everything when that is nothing:
// they are all found again at the price of one read each.
func (f *foundTokens) makeRoom(now time.Time) {
	for hash, found := range f.byHash {
		if !now.Before(found.until) {
			delete(f.byHash, hash)
		}
	}
	if len(f.byHash) >= maxFound {
		clear(f.byHash)
	}
}
