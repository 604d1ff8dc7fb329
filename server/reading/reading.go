// Package reading is what is told of a repo's entries beside their bytes: what their
// heads say, who wrote them, which leads to which, what of an index an agent is told,
// who wrote each line, and what changed within a line.
//
// It stands on the ledger, so that all of it is about what the caller sees, and reads
// texts with api/memory, so that it says what an agent is told. It changes nothing. What
// depends on texts alone (blame, the diff by words) is a pure function.
//
// A text is read once: what its head and its links say is remembered by its checksum,
// within a bound, and a repo's catalogue by its version, unless anything is proposed to
// the repo, when not everybody sees the same. So a page costs one read of the head as
// long as nothing changes.
//
// rest and dashboard call it, with a caller whose right has been checked.
package reading

import (
	"context"
	"sync"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// Ledger is what is asked of the rules.
type Ledger interface {
	Head(ctx context.Context, caller ledger.Caller, repo api.RepoSlug) (store.Head, error)
	View(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, since api.Version) (ledger.View, error)
	Bodies(ctx context.Context, caller ledger.Caller, rows []store.Row, fn func(row store.Row, content []byte) error) error
	History(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, key api.Key, before api.Version, limit int) ([]store.Past, error)
	Authors(ctx context.Context, caller ledger.Caller, repo api.RepoSlug) (map[api.Key]store.Authored, error)
}

// Desk answers. It is safe for concurrent use.
type Desk struct {
	ledger Ledger
	texts  remembered[textRef, *said]
	whole  remembered[wholeRef, *Catalogue]
}

// New makes a desk.
func New(l Ledger) *Desk {
	return &Desk{ledger: l, texts: remembered[textRef, *said]{half: textsHalf}, whole: remembered[wholeRef, *Catalogue]{half: wholeHalf}}
}

const (
	textsHalf = 8192 // texts; each a few hundred bytes
	wholeHalf = 16   // catalogues; each some hundred bytes an entry
)

// textRef is a text of an organization; one organization's texts say nothing to
// another, not even by how long they take to be read.
type textRef struct {
	org store.OrgID
	sum api.Checksum
}

// wholeRef is a repo at a version. The checksum tells apart two lives of a database
// that was restored.
type wholeRef struct {
	org     store.OrgID
	repo    api.RepoSlug
	version api.Version
	sum     api.Checksum
}

// remembered keeps what was asked for lately: the newest half and the one before.
type remembered[K comparable, V any] struct {
	half       int
	mu         sync.Mutex
	young, old map[K]V
}

func (r *remembered[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.young[key]
	if !ok {
		if v, ok = r.old[key]; ok {
			r.keep(key, v)
		}
	}
	return v, ok
}

func (r *remembered[K, V]) put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(key, v)
}

func (r *remembered[K, V]) keep(key K, v V) {
	if r.young == nil || len(r.young) >= r.half {
		r.young, r.old = make(map[K]V), r.young
	}
	r.young[key] = v
}
