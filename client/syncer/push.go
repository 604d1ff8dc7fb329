package syncer

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/state"
)

// Kinds of refusal, as state.Refusal.Kind holds them.
const (
	RefusedSecret = "secret" // held here by the scanner
	RefusedPolicy = "policy" // the server's scan refused it; another policy ends it
	RefusedKey    = "key"    // cannot be pushed under this name
	RefusedLimit  = "limit"  // more than the server takes
	RefusedClash  = "clash"  // cannot stand beside a key that has come to the server; news ends it
	RefusedServer = "server" // the server said no
)

// item is one key on its way to the server.
type item struct {
	key  api.Key
	base api.Checksum
	sum  api.Checksum // empty: a deletion
	from api.Key      // of a new spelling: the old one, whose checksum is base
	text []byte
	at   time.Time
	size int // of its part of the body
}

// push carries out the part of a plan that changes the server: sorted batches,
// topics before indexes, one after another, each on what the one before left.
func (s *Syncer) push(ctx context.Context, plan []Action, here *here, there *there, report *Report) error {
	if err := s.askPolicy(ctx, plan, here, report); err != nil {
		return err
	}
	items, err := s.pushable(plan, here, report)
	if err != nil {
		return err
	}
	sender := &sender{Syncer: s, report: report, etag: there.checksum}
	defer sender.tellFull()
	done := 0
	for _, batch := range batches(items, s.opts.Limits.BatchBytes) {
		if err := sender.send(ctx, batch); err != nil {
			return err
		}
		done += len(batch)
		s.opts.Progress("pushing", done, len(items))
	}
	return nil
}

// askPolicy makes sure that what is known of the policy is not old, when there is
// something to push, or a file is held for its name, which another policy lets out.
func (s *Syncer) askPolicy(ctx context.Context, plan []Action, here *here, report *Report) error {
	if len(here.nameless) == 0 && !slices.ContainsFunc(plan, func(a Action) bool { return a.Kind == Push || a.Kind == Respell }) {
		return nil
	}
	changed, err := s.guard.Refresh(ctx)
	if changed {
		report.Pending = report.Pending || len(here.nameless) > 0
		s.forgiveRefusals(RefusedPolicy)
	}
	return err
}

// pushable reads and scans what the plan wants to push. What may not leave is
// named and stays.
func (s *Syncer) pushable(plan []Action, here *here, report *Report) ([]item, error) {
	var items []item
	refused := map[api.Key]bool{}
	for _, a := range plan {
		switch a.Kind {
		case Delete:
			items = append(items, item{key: a.Key, base: a.Base, size: len(a.Key) + bodyOverhead})
		case Hold:
			refused[a.Key] = true
			s.refuse(a.Key, state.Refusal{Checksum: a.Local, Kind: RefusedKey, Message: a.Why})
		case Push, Respell:
			it, verdict := s.pushItem(a, here, report)
			switch verdict {
			case goes:
				items = append(items, it)
			case stays:
				refused[a.Key] = true
			}
		}
	}
	for key := range s.agreed.Refused {
		if !refused[key] && !here.nameless[key] {
			delete(s.agreed.Refused, key)
			s.dirty = true
		}
	}
	slices.SortStableFunc(items, func(a, b item) int {
		switch {
		case a.key.IsIndex() == b.key.IsIndex():
			return 0
		case a.key.IsIndex():
			return 1
		}
		return -1
	})
	return items, nil
}

type verdict int

const (
	goes  verdict = iota
	stays         // refused, and told
	later         // changed under the round
)

func (s *Syncer) pushItem(a Action, here *here, report *Report) (item, verdict) {
	if r, ok := s.agreed.Refused[a.Key]; ok && r.Checksum == a.Local && slices.Contains([]string{RefusedLimit, RefusedClash, RefusedServer, RefusedPolicy}, r.Kind) {
		return item{}, stays
	}
	if !s.opts.PerKey && a.Base == "" && s.agreed.Tombstones[a.Key] == a.Local {
		// Without bases by key this cannot be told from a client that has not heard of
		// the deletion yet: the server would answer well, and keep it deleted.
		s.refuse(a.Key, state.Refusal{Checksum: a.Local, Kind: RefusedServer, Message: "was deleted at the server, which takes it back only with another text"})
		return item{}, stays
	}
	text, err := s.dir.Read(a.Key, s.opts.Limits.EntryBytes)
	if err != nil || api.ChecksumOf(text) != a.Local {
		report.Pending = true
		return item{}, later
	}
	if r, held := s.scan(a.Key, text); held {
		r.Checksum = a.Local
		s.refuse(a.Key, r)
		return item{}, stays
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		s.refuse(a.Key, state.Refusal{Checksum: a.Local, Kind: RefusedKey, Message: err.Error()})
		return item{}, stays
	}
	return item{
		key: a.Key, base: a.Base, sum: a.Local, text: text, from: a.From,
		at:   time.Unix(0, here.files[a.Key].Fingerprint.MTime),
		size: len(quoted) + len(a.Key) + bodyOverhead,
	}, goes
}

// scan holds back what must not leave. A guard that fails sends nothing.
func (s *Syncer) scan(key api.Key, text []byte) (r state.Refusal, held bool) {
	judged, err := s.guard.Judge(key, text)
	if err != nil {
		return state.Refusal{Kind: RefusedSecret, Rule: RuleScanner, Message: "could not be scanned for secrets: " + err.Error()}, true
	}
	worst := guard.Worst(judged)
	switch {
	case worst == nil:
	case worst.Verdict == api.VerdictRefuse:
		return state.Refusal{Kind: RefusedSecret, Rule: worst.Rule, Line: worst.Line}, true
	case worst.Verdict == api.VerdictHold && !s.guard.Reviews():
		return state.Refusal{Kind: RefusedSecret, Rule: worst.Rule, Line: worst.Line, Message: "has to be reviewed, and this server knows no review"}, true
	}
	return state.Refusal{}, false
}

// tellProposed says that what was sent waits for approval, or was turned down before.
func (s *Syncer) tellProposed(h api.Held) {
	e := Event{Kind: EventProposed, Keys: []api.Key{h.Key}, Rule: h.Rule, Line: h.Line, Text: h.Reason}
	if h.State == api.ProposalRejected {
		e.Kind, e.Hint = EventRefused, "edit it to propose it anew"
	}
	s.tell(e)
}

// RuleScanner stands for a rule where a text could not be scanned at all.
const RuleScanner = "scanner"

// refuse notes a refusal and tells of it once.
func (s *Syncer) refuse(key api.Key, r state.Refusal) {
	s.note(key, r)
	e := Event{Kind: EventRefused, Keys: []api.Key{key}, Text: r.Message, Hint: "it is tried again when the file changes"}
	if r.Held() {
		e = Event{Kind: EventHeld, Keys: []api.Key{key}, Text: r.Message, Rule: r.Rule, Line: r.Line, Hint: "client secrets"}
		if r.Line > 0 { // not in the name, which is shown cut
			e.Hint += " " + string(key)
		}
	}
	s.once(e, string(r.Checksum)+r.Kind+r.Rule)
}

// note writes a refusal down.
func (s *Syncer) note(key api.Key, r state.Refusal) {
	if old, ok := s.agreed.Refused[key]; ok && old.Checksum == r.Checksum && old.Kind == r.Kind && old.Rule == r.Rule {
		r.Since = old.Since
	} else {
		r.Since = s.now()
	}
	if s.agreed.Refused[key] != r {
		s.agreed.Refused[key] = r
		s.dirty = true
	}
}

func (s *Syncer) forgiveRefusals(kinds ...string) bool {
	return s.forgive(func(r state.Refusal) bool { return slices.Contains(kinds, r.Kind) })
}

// forgive forgets the refusals of which whether says so, and reports whether there
// were any.
func (s *Syncer) forgive(whether func(state.Refusal) bool) (any bool) {
	for key, r := range s.agreed.Refused {
		if whether(r) {
			delete(s.agreed.Refused, key)
			s.dirty, any = true, true
		}
	}
	return any
}

// bodyOverhead is what an entry takes in a body beside its key and its text: the
// key twice more, a checksum, a time, punctuation.
const bodyOverhead = 160

// batches fills bodies up to most bytes, greedily and in order. An item that is
// larger than that travels alone.
func batches(items []item, most int) [][]item {
	var all [][]item
	var batch []item
	size := 0
	for _, it := range items {
		if len(batch) > 0 && size+it.size > most {
			all, batch, size = append(all, batch), nil, 0
		}
		batch, size = append(batch, it), size+it.size
	}
	if len(batch) > 0 {
		all = append(all, batch)
	}
	return all
}

// sender sends the batches of one push.
type sender struct {
	*Syncer
	report *Report
	etag   api.Checksum // of the state after the last batch
	full   room         // what the server said of the room for new entries
}

// send sends a batch. Of a batch that is refused for good it finds the entries
// that are to blame by halving it, so that the others still get in.
func (s *sender) send(ctx context.Context, batch []item) error {
	if batch = s.withRoom(batch); len(batch) == 0 {
		return nil
	}
	push, ifMatch := s.body(batch)
	result, err := s.server.Put(ctx, s.opts.Repo, push, ifMatch)
	if err == nil {
		s.sent(batch, result)
		return s.save()
	}
	e, ok := api.AsError(err)
	if !ok || e.Code.Temporary() {
		s.doubt() // it may have been carried out
		return err
	}
	switch {
	case e.Code == api.Conflict:
		return errStale
	case !blamesEntry(e):
		return err
	}
	if e.Details.ErrorCode == api.ErrorCodeTooManyRepos {
		s.full.learn(e, nil)
		s.hold(batch, e)
		return nil
	}
	if rest := s.withoutRefused(batch, e); len(rest) < len(batch) {
		return s.send(ctx, rest)
	}
	if len(batch) == 1 {
		s.refusedItem(batch[0], e)
		return nil
	}
	half := len(batch) / 2
	if err := s.send(ctx, batch[:half]); err != nil {
		return err
	}
	return s.send(ctx, batch[half:])
}

// withoutRefused notes what the server's scan refused, in the words of our own, and
// gives the rest of the batch. Where the two judge differently the policy has changed.
func (s *sender) withoutRefused(batch []item, e *api.Error) (rest []item) {
	first := make(map[api.Key]api.EntryFinding, len(e.Details.Refused))
	for _, f := range e.Details.Refused {
		if _, ok := first[f.Key]; !ok {
			first[f.Key] = f
		}
	}
	for _, it := range batch {
		f, refused := first[it.key]
		if !refused || it.sum == "" {
			rest = append(rest, it)
			continue
		}
		s.guard.Forget()
		s.refuse(it.key, state.Refusal{Checksum: it.sum, Kind: RefusedPolicy, Rule: f.Rule, Line: f.Line, Message: "the server refuses it"})
	}
	return rest
}

// blamesEntry reports whether a refusal may be the fault of one entry rather
// than of the request, the caller or the server.
func blamesEntry(e *api.Error) bool {
	switch e.Code {
	case api.RequestTooLarge, api.Refused:
		return true
	case api.InvalidRequest:
		return !e.Foreign && e.Details.ErrorCode != api.ErrorCodeBadRepo && e.Status == 0
	}
	return false
}

func (s *sender) body(batch []item) (push api.Push, ifMatch api.Checksum) {
	push.Entries = make(map[api.Key]string, len(batch))
	push.Modified = make(map[api.Key]api.Time, len(batch))
	bases := make(map[api.Key]*api.Checksum, len(batch))
	for _, it := range batch {
		bases[it.key] = nil
		switch {
		case it.from != "":
			bases[it.from] = &it.base
			push.Deletions = append(push.Deletions, it.from)
		case it.base != "":
			bases[it.key] = &it.base
		}
		if it.sum == "" {
			push.Deletions = append(push.Deletions, it.key)
			continue
		}
		push.Entries[it.key] = string(it.text)
		push.Modified[it.key] = api.NewTime(it.at)
	}
	if !s.opts.PerKey {
		return push, s.etag
	}
	push.BaseChecksums = bases
	return push, ""
}

// sent notes what the server has taken.
func (s *sender) sent(batch []item, result api.PushResult) {
	var pushed, proposed, deleted []api.Key
	held := make(map[api.Key]api.Held, len(result.Held))
	for _, h := range result.Held {
		held[h.Key] = h
	}
	for _, it := range batch {
		if it.sum == "" {
			s.dropped(it.key, &there{deleted: map[api.Key]api.Checksum{it.key: it.base}})
			deleted = append(deleted, it.key)
			continue
		}
		s.agree(it.key, it.sum)
		s.remember(it.sum, it.text)
		if it.from != "" {
			s.dropped(it.from, &there{deleted: map[api.Key]api.Checksum{it.from: it.base}})
		}
		if h, ok := held[it.key]; ok {
			s.tellProposed(h)
			proposed = append(proposed, it.key)
			continue
		}
		pushed = append(pushed, it.key)
	}
	s.full.fill(batch)
	s.report.Changed = true
	s.report.Uploaded = append(append(s.report.Uploaded, pushed...), proposed...)
	s.report.Deleted = append(s.report.Deleted, deleted...)
	s.tellKeys(EventPushed, pushed)
	s.tellKeys(EventDeleted, deleted)
	s.etag = result.Checksum
	sameLife := result.Epoch == "" || s.agreed.Epoch == "" || result.Epoch == s.agreed.Epoch
	switch {
	case sameLife && result.Changed && result.Version == s.agreed.Version+1 && !s.unsure:
		// Nobody else wrote in between, so this is the whole news. A push that found
		// all of it there already says nothing of what came with that.
		s.agreed.Version, s.agreed.Checksum = result.Version, result.Checksum
		if result.Epoch != "" {
			s.agreed.Epoch = result.Epoch
		}
	case !sameLife, result.Version > s.agreed.Version:
		s.report.Pending = true
		s.doubt()
	}
	if s.agreed.OrganizationID == "" {
		s.agreed.OrganizationID = result.OrganizationID
	}
	if s.agreed.Epoch == "" {
		s.agreed.Epoch = result.Epoch // what was agreed just now is of this life
	}
	s.dirty = true
}

func (s *sender) refusedItem(it item, e *api.Error) {
	r := state.Refusal{Checksum: it.sum, Kind: RefusedServer, Rule: e.Details.ErrorCode, Message: e.Message}
	if e.Code == api.RequestTooLarge {
		if s.full.learn(e, &it) {
			s.hold([]item{it}, e)
			return
		}
		r.Kind, r.Limit = RefusedLimit, e.Details.MaxBytes
	}
	if e.Details.ErrorCode == api.ErrorCodeKeyTwin || e.Details.ErrorCode == api.ErrorCodeKeyDirectory {
		r.Kind = RefusedClash
		s.doubt() // had the plan known the other key, it would have held this one
	}
	s.refuse(it.key, r)
}
