package leak

import (
	"context"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

const (
	// mostNotes bounds what is noted between two writes.
	mostNotes = 8192
	// noteTimeout bounds one write of them.
	noteTimeout = 5 * time.Second
)

// notes are the repos that were served since the last write, by whom to.
type notes struct {
	mu      sync.Mutex
	pulls   map[pulled]store.Pull
	dropped int
}

// pulled is a repo and whom it was served to.
type pulled struct {
	repo   store.RepoID
	user   store.UserID
	token  store.TokenID
	client string
}

// Pulled notes that the caller was served a version of a repo. It never waits.
func (d *Desk) Pulled(caller ledger.Caller, repo store.RepoID, version api.Version) {
	d.notes.note(store.Pull{
		Repo: repo, User: caller.User, Token: caller.Token, Client: caller.Client, Oldest: version, Newest: version, At: d.now(),
	})
}

func (n *notes) note(p store.Pull) {
	by := pulled{p.Repo, p.User, p.Token, p.Client}
	n.mu.Lock()
	defer n.mu.Unlock()
	before, known := n.pulls[by]
	switch {
	case known:
		p.Oldest, p.Newest = min(p.Oldest, before.Oldest), max(p.Newest, before.Newest)
	case len(n.pulls) >= mostNotes:
		n.dropped++
		return
	case n.pulls == nil:
		n.pulls = map[pulled]store.Pull{}
	}
	n.pulls[by] = p
}

// take empties the notes.
func (n *notes) take() (pulls []store.Pull, dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pulls {
		pulls = append(pulls, p)
	}
	dropped = n.dropped
	n.pulls, n.dropped = nil, 0
	return pulls, dropped
}

// writeNotes writes what is noted. What could not be written is noted again.
func (d *Desk) writeNotes(ctx context.Context) {
	d.writing.Lock()
	defer d.writing.Unlock()
	pulls, dropped := d.notes.take()
	if dropped > 0 {
		d.log.WarnContext(ctx, "more clients were served in a second than can be noted; a scan will not know of all", "clients", dropped)
	}
	if len(pulls) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	if err := d.store.NotePulls(ctx, pulls); err != nil {
		for _, p := range pulls {
			d.notes.note(p)
		}
		d.log.WarnContext(ctx, "who was served what is noted late", "clients", len(pulls), "error", err)
	}
}
