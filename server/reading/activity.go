package reading

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// What one page of activity may cost: so many versions are looked at, and so many
// changes of one version are listed.
const (
	mostLooked  = 2000
	mostChanges = 100
	readAhead   = 20 // versions of one repo
)

// Event is a version of a repo, with those of its changes that were asked for.
type Event struct {
	Repo    api.RepoSlug
	Version api.Version
	At      time.Time
	User    string
	Client  string
	Changes []store.Past // in key order, the first 100
	Total   int          // of those that were asked for
}

// ActionOf says what a change did to its key.
func ActionOf(p store.Past) api.Action {
	switch {
	case p.Deleted:
		return api.ActionDeleted
	case p.Previous == "":
		return api.ActionCreated
	}
	return api.ActionChanged
}

// ActivityQuery narrows activity. What is empty narrows nothing.
type ActivityQuery struct {
	Author string
	Prefix string     // of the key
	Action api.Action // created, changed or deleted
	After  time.Time  // then or later
	Before time.Time  // before then
	Cursor string     // of the page before
	Limit  int        // events
}

func (q ActivityQuery) admits(p store.Past) bool {
	return (q.Author == "" || q.Author == p.UserName) && strings.HasPrefix(string(p.Key), q.Prefix) && (q.Action == "" || q.Action == ActionOf(p))
}

// Activity lists what changed in some repos, newest first. A page looks at a bounded
// number of versions: it may hold less than was asked for, or nothing, and still have a
// next one.
func (d *Desk) Activity(ctx context.Context, caller ledger.Caller, repos []store.RepoInfo, q ActivityQuery) (events []Event, next string, err error) {
	from, err := parsePlace(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	feeds, err := d.feeds(ctx, caller, repos, q, from)
	if err != nil {
		return nil, "", err
	}
	for looked := 0; ; {
		f := newest(feeds)
		if f == nil || f.at.Before(q.After) {
			return events, "", nil
		}
		if len(f.ready) == 0 {
			if err := f.load(ctx, d.ledger, caller); err != nil {
				return nil, "", err
			}
			continue
		}
		if len(events) == q.Limit || looked == mostLooked {
			return events, from.String(), nil
		}
		looked++
		group := f.take()
		from = place{group[0].At.UnixMilli(), f.repo, group[0].Version}
		if e, ok := eventOf(f.repo, group, q); ok {
			events = append(events, e)
		}
	}
}

func eventOf(repo api.RepoSlug, group []store.Past, q ActivityQuery) (Event, bool) {
	first := group[0]
	e := Event{Repo: repo, Version: first.Version, At: first.At, User: first.UserName, Client: first.Client}
	for _, p := range group {
		if !q.admits(p) {
			continue
		}
		if e.Total++; len(e.Changes) < mostChanges {
			e.Changes = append(e.Changes, p)
		}
	}
	return e, e.Total > 0
}

// feed is one repo's versions, from newest to oldest.
type feed struct {
	repo   api.RepoSlug
	before api.Version    // what is read next lies below; 0: from the newest
	ready  [][]store.Past // read already, a version each
	at     time.Time      // of the first that is ready, or no earlier than what is read next
	done   bool
}

// newest is the feed that has the newest version, and of several the one whose repo
// comes first; nil when all have come to their end.
func newest(feeds []*feed) (best *feed) {
	for _, f := range feeds {
		if f.done && len(f.ready) == 0 {
			continue
		}
		if best == nil || f.at.After(best.at) || f.at.Equal(best.at) && f.repo < best.repo {
			best = f
		}
	}
	return best
}

// load reads the next versions. The time of the first that is ready is then known
// exactly, so that the feed may no longer be the newest.
func (f *feed) load(ctx context.Context, l Ledger, caller ledger.Caller) error {
	past, err := l.History(ctx, caller, f.repo, "", f.before, readAhead)
	if err != nil && api.CodeOf(err) != api.NotFound {
		return err
	}
	for _, p := range past {
		if n := len(f.ready); n > 0 && f.ready[n-1][0].Version == p.Version {
			f.ready[n-1] = append(f.ready[n-1], p)
			continue
		}
		f.ready = append(f.ready, []store.Past{p})
	}
	f.done = len(f.ready) < readAhead
	if n := len(f.ready); n > 0 {
		f.before, f.at = f.ready[n-1][0].Version, f.ready[0][0].At
	}
	f.done = f.done || f.before == 1
	return nil
}

func (f *feed) take() []store.Past {
	group := f.ready[0]
	f.ready = f.ready[1:]
	if len(f.ready) > 0 {
		f.at = f.ready[0][0].At
	} else {
		f.at = group[0].At
	}
	return group
}

// feeds sets up the repos at the place where the page begins. Times do not fall within
// a repo, so the place is found by halving.
func (d *Desk) feeds(ctx context.Context, caller ledger.Caller, repos []store.RepoInfo, q ActivityQuery, from place) ([]*feed, error) {
	var feeds []*feed
	for _, r := range repos {
		f := &feed{repo: r.Slug, at: r.Head.LastModified}
		upTo := time.Time{}
		if !q.Before.IsZero() {
			upTo = q.Before.Add(-time.Millisecond)
		}
		if from.version > 0 {
			at := time.UnixMilli(from.at).UTC()
			if r.Slug < from.repo {
				at = at.Add(-time.Millisecond)
			}
			if r.Slug == from.repo {
				f.before = from.version
			} else if upTo.IsZero() || at.Before(upTo) {
				upTo = at
			}
			if at.Before(f.at) {
				f.at = at
			}
		}
		if f.before == 0 && !upTo.IsZero() && r.Head.LastModified.After(upTo) {
			v, err := d.seek(ctx, caller, r, upTo)
			if err != nil {
				return nil, err
			}
			if v == 0 {
				continue
			}
			f.before = v + 1
			if upTo.Before(f.at) {
				f.at = upTo
			}
		}
		if f.before != 1 {
			feeds = append(feeds, f)
		}
	}
	return feeds, nil
}

// seek finds the newest version of a repo that was made by then; 0 when there is none.
// It steps back from the newest by twice as much each time, then halves.
func (d *Desk) seek(ctx context.Context, caller ledger.Caller, r store.RepoInfo, then time.Time) (api.Version, error) {
	made := func(v api.Version) (bool, error) {
		past, err := d.ledger.History(ctx, caller, r.Slug, "", v+1, 1)
		if api.CodeOf(err) == api.NotFound {
			return true, nil
		}
		return err == nil && (len(past) == 0 || !past[0].At.After(then)), err
	}
	late, early := r.Head.Version, r.Head.Version // late was made after then
	for step := api.Version(1); early > 0; step *= 2 {
		early = max(early-step, 0)
		if early == 0 {
			break
		}
		ok, err := made(early)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		late = early
	}
	for late-early > 1 {
		middle := early + (late-early)/2
		ok, err := made(middle)
		switch {
		case err != nil:
			return 0, err
		case ok:
			early = middle
		default:
			late = middle
		}
	}
	return early, nil
}

// place is the last version that a page looked at.
type place struct {
	at      int64 // milliseconds
	repo    api.RepoSlug
	version api.Version
}

func (p place) String() string {
	if p.version == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d.%s", p.at, p.version, p.repo)
}

func parsePlace(cursor string) (p place, err error) {
	if cursor == "" {
		return p, nil
	}
	bad := &api.Error{
		Code: api.InvalidRequest, Message: "the cursor is not one of an earlier answer", Details: api.Details{ErrorCode: api.ErrorCodeBadQuery},
	}
	parts := strings.SplitN(cursor, ".", 3)
	if len(parts) != 3 {
		return p, bad
	}
	if _, err := fmt.Sscanf(parts[0]+" "+parts[1], "%d %d", &p.at, &p.version); err != nil {
		return p, bad
	}
	if p.repo, err = api.ParseRepoSlug(parts[2]); err != nil || p.version < 1 || p.String() != cursor {
		return p, bad
	}
	return p, nil
}

// Seen keeps of some repos those that may be seen, in the order of their names.
func Seen(repos []store.RepoInfo, may func(api.RepoSlug) bool) []store.RepoInfo {
	seen := slices.DeleteFunc(slices.Clone(repos), func(r store.RepoInfo) bool { return !may(r.Slug) })
	slices.SortFunc(seen, func(a, b store.RepoInfo) int { return cmp.Compare(a.Slug, b.Slug) })
	return seen
}
