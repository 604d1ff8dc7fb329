package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	"github.com/teammem/teammem/server/store"
)

const (
	// tallyEvery is how often what was counted goes to the database, and what other
	// servers counted comes back. A server with nothing to count asks nothing, unless
	// organizations with a limit on writes are about: of those it asks four times as
	// seldom.
	tallyEvery = 250 * time.Millisecond
	tallyTime  = 2 * time.Second
	// mostTallied is how many counts may wait; more are this server's alone.
	mostTallied = 4096
	// keptTallies is how long counts are kept that nobody adds to.
	keptTallies = 10 * time.Minute
)

// counted is one thing that servers count together.
type counted struct {
	org     store.OrgID // whose writes; 0: failed sign-ins
	account string      // of failed sign-ins: the door's word for whose
}

// key is what the count is called in the database.
func (c counted) key() string {
	if c.org != 0 {
		return "writes " + strconv.FormatInt(int64(c.org), 10)
	}
	hash := sha256.Sum256([]byte(c.account))
	return "failed " + hex.EncodeToString(hash[:16])
}

// tallies shares the counts behind limits among the servers of one database: what is
// counted here is added there, and what others counted is told to the limits here. No
// request waits for it. While the database does not answer each server counts alone.
type tallies struct {
	db       store.Tallier
	failed   func(account string, count int, since time.Time)
	written  func(org store.OrgID, count int)
	now      func() time.Time
	mu       sync.Mutex
	waiting  map[counted]int
	limited  map[counted]bool
	lastSeen map[counted]store.Tally // of writes
}

// shareLimits has the door and the limits on writes count together with other servers,
// where there may be some. It is called before anything is counted.
func (s *Server) shareLimits(now func() time.Time) {
	db, ok := s.store.(store.Tallier)
	if !ok {
		return
	}
	t := &tallies{
		db: db, now: now, failed: s.auth.FailedElsewhere, written: s.orgs.WrittenElsewhere,
		waiting: map[counted]int{}, limited: map[counted]bool{}, lastSeen: map[counted]store.Tally{},
	}
	s.auth.ShareFailures(func(account string) { t.add(counted{account: account}) })
	s.orgs.ShareWrites(func(org store.OrgID) { t.add(counted{org: org}) })
	s.tallies = t
}

func (t *tallies) add(c counted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there := t.waiting[c]; there || len(t.waiting) < mostTallied {
		t.waiting[c]++
	}
	if c.org != 0 {
		t.limited[c] = true
	}
}

// run exchanges counts until ctx ends. A nil one has nobody to share with.
func (t *tallies) run(ctx context.Context) {
	if t == nil {
		return
	}
	tick := time.NewTicker(tallyEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.exchange(ctx, n%4 == 0)
		if n%240 == 0 {
			// What is not dropped now is dropped the next time.
			_ = t.db.DropTallies(ctx, keptTallies)
		}
	}
}

// exchange adds what waits, and with all asks for the writes of every organization that
// has a limit. What could not be added waits on.
func (t *tallies) exchange(ctx context.Context, all bool) {
	ctx, cancel := context.WithTimeout(ctx, tallyTime)
	defer cancel()
	added := t.take(all)
	if len(added) == 0 {
		return
	}
	byKey, add := map[string]counted{}, map[string]int{}
	for c, n := range added {
		byKey[c.key()], add[c.key()] = c, n
	}
	totals, err := t.db.Tally(ctx, add)
	if err != nil {
		t.putBack(added)
		return
	}
	for _, total := range totals {
		c := byKey[total.Key]
		if c.org == 0 {
			t.failed(c.account, total.Count, t.now().Add(-total.Age))
			continue
		}
		others := total.Count - added[c]
		if last := t.lastSeen[c]; last.Began.Equal(total.Began) {
			others -= last.Count
		}
		t.lastSeen[c] = total
		t.written(c.org, others)
	}
}

func (t *tallies) take(all bool) map[counted]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.waiting
	t.waiting = map[counted]int{}
	for c := range t.limited {
		if _, there := taken[c]; all && !there {
			taken[c] = 0
		}
	}
	return taken
}

func (t *tallies) putBack(taken map[counted]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, n := range taken {
		if n > 0 && len(t.waiting) < mostTallied {
			t.waiting[c] += n
		}
	}
}
