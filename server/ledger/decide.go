package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// decide is the change that [request.decide] makes.
func decide(state store.State, ask *request, now time.Time) (*store.Change, error) {
	made, err := ask.decide(state, now)
	return made.change, err
}

// decide is the rules of a PUT: what becomes of a repo in this state when this is
// asked. It answers with the change, with none when all that is asked already
// stands, or with the refusal. It is pure and may be asked again. All that is asked
// is held against what the caller sees, their own proposals included; what is
// written for everybody also against what everybody sees.
//
// The order counts. What already stands is never refused, whatever the request
// says of its base, so that a retry after a lost reply succeeds. A request from
// an old state hears of that before it hears of twins and limits, which may be
// gone in the new one.
func (r *request) decide(state store.State, now time.Time) (decision, error) {
	now = api.NewTime(now).Time
	seen, err := stateFor(state)
	if err != nil {
		return decision{}, err
	}
	pending, rejected := r.pending(seen, now)
	if len(pending) == 0 {
		return decision{head: seen.Head, held: rejected}, nil
	}
	if err := r.check(seen, pending); err != nil {
		return decision{}, err
	}
	p, err := r.part(state, pending)
	if err != nil {
		return decision{}, err
	}
	if err := checkNeighbours(state, p.direct); err != nil {
		return decision{}, err
	}
	made, err := r.change(state, p, now)
	made.held = append(made.held, rejected...)
	return made, err
}

// check holds what is pending against what the caller sees.
func (r *request) check(seen store.State, pending []store.Write) error {
	if err := r.checkSizes(pending); err != nil {
		return err
	}
	standing := func(key api.Key) api.Checksum { return live(seen, key).Checksum }
	if refusal := r.precondition.Holds(seen.Head.Version, checksumOfHead(seen.Head), standing, keysOf(pending)); refusal != nil {
		return refusal
	}
	if err := r.checkFindings(pending); err != nil {
		return err
	}
	if err := checkNeighbours(seen, pending); err != nil {
		return err
	}
	if err := r.checkCount(seen.Head, pending); err != nil {
		return err
	}
	return r.checkBytes(seen, pending)
}

// live is the row of a key that has a content, or the zero row.
func live(state store.State, key api.Key) store.Row {
	if row, ok := state.Rows[key]; ok && !row.Deleted {
		return row
	}
	return store.Row{}
}

// checksumOfHead is the head's checksum, which for a repo without memory is that
// of the empty set: a client that was told it may name it.
func checksumOfHead(head store.Head) api.Checksum {
	if head.Version == 0 {
		return new(set).checksum()
	}
	return head.Checksum
}

// pending is what is left to be done in this state, in key order. What was rejected
// before, byte for byte, is not proposed again: it is told apart.
func (r *request) pending(state store.State, now time.Time) (all []store.Write, rejected []api.Held) {
	renamed := map[string]bool{} // folds of keys that the request takes away
	for _, key := range r.deletes {
		row := live(state, key)
		if row.Checksum == "" {
			continue
		}
		fold := key.Fold()
		renamed[fold] = true
		all = append(all, store.Write{
			Key: key, Fold: fold, Checksum: row.Checksum, Previous: row.Checksum, Deleted: true, Size: row.Size, Modified: r.fileTime(key, now),
		})
	}
	for _, w := range r.writes {
		fold := w.key.Fold()
		previous := live(state, w.key).Checksum
		if s, ok := shadowOf(state.Mine, w.key); ok && s.State == api.ProposalRejected && !s.Deleted && s.Checksum == w.body.Checksum && previous != w.body.Checksum {
			rejected = append(rejected, wireHeld(s.Proposal, detail{}))
			continue
		}
		if previous == w.body.Checksum || r.staysDeleted(state, w) && !renamed[fold] {
			continue
		}
		all = append(all, store.Write{
			Key: w.key, Fold: fold, Checksum: w.body.Checksum, Previous: previous, Size: w.body.Size, Modified: r.fileTime(w.key, now), Body: w.body,
		})
	}
	slices.SortFunc(all, func(a, b store.Write) int { return cmp.Compare(a.Key, b.Key) })
	return all, rejected
}

// staysDeleted reports whether a write brings exactly what was deleted and does
// not say that it means to restore it: a client that knows no tombstones sends up
// again the file it still has. A rename back to a deleted spelling means it.
func (r *request) staysDeleted(state store.State, w write) bool {
	row, known := state.Rows[w.key]
	_, named := r.precondition.Base[w.key]
	return known && row.Deleted && row.Checksum == w.body.Checksum && !named
}

// fileTime is the file's own time, which is never in the future.
func (r *request) fileTime(key api.Key, now time.Time) time.Time {
	if t, named := r.modified[key]; named && t.Before(now) {
		return api.NewTime(t.Time).Time
	}
	return now
}

func (r *request) checkSizes(pending []store.Write) error {
	for _, w := range pending {
		if w.Deleted || w.Size <= r.entryBytes {
			continue
		}
		return &api.Error{
			Code:    api.RequestTooLarge,
			Message: fmt.Sprintf("the entry %q has %d bytes and may have %d", w.Key, w.Size, r.entryBytes),
			Details: api.Details{ErrorCode: api.ErrorCodeEntryTooLarge, Key: w.Key, MaxBytes: int64(r.entryBytes), ReceivedBytes: int64(w.Size)},
		}
	}
	return nil
}

// checkCount refuses what makes a full repo fuller. A repo over a limit that was
// lowered may still be rewritten and emptied.
func (r *request) checkCount(head store.Head, pending []store.Write) error {
	more := 0
	for _, w := range pending {
		switch {
		case w.Deleted:
			more--
		case w.Previous == "":
			more++
		}
	}
	after := head.Entries + more
	if more <= 0 || after <= r.repoEntries {
		return nil
	}
	return tooManyEntries(r.repoEntries, after)
}

func tooManyEntries(most, received int) *api.Error {
	return &api.Error{
		Code:    api.RequestTooLarge,
		Message: fmt.Sprintf("the repo would hold %d entries and may hold %d; delete some first, or an admin of the organization can raise the limit", received, most),
		Details: api.Details{ErrorCode: api.ErrorCodeTooManyEntries, MaxEntries: most, ReceivedEntries: received},
	}
}

// checkNeighbours holds the new keys against those that stay: none may be a twin
// of another, nor its directory.
func checkNeighbours(state store.State, pending []store.Write) error {
	leaves := map[api.Key]bool{}
	for _, w := range pending {
		leaves[w.Key] = w.Deleted
	}
	files := map[string]api.Key{}       // by fold, the keys that stay
	directories := map[string]api.Key{} // by fold, one key that stays below each
	for _, row := range state.Rows {
		if row.Deleted || leaves[row.Key] {
			continue
		}
		files[row.Key.Fold()] = row.Key
		for _, dir := range row.Key.Ancestors() {
			fold := dir.Fold()
			if other, ok := directories[fold]; !ok || row.Key < other {
				directories[fold] = row.Key // the least, so that the answer is one
			}
		}
	}
	for _, w := range pending {
		if w.Deleted || w.Previous != "" {
			continue
		}
		if twin, ok := files[w.Fold]; ok {
			return api.TwinError(w.Key, twin)
		}
		if inside, ok := directories[w.Fold]; ok {
			return api.DirectoryError(w.Key, inside)
		}
		for _, dir := range w.Key.Ancestors() {
			if file, ok := files[dir.Fold()]; ok {
				return api.DirectoryError(file, w.Key)
			}
		}
	}
	return nil
}

// change is the next version: the head with what is written for everybody in it, the
// proposals, and the audit record. The head of the decision is the caller's.
func (r *request) change(state store.State, p parts, now time.Time) (decision, error) {
	head, err := r.advance(state, p.direct)
	if err != nil {
		return decision{}, err
	}
	// A clock that was put back does not put the repo's time back.
	if head.LastModified.Before(now) {
		head.LastModified = now
	}
	change := &store.Change{
		Author: store.Author{User: r.caller.User, Token: r.caller.Token, Client: r.caller.Client},
		Writes: p.direct,
	}
	var mine []store.Shadow
	change.Proposals, mine = r.proposals(state, p, head.Version, now)
	head.Proposals += standing(state.Mine, change.Proposals)
	change.Audit = r.record(head, p)
	head.AuditHead = change.Audit.Hash
	change.Head = head
	for _, w := range p.direct {
		for _, f := range r.findingsOf(w) {
			change.Findings = append(change.Findings, f.Finding)
		}
	}
	made := decision{change: change}
	made.head, err = headFor(head, mine)
	for _, w := range p.proposed {
		if s, ok := shadowOf(mine, w.Key); ok {
			made.held = append(made.held, wireHeld(s.Proposal, w.detail))
		}
	}
	return made, err
}

// advance is the head with the pending writes in it.
func (r *request) advance(state store.State, pending []store.Write) (store.Head, error) {
	head := state.Head
	sum, err := readSet(head.Set)
	if err != nil {
		return store.Head{}, err
	}
	if sum.checksum() != checksumOfHead(head) {
		return store.Head{}, fmt.Errorf("set of version %d: %w", head.Version, store.ErrCorrupt)
	}
	for _, w := range pending {
		if w.Previous != "" {
			gone := single(w.Key, w.Previous)
			sum.subtract(&gone)
			head.Entries--
			head.Bytes -= int64(live(state, w.Key).Size)
		}
		if !w.Deleted {
			sum.add(r.setOf(w))
			head.Entries++
			head.Bytes += int64(w.Size)
		}
	}
	head.Version++
	head.Set, head.Checksum = sum[:], sum.checksum()
	return head, nil
}

// setOf is the set of one pending entry.
func (r *request) setOf(w store.Write) *set {
	if written := r.written(w.Key); written != nil && written.set != nil {
		return written.set
	}
	alone := single(w.Key, w.Checksum)
	return &alone
}

// record is the audit record of the change that makes head, chained to the one
// before it.
func (r *request) record(head store.Head, p parts) audit.Record {
	push := audit.Push{How: r.caller.How, From: r.caller.From, Restored: r.purpose.restored, Checksum: head.Checksum, Keys: []audit.KeyChange{}, Reason: r.purpose.reason}
	for _, w := range p.direct {
		push.Keys = append(push.Keys, lineOf(w))
	}
	for _, w := range p.proposed {
		push.Proposed = append(push.Proposed, lineOf(w.Write))
	}
	for _, s := range p.withdrawn {
		push.Withdrawn = append(push.Withdrawn, s.Key)
	}
	return r.caller.record(head, cmp.Or(r.purpose.action, audit.ActionPush), push.Subject())
}

func lineOf(w store.Write) audit.KeyChange {
	line := audit.KeyChange{Key: w.Key, Before: w.Previous}
	if !w.Deleted {
		line.After = w.Checksum
	}
	return line
}

// record is an audit record of what the caller did, chained to the head's.
func (c Caller) record(head store.Head, action string, subject []byte) audit.Record {
	return audit.Record{
		Seq:      int64(head.Version),
		At:       head.LastModified,
		Action:   action,
		User:     c.UserName,
		TokenUID: c.TokenUID,
		Client:   c.Client,
		Subject:  subject,
	}.Chain(head.AuditHead)
}

func keysOf(writes []store.Write) []api.Key {
	keys := make([]api.Key, len(writes))
	for i, w := range writes {
		keys[i] = w.Key
	}
	return keys
}
