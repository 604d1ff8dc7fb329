package rest

import (
	"strconv"
	"sync"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// renderedHalf is how many bytes of bodies are remembered before the older half is let go.
const renderedHalf = 16 << 20

// renderedRef is a view that looks the same to everybody who may read it: a repo at a
// version, as long as nothing is proposed to it. The checksum and the epoch tell apart two
// lives of a database that was restored; the name is in the body.
type renderedRef struct {
	repo    store.RepoID
	version api.Version
	sum     api.Checksum
	epoch   api.Epoch
	asked   api.RepoSlug
	hashes  bool
}

// renderedBody is the body of an answer, which was verified when it was put together, and
// what it served. Nobody changes it.
type renderedBody struct {
	body []byte
	live []store.Row
}

// rendered remembers bodies of whole views. The head is read from the store for each
// answer, so that what is remembered can never be older than what stands. It is bounded
// by bytes: when the younger half is full, the older is forgotten.
type rendered struct {
	mu         sync.Mutex
	young, old map[renderedRef]renderedBody
	bytes      int // in young
}

func (r *rendered) get(ref renderedRef) (renderedBody, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.young[ref]
	if !ok {
		if b, ok = r.old[ref]; ok {
			delete(r.old, ref)
			r.keep(ref, b)
		}
	}
	return b, ok
}

func (r *rendered) put(ref renderedRef, b renderedBody) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(ref, b)
}

func (r *rendered) keep(ref renderedRef, b renderedBody) {
	const each = 100 // bytes of a row, about
	size := len(b.body) + each*len(b.live)
	if r.young == nil || r.bytes+size > renderedHalf {
		r.young, r.old, r.bytes = map[renderedRef]renderedBody{}, r.young, 0
	}
	r.young[ref] = b
	r.bytes += size
}

// refOf is what a query's answer is remembered by; false where it is the caller's own.
func refOf(c *call, query memoryQuery, head store.Head, epoch api.Epoch) (renderedRef, bool) {
	if query.since > 0 || head.Proposals > 0 {
		return renderedRef{}, false
	}
	return renderedRef{head.ID, head.Version, head.Checksum, epoch, c.asked, query.hashes}, true
}

// sendRendered answers with a body that is remembered.
func sendRendered(c *call, b renderedBody) error {
	c.w.Header()["Content-Length"] = []string{strconv.Itoa(len(b.body))}
	c.begun = true
	_, err := c.w.Write(b.body)
	return err
}
