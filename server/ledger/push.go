package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/store"
)

// Result is what stands after a push.
type Result struct {
	store.Head
	// Changed says that the push made the version of the head. Where all that it
	// asked stood already, somebody else did.
	Changed bool
	// Held are the keys that were not written for everybody.
	Held []api.Held
}

// Push applies a PUT, whole or not at all, and gives the head that stands
// afterwards: a new version, or the old one when all that is asked already
// stands. A refusal is an *[api.Error] and has changed nothing.
//
// Asking for nothing of a repo without memory makes none: the head has version 0
// then, and the checksum of the empty set.
func (l *Ledger) Push(ctx context.Context, caller Caller, repo api.RepoSlug, push api.Push, ifMatch api.Tags) (Result, error) {
	return l.push(ctx, caller, repo, push, ifMatch, purpose{action: audit.ActionPush})
}

// purpose is what a push is for, as its record tells.
type purpose struct {
	action   string
	restored api.Version // that it restores; 0: none
	reason   string      // as its maker gave one
}

// push is Push for any purpose.
func (l *Ledger) push(ctx context.Context, caller Caller, repo api.RepoSlug, push api.Push, ifMatch api.Tags, why purpose) (Result, error) {
	done, err := l.carryOut(ctx, caller, repo, push, ifMatch, why)
	return done, l.refused(caller, repo, err)
}

func (l *Ledger) carryOut(ctx context.Context, caller Caller, repo api.RepoSlug, push api.Push, ifMatch api.Tags, why purpose) (Result, error) {
	rules, err := l.inForce(ctx, caller)
	if err != nil {
		return Result{}, err
	}
	ask, err := prepare(caller, push, ifMatch, l.limits)
	if err != nil {
		return Result{}, err
	}
	ask.purpose = why
	began := l.now()
	if err := l.examine(ctx, rules, ask, push.Entries); err != nil {
		return Result{}, l.explain(ctx, caller, repo, "scan", err)
	}
	l.watched(ask, began)
	if rules.redacted {
		if err := l.checkRedacted(ctx, caller, ask); err != nil {
			return Result{}, err
		}
	}
	if leave, err := l.admitRepo(ctx, caller, repo); err != nil {
		return Result{}, l.explain(ctx, caller, repo, "push", err)
	} else if leave != nil {
		defer leave()
	}
	ask.policy = rules.policy.Policy
	_, _ = rand.Read(ask.seed[:]) // never fails
	var made decision
	head, err := l.store.Commit(ctx, caller.ref(repo), ask.touched(), func(state store.State) (_ *store.Change, err error) {
		made, err = ask.decide(state, l.now())
		return made.change, err
	})
	var withdrawn *store.RedactedError
	if errors.As(err, &withdrawn) {
		return Result{}, ask.withdrawnError(withdrawn)
	}
	if err != nil {
		return Result{}, l.explain(ctx, caller, repo, "push", err)
	}
	if made.change != nil {
		l.tell(eventOf(caller, repo, head))
		l.counted(caller, repo, made.change, openAmong(made.change.Proposals))
	}
	result := Result{Head: made.head, Changed: made.change != nil, Held: made.held}
	result.Checksum, result.LastModified = checksumOfHead(made.head), head.LastModified
	return result, nil
}

// eventOf is what listeners are told of a change. Where anything is proposed they
// see different sets, so it names none.
func eventOf(caller Caller, repo api.RepoSlug, head store.Head) events.Event {
	e := events.Event{Organization: caller.OrgUID, Repo: repo, Version: head.Version}
	if head.Proposals == 0 {
		e.Checksum = checksumOfHead(head)
	}
	return e
}

// request is a push that is well formed in itself. What it needs of the repo is
// decided by decide.
type request struct {
	caller       Caller
	writes       []write              // in key order
	deletes      []api.Key            // in key order, each once
	modified     map[api.Key]api.Time // the files' own times, where they are named
	precondition api.Precondition     // its bases are those of touched keys
	entryBytes   int
	repoEntries  int
	repoBytes    int64 // 0: any number
	policy       api.Policy
	seed         [16]byte // of the ids of what it proposes
	purpose      purpose
}

// write is one entry to be written.
type write struct {
	key      api.Key
	body     *store.Body
	set      *set      // of this entry alone; nil where it was not made ahead
	findings []finding // the gravest first; none that are accepted
}

// written finds the write of a key, or nil.
func (r *request) written(key api.Key) *write {
	i, ok := slices.BinarySearchFunc(r.writes, key, func(w write, key api.Key) int { return cmp.Compare(w.key, key) })
	if !ok {
		return nil
	}
	return &r.writes[i]
}

// touched are the keys the request names, in key order.
func (r *request) touched() []api.Key {
	keys := slices.Clone(r.deletes)
	for _, w := range r.writes {
		keys = append(keys, w.key)
	}
	slices.Sort(keys)
	return keys
}

// What one push may make the server do, in keys. A body of a few megabytes can
// name a great many.
const (
	// mostKeys is how many keys a push may name, where the limit of entries
	// is not higher.
	mostKeys = 10_000
	// setsAhead is for how many entries the set is made before the lock is
	// taken. Each is 2 KB.
	setsAhead = 256
)

// prepare does with a push what needs no state: it checks what can be wrong with
// it alone, then hashes and packs, so that none of that is done under the lock.
func prepare(caller Caller, push api.Push, ifMatch api.Tags, limits api.Limits) (*request, error) {
	writes := api.SortedKeys(push.Entries)
	deletes := slices.Compact(slices.Sorted(slices.Values(push.Deletions)))
	ask := &request{caller: caller, deletes: deletes, entryBytes: limits.EntryBytes, repoEntries: limits.RepoEntries, repoBytes: caller.MaxBytes}
	if caller.MaxEntries > 0 {
		ask.repoEntries = caller.MaxEntries
	}
	if keys := len(writes) + len(deletes); keys > max(mostKeys, ask.repoEntries) {
		return nil, tooManyEntries(ask.repoEntries, keys)
	}
	if err := checkKeys(writes, deletes); err != nil {
		return nil, err
	}
	for _, key := range writes {
		if !utf8.ValidString(push.Entries[key]) {
			return nil, &api.Error{
				Code:    api.InvalidRequest,
				Message: fmt.Sprintf("the content of %q is not valid UTF-8", key),
				Details: api.Details{ErrorCode: api.ErrorCodeBadBody, Key: key},
			}
		}
	}
	for i, key := range writes {
		content := []byte(push.Entries[key])
		w := write{key: key, body: store.Pack(api.ChecksumOf(content), content)}
		if i < setsAhead {
			alone := single(key, w.body.Checksum)
			w.set = &alone
		}
		ask.writes = append(ask.writes, w)
	}
	ask.modified = push.Modified
	ask.precondition = precondition(push, ifMatch, ask.touched())
	return ask, nil
}

// precondition leaves out the bases of keys that the push does not touch: what
// nobody asks to change needs no agreement, and does not stand for one either.
func precondition(push api.Push, ifMatch api.Tags, touched []api.Key) api.Precondition {
	p := push.Precondition(ifMatch)
	p.Base = make(map[api.Key]*api.Checksum, len(push.BaseChecksums))
	for _, key := range touched {
		if base, named := push.BaseChecksums[key]; named {
			p.Base[key] = base
		}
	}
	return p
}

// checkKeys holds the keys of one push against the rules of protocol 1.7. Both
// lists are sorted. A deletion may be the twin or the directory of a write: that
// is a rename.
func checkKeys(writes, deletes []api.Key) error {
	for _, key := range slices.Concat(writes, deletes) {
		if _, err := api.ParseKey(string(key)); err != nil {
			var bad *api.KeyError
			if errors.As(err, &bad) {
				return bad.Wire()
			}
			return fmt.Errorf("key: %w", err)
		}
	}
	for _, key := range deletes {
		if _, both := slices.BinarySearch(writes, key); both {
			return &api.Error{
				Code:    api.InvalidRequest,
				Message: fmt.Sprintf("the key %q is both written and deleted; send one or the other", key),
				Details: api.Details{ErrorCode: api.ErrorCodeKeyTwice, Key: key},
			}
		}
	}
	return api.CheckKeySet(writes)
}
