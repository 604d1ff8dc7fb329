// Package figures is what the server knows of itself and its clients over time: what
// happened in each hour of each repo, what an organization holds now, and which clients
// there are and how far behind they are. Dashboards are drawn from it, without any
// other service.
//
// What it keeps: one row an hour and repo that something happened in, for 31 days, and
// one row a client, until nothing was heard of it for 30 days; and how often each
// entry's text was served, by key. No contents.
//
// Counting never waits: what happens is added up in memory and written once in five
// seconds (reads once a minute), and at the end. Servers on one database each add what they counted. A server
// that is killed loses the last seconds; what could not be written is added to what
// comes.
//
// rest and dashboard ask it, the ledger and rest count, package server runs it.
package figures

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// Store is what is needed of a [store.Store].
type Store interface {
	NoteFigures(ctx context.Context, all []store.Figure) error
	Figures(ctx context.Context, org store.OrgID, from time.Time) ([]store.Figure, error)
	DropFigures(ctx context.Context, before time.Time) error
	NoteClients(ctx context.Context, all []store.Client) error
	Clients(ctx context.Context, org store.OrgID, user store.UserID) ([]store.Client, error)
	DropClients(ctx context.Context, before time.Time) error
	NoteReads(ctx context.Context, all []store.Reads) error
	Reads(ctx context.Context, repo store.RepoID, keys []api.Key) (map[api.Key]int64, error)
	Storage(ctx context.Context, org store.OrgID) (int64, error)
	Members(ctx context.Context, org store.OrgID) ([]store.Member, error)
	Proposals(ctx context.Context, org store.OrgID, query store.ProposalQuery) ([]store.Proposal, error)
}

const (
	every       = 5 * time.Second // between two writes
	writeTime   = 5 * time.Second // for one
	pruneEvery  = time.Hour
	keepHours   = 31 * 24 * time.Hour
	keepClients = 30 * 24 * time.Hour
	// mostNoted bounds what waits for one write; more repos are counted as none.
	mostNoted = 8192
)

// Desk counts and answers. It is safe for concurrent use.
type Desk struct {
	log   *slog.Logger
	store Store
	now   func() time.Time

	// noting is held while what waits goes over into the store, where whoever asks would
	// find it in neither; who asks holds it for reading.
	noting sync.RWMutex

	mu      sync.Mutex
	hours   map[hour]store.Counts
	clients map[client]store.Client
	reads   map[read]int64
	served  map[*store.Row]*served
	storage map[store.OrgID]stored

	sums sync.WaitGroup // of contents, under way; they end with Run
	life context.Context
	end  context.CancelFunc
}

type hour struct {
	org  store.OrgID
	repo api.RepoSlug
	at   time.Time
}

type client struct {
	org  store.OrgID
	user store.UserID
	uid  string
}

// New makes a desk.
func New(log *slog.Logger, s Store, now func() time.Time) *Desk {
	life, end := context.WithCancel(context.Background())
	return &Desk{life: life, end: end, log: log, store: s, now: now, hours: map[hour]store.Counts{}, clients: map[client]store.Client{}, reads: map[read]int64{}, served: map[*store.Row]*served{}, storage: map[store.OrgID]stored{}}
}

// Count adds what came of a change. It never waits.
func (d *Desk) Count(o ledger.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(hour{o.Org, o.Repo, d.now().UTC().Truncate(time.Hour)}, o.Counts)
}

func (d *Desk) add(at hour, more store.Counts) {
	if _, known := d.hours[at]; !known && len(d.hours) >= mostNoted {
		at.repo = ""
	}
	counts := d.hours[at]
	counts.Add(more)
	d.hours[at] = counts
}

// Run writes what is counted until ctx ends, and then what is left.
func (d *Desk) Run(ctx context.Context) {
	writes, prunes := time.NewTicker(every), time.NewTicker(pruneEvery)
	defer writes.Stop()
	defer prunes.Stop()
	defer d.sums.Wait()
	defer d.end()
	d.prune(ctx)
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			d.write(context.WithoutCancel(ctx))
			d.writeReads(context.WithoutCancel(ctx))
			return
		case <-writes.C:
			d.write(ctx)
			if n%readsEvery == 0 {
				d.writeReads(ctx)
			}
		case <-prunes.C:
			d.prune(ctx)
		}
	}
}

// write writes what waits. What could not be written waits on.
func (d *Desk) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	d.noting.Lock()
	defer d.noting.Unlock()
	hours, clients := d.take()
	if len(hours) > 0 {
		if err := d.store.NoteFigures(ctx, hours); err != nil {
			d.putBack(hours)
			d.log.WarnContext(ctx, "what happened is noted late", "error", err)
		}
	}
	if len(clients) > 0 {
		if err := d.store.NoteClients(ctx, clients); err != nil {
			d.log.WarnContext(ctx, "what clients said of themselves is not noted; they say it again", "clients", len(clients), "error", err)
		}
	}
}

func (d *Desk) take() (hours []store.Figure, clients []store.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, counts := range d.hours {
		hours = append(hours, store.Figure{Org: at.org, Slug: at.repo, Hour: at.at, Counts: counts})
	}
	for _, c := range d.clients {
		clients = append(clients, c)
	}
	clear(d.hours)
	clear(d.clients)
	return hours, clients
}

func (d *Desk) putBack(hours []store.Figure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range hours {
		d.add(hour{f.Org, f.Slug, f.Hour}, f.Counts)
	}
}

// prune takes away what is old.
func (d *Desk) prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	err := d.store.DropFigures(ctx, d.now().Add(-keepHours))
	if err == nil {
		err = d.store.DropClients(ctx, d.now().Add(-keepClients))
	}
	if err != nil && ctx.Err() == nil {
		d.log.WarnContext(ctx, "old figures stay for now", "error", err)
	}
}
