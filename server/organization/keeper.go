package organization

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/store"
)

const (
	// refusalDelay is how long refusals are gathered before they are recorded.
	refusalDelay = 500 * time.Millisecond
	// refusalRows and refusalBurst bound the rows a minute that refusals may make
	// of one organization's chain; what is beyond is counted, and waits.
	refusalRows  = 10
	refusalBurst = 20
	// mostRefusals bounds how many different ones wait, of all organizations.
	mostRefusals = 1024
	// pruneEvery is how often old records are looked for.
	pruneEvery = time.Hour
	// verifyEvery is how often all chains are verified, the first time soon after the
	// start; it reads every record.
	verifyEvery = 24 * time.Hour
	verifySoon  = time.Minute
	// keepTime bounds one piece of the keeper's work.
	keepTime = 20 * time.Second
)

// DefaultCheckpoints is how often the heads of the repos are noted.
const DefaultCheckpoints = 5 * time.Minute

// Keeper does what an organization's chain needs beside requests: it records
// refusals, equal ones as one with their number, notes the repos' heads, and takes
// old records away. One goroutine owns the work; [Keeper.Refused] only counts.
type Keeper struct {
	log   *slog.Logger
	rules *Rules
	every time.Duration // between checkpoints

	mu       sync.Mutex
	verified map[store.OrgID]Verification
	waiting  map[auth.Refusal]int
	budget   map[store.OrgID]*rate.Limiter
}

// NewKeeper makes a keeper; every is the time between checkpoints.
func NewKeeper(log *slog.Logger, rules *Rules, every time.Duration) *Keeper {
	return &Keeper{log: log, rules: rules, every: every, verified: map[store.OrgID]Verification{}, waiting: map[auth.Refusal]int{}, budget: map[store.OrgID]*rate.Limiter{}}
}

// Refused counts a refusal. It never waits. When too many different ones wait, those
// to come are counted without their particulars.
func (k *Keeper) Refused(r auth.Refusal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.waiting[r]; !known && len(k.waiting) >= mostRefusals {
		r = auth.Refusal{Org: r.Org, Why: r.Why}
	}
	k.waiting[r]++
}

// Verification is what came of verifying an organization's chains.
type Verification struct {
	At      time.Time
	Records int
	Broken  error // a [BrokenError], or nil
}

// Verified is what came of the last verification; ok is false before the first.
func (k *Keeper) Verified(org store.OrgID) (v Verification, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok = k.verified[org]
	return v, ok
}

// Verify verifies all chains now and then, until ctx ends, and takes away what the
// organizations do not keep. It stands beside [Keeper.Run], for it may take long.
func (k *Keeper) Verify(ctx context.Context) {
	next := time.NewTimer(verifySoon)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			k.VerifyNow(ctx)
			k.Vacuum(ctx)
			next.Reset(verifyEvery)
		}
	}
}

// VerifyNow verifies all chains. What cannot be read is no broken chain.
func (k *Keeper) VerifyNow(ctx context.Context) {
	orgs, err := k.rules.store.Organizations(ctx)
	if err != nil && ctx.Err() == nil {
		k.log.Warn("the audit chains are not verified", "error", err)
	}
	for _, org := range orgs {
		n, err := k.rules.Verify(ctx, org.ID)
		if broken := (*BrokenError)(nil); err != nil && !errors.As(err, &broken) {
			if ctx.Err() == nil {
				k.log.Warn("the audit chains are not verified", "organization", org.Name, "error", err)
			}
			continue
		}
		if err != nil {
			k.log.Error("the audit trail was changed or cut: keep the database as it is, and see docs/runbooks.md", "organization", org.Name, "error", err)
		}
		k.mu.Lock()
		k.verified[org.ID] = Verification{At: k.rules.now(), Records: n, Broken: err}
		k.mu.Unlock()
	}
}

// Run works until ctx ends, and records then what still waits.
func (k *Keeper) Run(ctx context.Context) {
	refusals, checkpoints, prunes := time.NewTicker(refusalDelay), time.NewTicker(k.every), time.NewTicker(pruneEvery)
	defer refusals.Stop()
	defer checkpoints.Stop()
	defer prunes.Stop()
	k.each(ctx, "old audit records stay for now", k.rules.Prune)
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
			defer cancel()
			k.record(last)
			k.each(last, "the heads of the repos are not noted", k.checkpoint)
			return
		case <-refusals.C:
			k.record(ctx)
		case <-checkpoints.C:
			k.each(ctx, "the heads of the repos are not noted", k.checkpoint)
		case <-prunes.C:
			k.each(ctx, "old audit records stay for now", k.rules.Prune)
		}
	}
}

func (k *Keeper) checkpoint(ctx context.Context, org store.Organization) error {
	return k.rules.Checkpoint(ctx, org.ID)
}

// each does something for every organization; what fails is tried again later.
func (k *Keeper) each(ctx context.Context, fails string, do func(context.Context, store.Organization) error) {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	orgs, err := k.rules.store.Organizations(ctx)
	for _, org := range orgs {
		if err == nil {
			err = do(ctx, org)
		}
	}
	if err != nil && ctx.Err() == nil {
		k.log.Warn(fails, "error", err)
	}
}

// record writes what waits, as far as the organizations' budgets allow.
func (k *Keeper) record(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	for refusal, count := range k.take() {
		by := By{Org: refusal.Org, User: refusal.User, TokenUID: refusal.TokenUID, How: string(refusal.How), From: refusal.From}
		deed := audit.Deed{Of: refusal.What, Repo: string(refusal.Repo), Why: refusal.Why}
		if count > 1 {
			deed.Count = count
		}
		if err := k.rules.Record(ctx, by, audit.ActionRefused, deed); err != nil && ctx.Err() == nil {
			k.log.Warn("a refusal is not recorded", "why", refusal.Why, "count", count, "error", err)
		}
	}
}

// take gives what may be written now and leaves the rest.
func (k *Keeper) take() map[auth.Refusal]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	taken := map[auth.Refusal]int{}
	for refusal, count := range k.waiting {
		limit, ok := k.budget[refusal.Org]
		if !ok {
			limit = rate.NewLimiter(rate.Every(time.Minute/refusalRows), refusalBurst)
			k.budget[refusal.Org] = limit
		}
		if limit.Allow() {
			taken[refusal] = count
			delete(k.waiting, refusal)
		}
	}
	return taken
}
