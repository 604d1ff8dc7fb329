package figures

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// onlineFor is how long after its last word a client that runs is taken for online:
// two of the words that it says at least.
const onlineFor = 11 * time.Minute

// Client is a client and what it last said of itself.
type Client struct {
	api.ClientReport
	User    string
	Machine string
	Repo    api.RepoSlug
	Seen    time.Time
	Online  bool
	Lag     api.Version // that it is behind the repo
}

// word is what is kept of a report.
type word struct {
	api.ClientReport
	Machine string       `json:"machine"`
	Repo    api.RepoSlug `json:"repo"`
}

// Report notes what a client says of itself. It never waits. Of too many between two
// writes the rest is not noted; they say it again.
func (d *Desk) Report(caller ledger.Caller, repo api.RepoSlug, report api.ClientReport) error {
	document, err := json.Marshal(word{report, caller.Client, repo})
	if err != nil {
		return err
	}
	at := client{caller.Org, caller.User, report.ID}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.clients[at]; known || len(d.clients) < mostNoted {
		d.clients[at] = store.Client{
			Org: at.org, User: at.user, UID: at.uid, Seen: d.now(), Document: document, UserName: caller.UserName,
		}
	}
	return nil
}

// Clients lists the clients of an organization, or with a user theirs, the one that was
// heard of last first. repos are those whose clients are told of, with what they are at;
// of others, which have no memory yet, where sees says so (nil: of none).
func (d *Desk) Clients(ctx context.Context, org store.OrgID, user store.UserID, repos []store.RepoInfo, sees func(api.RepoSlug) bool) ([]Client, error) {
	known, err := d.known(ctx, org, user)
	if err != nil {
		return nil, err
	}
	newest := map[client]store.Client{}
	for _, c := range known {
		at := client{c.Org, c.User, c.UID}
		if before, known := newest[at]; !known || c.Seen.After(before.Seen) {
			newest[at] = c
		}
	}
	heads := map[api.RepoSlug]api.Version{}
	for _, r := range repos {
		heads[r.Slug] = r.Head.Version
	}
	all := make([]Client, 0, len(newest))
	for _, c := range newest {
		var w word
		if json.Unmarshal(c.Document, &w) != nil {
			continue // of another form than this server's: it says it anew within minutes
		}
		head, told := heads[w.Repo]
		if user == 0 && !told && (sees == nil || !sees(w.Repo)) {
			continue
		}
		one := Client{ClientReport: w.ClientReport, User: c.UserName, Machine: w.Machine, Repo: w.Repo, Seen: c.Seen}
		one.Online = w.State == api.ClientRunning && d.now().Sub(c.Seen) < onlineFor
		one.Lag = max(head-w.At, 0)
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(b.Seen.Compare(a.Seen), cmp.Compare(a.User, b.User), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// known are those that are written and those that wait.
func (d *Desk) known(ctx context.Context, org store.OrgID, user store.UserID) ([]store.Client, error) {
	d.noting.RLock()
	defer d.noting.RUnlock()
	written, err := d.store.Clients(ctx, org, user)
	return append(written, d.unwritten(org, user)...), err
}

func (d *Desk) unwritten(org store.OrgID, user store.UserID) (all []store.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, c := range d.clients {
		if at.org == org && (user == 0 || at.user == user) {
			all = append(all, c)
		}
	}
	return all
}
