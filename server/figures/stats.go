package figures

import (
	"context"
	"fmt"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Range is how far back figures are asked for, and in which steps.
type Range struct {
	Name string
	Long time.Duration
	Step time.Duration
}

// Ranges are those that may be asked for.
var Ranges = []Range{
	{"24h", 24 * time.Hour, time.Hour},
	{"7d", 7 * 24 * time.Hour, 6 * time.Hour},
	{"30d", 30 * 24 * time.Hour, 24 * time.Hour},
}

// ParseRange reads a range's name; without one it is the first.
func ParseRange(name string) (Range, error) {
	for _, r := range Ranges {
		if r.Name == name || name == "" {
			return r, nil
		}
	}
	return Range{}, fmt.Errorf("no such range: want 24h, 7d or 30d")
}

// Point is what happened from At on, for one step.
type Point struct {
	At time.Time
	store.Counts
}

// RepoStats is what of one repo is told.
type RepoStats struct {
	store.RepoInfo
	Open   int          // proposals
	Oldest time.Time    // of them; zero where there is none
	Range  store.Counts // in the range
}

// Stats is what an organization holds now, and what happened in a range.
type Stats struct {
	Repos    []RepoStats
	Entries  int
	Bytes    int64 // of live contents
	Versions int64
	People   int
	Storage  int64 // bytes that all contents take, those of history too, packed
	Open     int
	Oldest   time.Time
	Range    Range
	Total    store.Counts // in the range
	Points   []Point      // from old to new, none left out
}

// Stats tells of some repos of an organization. Where all is set they are all there
// are, and what was pushed to none counts too.
func (d *Desk) Stats(ctx context.Context, org store.OrgID, repos []store.RepoInfo, all bool, r Range) (Stats, error) {
	now := d.now().UTC()
	begin := now.Truncate(r.Step).Add(r.Step - r.Long)
	s := Stats{Range: r}
	for at := begin; !at.After(now); at = at.Add(r.Step) {
		s.Points = append(s.Points, Point{At: at})
	}
	byRepo := map[api.RepoSlug]*RepoStats{}
	for _, repo := range repos {
		s.Repos = append(s.Repos, RepoStats{RepoInfo: repo})
		s.Entries, s.Bytes, s.Versions = s.Entries+repo.Head.Entries, s.Bytes+repo.Head.Bytes, s.Versions+int64(repo.Head.Version)
	}
	for i := range s.Repos {
		byRepo[s.Repos[i].Slug] = &s.Repos[i]
	}
	figures, err := d.figures(ctx, org, begin)
	if err != nil {
		return s, err
	}
	for _, f := range figures {
		repo := byRepo[f.Slug]
		i := int(f.Hour.Sub(begin) / r.Step)
		if repo == nil && !all || i < 0 || i >= len(s.Points) {
			continue
		}
		s.Points[i].Add(f.Counts)
		s.Total.Add(f.Counts)
		if repo != nil {
			repo.Range.Add(f.Counts)
		}
	}
	return s, d.fill(ctx, org, &s, byRepo)
}

// figures are those that are written and those that wait.
func (d *Desk) figures(ctx context.Context, org store.OrgID, from time.Time) ([]store.Figure, error) {
	d.noting.RLock()
	defer d.noting.RUnlock()
	figures, err := d.store.Figures(ctx, org, from)
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, counts := range d.hours {
		if at.org == org {
			figures = append(figures, store.Figure{Org: org, Slug: at.repo, Hour: at.at, Counts: counts})
		}
	}
	return figures, err
}

// fill adds what stands now beside the repos' heads.
func (d *Desk) fill(ctx context.Context, org store.OrgID, s *Stats, byRepo map[api.RepoSlug]*RepoStats) error {
	members, err := d.store.Members(ctx, org)
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Removed.IsZero() && !m.Service {
			s.People++
		}
	}
	if s.Storage, err = d.stored(ctx, org); err != nil {
		return err
	}
	for q := (store.ProposalQuery{State: api.ProposalOpen, Limit: api.MaxPage}); ; {
		page, err := d.store.Proposals(ctx, org, q)
		if err != nil {
			return err
		}
		for _, p := range page {
			if repo := byRepo[p.Slug]; repo != nil {
				repo.Open, s.Open = repo.Open+1, s.Open+1
				repo.Oldest, s.Oldest = earlier(repo.Oldest, p.At), earlier(s.Oldest, p.At)
			}
			q.Before = p.ID
		}
		if len(page) < q.Limit {
			return nil
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// The sum of an organization's contents. Each time all of them are looked at, a million
// too, which takes longer than Prometheus waits.
const (
	storageAge  = time.Minute     // how old it may be
	storageRest = 200             // for how many times as long as it took it is kept at least
	storageWait = 2 * time.Second // how long it is waited for; then what was known before is said
	storageTime = 5 * time.Minute // how long it may take
)

// stored is what is known of an organization's sum.
type stored struct {
	bytes int64
	err   error // of the last sum
	until time.Time
	done  chan struct{} // closed when the sum that is under way is made; nil: none is
}

// stored says how many bytes an organization's contents take: 0 until that is known.
func (d *Desk) stored(ctx context.Context, org store.OrgID) (int64, error) {
	d.mu.Lock()
	known := d.storage[org]
	if d.now().Before(known.until) {
		d.mu.Unlock()
		return known.bytes, nil
	}
	if known.done == nil {
		known.done = make(chan struct{})
		d.storage[org] = known
		d.sums.Go(func() { d.sum(org, known) })
	}
	d.mu.Unlock()
	wait := time.NewTimer(storageWait)
	defer wait.Stop()
	select {
	case <-known.done:
		d.mu.Lock()
		defer d.mu.Unlock()
		known = d.storage[org]
		return known.bytes, known.err
	case <-wait.C:
		return known.bytes, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// sum adds up an organization's contents, for whoever waits and for those who come.
func (d *Desk) sum(org store.OrgID, known stored) {
	ctx, cancel := context.WithTimeout(d.life, storageTime)
	defer cancel()
	began := d.now()
	bytes, err := d.store.Storage(ctx, org)
	ended := d.now()
	next := stored{bytes: known.bytes, err: err}
	if err == nil {
		next.bytes, next.until = bytes, ended.Add(max(storageAge, storageRest*ended.Sub(began)))
	}
	d.mu.Lock()
	d.storage[org] = next
	d.mu.Unlock()
	close(known.done)
}
