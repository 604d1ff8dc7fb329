package leak

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// Who carries a scan on.
const (
	ByServer  = "server"  // a server that was asked over the wire, or another on its database
	ByCommand = "command" // whoever runs it
)

const (
	// staleAfter is how long a server's scan stands still before another goes on with it.
	staleAfter = time.Minute
	// lookForScans is how often servers look for such scans.
	lookForScans = 30 * time.Second
	// mostScans is how many scans are looked at.
	mostScans = 100
)

// StartScan goes on with the scan that is under way, or with restart begins another.
func (d *Desk) StartScan(ctx context.Context, caller ledger.Caller, ask api.StartScan, origin string) (store.Scan, error) {
	scans, err := d.store.Scans(ctx, caller.Org, mostScans)
	if err != nil {
		return store.Scan{}, fmt.Errorf("list the scans: %w", err)
	}
	for _, scan := range scans {
		if scan.State != api.ScanRunning || scan.Slug != ask.Repo || scan.Origin != origin {
			continue
		}
		if !ask.Restart {
			return d.take(scan), nil
		}
		scan.State, scan.Step, scan.Updated = api.ScanStopped, scan.Step+1, d.now()
		if err := d.store.SaveScan(ctx, scan, nil); err != nil && !errors.Is(err, store.ErrExists) {
			return store.Scan{}, fmt.Errorf("stop the scan under way: %w", err)
		}
	}
	now := d.now()
	scan, err := d.store.CreateScan(ctx, store.Scan{
		UID: "scan_" + strings.ToLower(rand.Text()), Org: caller.Org, Slug: ask.Repo, Origin: origin, User: caller.UserName,
		State: api.ScanRunning, At: now, Updated: now, Place: []byte("{}"),
	})
	if err != nil {
		return scan, fmt.Errorf("begin the scan: %w", err)
	}
	return d.take(scan), nil
}

// take makes a server's scan one of this server, and has it looked at.
func (d *Desk) take(scan store.Scan) store.Scan {
	if scan.Origin != ByServer {
		return scan
	}
	d.mu.Lock()
	d.mine[scan.UID] = true
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return scan
}

// runScans carries on with the scans of servers, until ctx ends.
func (d *Desk) runScans(ctx context.Context) {
	tick := time.NewTicker(lookForScans)
	defer tick.Stop()
	for {
		if err := d.runWaiting(ctx); err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "a scan stands still and is gone on with later", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-tick.C:
		}
	}
}

// runWaiting runs what was asked of this server, or stands still elsewhere.
func (d *Desk) runWaiting(ctx context.Context) error {
	scans, err := d.store.Scans(ctx, 0, mostScans)
	if err != nil {
		return err
	}
	for _, scan := range slices.Backward(scans) {
		d.mu.Lock()
		mine := d.mine[scan.UID]
		d.mu.Unlock()
		if scan.State != api.ScanRunning || scan.Origin != ByServer || !mine && d.now().Sub(scan.Updated) < staleAfter {
			continue
		}
		caller, err := d.callerOf(ctx, scan)
		if err != nil {
			return err
		}
		if _, err := d.RunScan(ctx, caller, scan, nil); err != nil && !errors.Is(err, store.ErrExists) {
			return err
		}
		d.mu.Lock()
		delete(d.mine, scan.UID)
		d.mu.Unlock()
	}
	return nil
}

func (d *Desk) callerOf(ctx context.Context, scan store.Scan) (ledger.Caller, error) {
	orgs, err := d.store.Organizations(ctx)
	if err != nil {
		return ledger.Caller{}, fmt.Errorf("list the organizations: %w", err)
	}
	for _, org := range orgs {
		if org.ID == scan.Org {
			return Operator(org), nil
		}
	}
	return ledger.Caller{}, fmt.Errorf("the organization of scan %s: %w", scan.UID, store.ErrNotFound)
}

// place is where a scan goes on, and what it has seen.
type place struct {
	Repo    store.RepoID `json:"repo"` // the first that is not done
	Version api.Version  `json:"version"`
	Key     api.Key      `json:"key"`
	Done    int64        `json:"done"` // versions of repos
	Of      int64        `json:"of"`
	Texts   int64        `json:"texts"`
	Bytes   int64        `json:"bytes"`
}

// run is one scan under way.
type run struct {
	*Desk
	caller   ledger.Caller
	scan     store.Scan
	place    place
	seen     map[seenText][]ledger.Examined
	progress func(api.Scan)
}

type seenText struct {
	sum api.Checksum
	key api.Key
}

// mostSeen is how many texts are remembered, so that one that stands in several places
// is scanned once.
const mostSeen = 10_000

// RunScan goes on with a scan to its end, or until ctx ends: it can be gone on with
// then. [store.ErrExists] when somebody else goes on with it. progress may be nil.
func (d *Desk) RunScan(ctx context.Context, caller ledger.Caller, scan store.Scan, progress func(api.Scan)) (store.Scan, error) {
	r := &run{Desk: d, caller: caller, scan: scan, seen: map[seenText][]ledger.Examined{}, progress: progress}
	if err := json.Unmarshal(scan.Place, &r.place); err != nil {
		return scan, fmt.Errorf("read where scan %s is: %w", scan.UID, err)
	}
	repos, err := d.reposOf(ctx, caller, scan.Slug)
	if err != nil {
		return scan, err
	}
	r.place.Of = r.place.Done
	for _, repo := range repos {
		if repo.Head.ID > r.place.Repo || repo.Head.ID == r.place.Repo && r.place.Version == 0 {
			r.place.Of += int64(repo.Head.Version)
		} else if repo.Head.ID == r.place.Repo {
			r.place.Of += max(0, int64(repo.Head.Version-r.place.Version))
		}
	}
	for _, repo := range repos {
		if repo.Head.ID < r.place.Repo {
			continue
		}
		if repo.Head.ID > r.place.Repo {
			r.place.Repo, r.place.Version, r.place.Key = repo.Head.ID, 0, ""
		}
		if err := r.repo(ctx, repo); err != nil {
			return r.scan, err
		}
	}
	r.scan.State = api.ScanDone
	err = r.save(ctx, nil)
	return r.scan, err
}

// reposOf lists the repos to look through in an order that stays.
func (d *Desk) reposOf(ctx context.Context, caller ledger.Caller, slug api.RepoSlug) ([]store.RepoInfo, error) {
	repos, err := d.store.Repos(ctx, caller.Org)
	if err != nil {
		return nil, fmt.Errorf("list the repos: %w", err)
	}
	repos = slices.DeleteFunc(repos, func(r store.RepoInfo) bool { return slug != "" && r.Slug != slug })
	if slug != "" && len(repos) == 0 {
		return nil, &api.Error{
			Code: api.NotFound, Message: fmt.Sprintf("the organization has no repo %s", slug), Details: api.Details{ErrorCode: api.ErrorCodeUnknown},
		}
	}
	slices.SortFunc(repos, func(a, b store.RepoInfo) int { return cmp.Compare(a.Head.ID, b.Head.ID) })
	return repos, nil
}

// atOnce is how many versions are read and scanned before a rest.
const atOnce = 100

// text is one place where a content stands.
type text struct {
	row     store.Row
	finding api.ScanFinding // without what is found
	until   api.Version
	author  store.UserID // of a proposal
}

// repo looks through one repo from where the scan is.
func (r *run) repo(ctx context.Context, repo store.RepoInfo) error {
	who := &readers{desk: r.Desk, ref: store.RepoRef{Org: r.caller.Org, Slug: repo.Slug}}
	for {
		began := time.Now()
		page, err := r.store.Holders(ctx, who.ref, store.HolderQuery{Version: r.place.Version, Key: r.place.Key, Limit: atOnce})
		if err != nil {
			return fmt.Errorf("look through %s: %w", repo.Slug, err)
		}
		texts := make([]text, len(page))
		for i, h := range page {
			texts[i] = text{row: store.Row{Key: h.Key, Checksum: h.Checksum, Size: h.Size}, until: h.Until, finding: api.ScanFinding{
				Repo: repo.Slug, Key: h.Key, Version: h.Version, Checksum: h.Checksum, User: h.UserName, Client: h.Client, At: api.NewTime(h.At), Current: h.Until == 0,
			}}
		}
		if len(page) < atOnce {
			return r.last(ctx, repo, who, texts)
		}
		found, err := r.examine(ctx, who, texts)
		if err != nil {
			return err
		}
		last := page[len(page)-1]
		r.place.Done += int64(last.Version - r.place.Version)
		r.place.Version, r.place.Key = last.Version, last.Key
		if err := r.save(ctx, found); err != nil {
			return err
		}
		if err := rest(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// last looks through what is left of a repo's versions, and its proposals.
func (r *run) last(ctx context.Context, repo store.RepoInfo, who *readers, texts []text) error {
	err := r.ledger.EachProposal(ctx, r.caller, repo.Slug, func(p store.Proposal) error {
		texts = append(texts, text{row: store.Row{Key: p.Key, Checksum: p.Checksum, Size: p.Size}, author: p.Author, finding: api.ScanFinding{
			Repo: repo.Slug, Key: p.Key, Version: p.Version, Checksum: p.Checksum, User: p.User, Client: p.Client, At: api.NewTime(p.At),
			Current: p.State == api.ProposalOpen, Proposal: p.UID,
		}})
		return nil
	})
	if err != nil {
		return err
	}
	var found [][]byte
	for piece := range slices.Chunk(texts, atOnce) {
		began := time.Now()
		more, err := r.examine(ctx, who, piece)
		if err != nil {
			return err
		}
		found = append(found, more...)
		if len(texts) > atOnce {
			if err := rest(ctx, time.Since(began)); err != nil {
				return err
			}
		}
	}
	r.place.Done += max(0, int64(repo.Head.Version-r.place.Version))
	r.place.Repo, r.place.Version, r.place.Key = repo.Head.ID+1, 0, ""
	return r.save(ctx, found)
}

// rest gives the server as much time as a batch took.
func rest(ctx context.Context, took time.Duration) error {
	pause := time.NewTimer(min(took, time.Second))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-pause.C:
		return nil
	}
}

// save writes where the scan is and what it found, as one step.
func (r *run) save(ctx context.Context, found [][]byte) error {
	var err error
	if r.scan.Place, err = json.Marshal(r.place); err != nil {
		return fmt.Errorf("encode the scan's place: %w", err)
	}
	r.scan.Step++
	r.scan.Updated = r.now()
	r.scan.Found += len(found)
	if err := r.store.SaveScan(ctx, r.scan, found); err != nil {
		return fmt.Errorf("save the scan: %w", err)
	}
	if r.progress != nil {
		wire, err := wireScan(r.scan)
		if err != nil {
			return err
		}
		r.progress(wire)
	}
	return nil
}

// mostOfText is how many findings of one text are reported.
const mostOfText = 100

// examine scans texts, and gives what the policy does not accept as it is reported.
func (r *run) examine(ctx context.Context, who *readers, texts []text) (found [][]byte, err error) {
	for _, t := range texts {
		examined, err := r.examineOne(ctx, t.row)
		if err != nil {
			return nil, err
		}
		for i, e := range examined {
			if i == mostOfText {
				break
			}
			f := t.finding
			f.Rule, f.Class, f.Verdict, f.Line, f.Fingerprint = e.Rule, e.Class, e.Verdict, e.Line, e.Fingerprint
			if f.Pulled, err = who.of(ctx, t); err != nil {
				return nil, err
			}
			document, err := json.Marshal(f)
			if err != nil {
				return nil, fmt.Errorf("encode a finding: %w", err)
			}
			found = append(found, document)
		}
	}
	return found, nil
}

// examineOne scans one text. One that was withdrawn meanwhile, or cannot be read, holds
// nothing.
func (r *run) examineOne(ctx context.Context, row store.Row) (found []ledger.Examined, err error) {
	id := seenText{row.Checksum, row.Key}
	if found, ok := r.seen[id]; ok {
		return found, nil
	}
	err = r.ledger.Bodies(ctx, r.caller, []store.Row{row}, func(_ store.Row, content []byte) error {
		r.place.Texts++
		r.place.Bytes += int64(len(content))
		found, err = r.ledger.Examine(ctx, r.caller, row.Key, content)
		return err
	})
	if gone(err) || damaged(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(e ledger.Examined) bool { return e.Verdict == api.VerdictAccept })
	if len(r.seen) >= mostSeen {
		clear(r.seen)
	}
	r.seen[id] = found
	return found, nil
}

// readers are whom a repo was served to, read when first asked.
type readers struct {
	desk  *Desk
	ref   store.RepoRef
	pulls []store.Pull
	read  bool
}

// mostReaders is how many clients are named with one finding.
const mostReaders = 1000

// of gives those that were served the repo while it held a text.
func (w *readers) of(ctx context.Context, t text) ([]api.PulledBy, error) {
	if !w.read {
		pulls, err := w.desk.store.Pulls(ctx, w.ref)
		if err != nil {
			return nil, fmt.Errorf("read who was served %s: %w", w.ref.Slug, err)
		}
		w.pulls, w.read = pulls, true
	}
	all := []api.PulledBy{}
	for _, p := range w.pulls {
		if p.Newest < t.finding.Version || t.until > 0 && p.Oldest >= t.until || t.author != 0 && p.User != t.author {
			continue
		}
		if len(all) == mostReaders {
			break
		}
		all = append(all, api.PulledBy{User: p.UserName, Token: p.TokenUID, Client: p.Client, Version: p.Newest, At: api.NewTime(p.At)})
	}
	return all, nil
}

// withFingerprint looks through everything for texts that hold a value.
func (d *Desk) withFingerprint(ctx context.Context, caller ledger.Caller, fingerprint string, progress func(done, of int64)) (sums []api.Checksum, err error) {
	repos, err := d.reposOf(ctx, caller, "")
	if err != nil {
		return nil, err
	}
	var done, of int64
	for _, repo := range repos {
		of += int64(repo.Head.Version)
	}
	holds := map[api.Checksum]bool{}
	look := func(row store.Row) error {
		if _, seen := holds[row.Checksum]; seen {
			return nil
		}
		err := d.ledger.Bodies(ctx, caller, []store.Row{row}, func(_ store.Row, content []byte) error {
			found, err := d.ledger.Examine(ctx, caller, row.Key, content)
			holds[row.Checksum] = slices.ContainsFunc(found, func(e ledger.Examined) bool { return e.Fingerprint == fingerprint && e.Line > 0 })
			return err
		})
		if gone(err) || damaged(err) {
			return nil
		}
		return err
	}
	for _, repo := range repos {
		if err := d.eachText(ctx, caller, repo, look, func(version api.Version) {
			if progress != nil {
				progress(done+int64(version), of)
			}
		}); err != nil {
			return nil, err
		}
		done += int64(repo.Head.Version)
	}
	for sum, has := range holds {
		if has {
			sums = append(sums, sum)
		}
	}
	slices.Sort(sums)
	return sums, nil
}

// eachText calls look with every text of a repo, its proposals' included.
func (d *Desk) eachText(ctx context.Context, caller ledger.Caller, repo store.RepoInfo, look func(store.Row) error, at func(api.Version)) error {
	q := store.HolderQuery{Limit: atOnce}
	for {
		began := time.Now()
		page, err := d.store.Holders(ctx, store.RepoRef{Org: caller.Org, Slug: repo.Slug}, q)
		if err != nil {
			return fmt.Errorf("look through %s: %w", repo.Slug, err)
		}
		for _, h := range page {
			if err := look(store.Row{Key: h.Key, Checksum: h.Checksum}); err != nil {
				return err
			}
		}
		if len(page) < atOnce {
			break
		}
		q.Version, q.Key = page[len(page)-1].Version, page[len(page)-1].Key
		at(q.Version)
		if err := rest(ctx, time.Since(began)); err != nil {
			return err
		}
	}
	return d.ledger.EachProposal(ctx, caller, repo.Slug, func(p store.Proposal) error {
		return look(store.Row{Key: p.Key, Checksum: p.Checksum})
	})
}

// Scan gives a scan as far as it is, with at most limit of its findings, from number
// after on.
func (d *Desk) Scan(ctx context.Context, caller ledger.Caller, uid string, after, limit int) (api.Scan, error) {
	scan, err := d.store.Scan(ctx, caller.Org, uid)
	if errors.Is(err, store.ErrNotFound) {
		return api.Scan{}, &api.Error{Code: api.NotFound, Message: fmt.Sprintf("there is no scan %q", uid), Details: api.Details{ErrorCode: api.ErrorCodeNoScan}}
	}
	if err != nil {
		return api.Scan{}, fmt.Errorf("find the scan: %w", err)
	}
	wire, err := wireScan(scan)
	if err != nil {
		return wire, err
	}
	documents, err := d.store.ScanFindings(ctx, scan.ID, after, limit)
	if err != nil {
		return wire, fmt.Errorf("read what the scan found: %w", err)
	}
	for _, document := range documents {
		var f api.ScanFinding
		if err := json.Unmarshal(document, &f); err != nil {
			return wire, fmt.Errorf("read a finding: %w", err)
		}
		wire.Findings = append(wire.Findings, f)
	}
	return wire, nil
}

func wireScan(s store.Scan) (api.Scan, error) {
	var p place
	if err := json.Unmarshal(s.Place, &p); err != nil {
		return api.Scan{}, fmt.Errorf("read where scan %s is: %w", s.UID, err)
	}
	return api.Scan{
		ID: s.UID, Repo: s.Slug, State: s.State, User: s.User, Started: api.NewTime(s.At), Updated: api.NewTime(s.Updated),
		Versions: api.Progress{Done: p.Done, Of: p.Of}, Texts: p.Texts, Bytes: p.Bytes, Found: s.Found, Findings: []api.ScanFinding{},
	}, nil
}
