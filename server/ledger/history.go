package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// History lists the changes of a key, or of all keys when key is empty, newest
// first, below version before (0: from the newest), of at most limit versions, none
// of them split.
func (l *Ledger) History(ctx context.Context, caller Caller, repo api.RepoSlug, key api.Key, before api.Version, limit int) ([]store.Past, error) {
	head, err := l.Head(ctx, caller, repo)
	if err != nil {
		return nil, err
	}
	past, err := l.store.History(ctx, caller.ref(repo), key, before, limit)
	if err != nil {
		return nil, l.explain(ctx, caller, repo, "read the history", err)
	}
	if head.Proposals == 0 {
		return past, nil
	}
	_, mine, err := l.proposed(ctx, caller, repo)
	if err != nil {
		return nil, err
	}
	return withProposals(past, mine, key, before, limit), nil
}

// withProposals adds to a page of changes the caller's own that wait for approval,
// as changes that the caller sees.
func withProposals(past []store.Past, mine []store.Shadow, key api.Key, before api.Version, limit int) []store.Past {
	past = slices.Clone(past)
	for _, s := range mine {
		if !open(s) || key != "" && s.Key != key || before > 0 && s.Proposal.Version >= before {
			continue
		}
		past = append(past, store.Past{
			Write:   store.Write{Key: s.Key, Checksum: s.Checksum, Previous: s.Base, Deleted: s.Deleted, Size: s.Size, Modified: s.Modified},
			Version: s.Proposal.Version, At: s.At, UserName: s.User, Client: s.Client,
		})
	}
	slices.SortFunc(past, func(a, b store.Past) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), cmp.Compare(a.Key, b.Key))
	})
	versions := 0
	for i := range past {
		if i == 0 || past[i].Version != past[i-1].Version {
			versions++
		}
		if versions > limit {
			return past[:i]
		}
	}
	return past
}

// Authors says who last changed each live entry. What the caller proposed is their own.
func (l *Ledger) Authors(ctx context.Context, caller Caller, repo api.RepoSlug) (map[api.Key]store.Authored, error) {
	all, err := l.store.Authors(ctx, caller.ref(repo))
	if err != nil {
		return nil, l.explain(ctx, caller, repo, "read the authors", err)
	}
	head, err := l.store.Head(ctx, caller.ref(repo))
	if err != nil {
		return nil, l.explain(ctx, caller, repo, "read the authors", err)
	}
	byKey := make(map[api.Key]store.Authored, len(all))
	for _, a := range all {
		byKey[a.Key] = a
	}
	if head.Proposals == 0 {
		return byKey, nil
	}
	_, mine, err := l.proposed(ctx, caller, repo)
	if err != nil {
		return nil, err
	}
	for _, s := range mine {
		if open(s) && !s.Deleted {
			byKey[s.Key] = store.Authored{Key: s.Key, Version: s.Proposal.Version, At: s.At, UserName: s.User, Client: s.Client}
		}
	}
	return byKey, nil
}

// At finds how an entry stood at a version: the last change of its key up to
// then. version 0 means now. The error is [api.NotFound] when the key did not
// exist yet.
func (l *Ledger) At(ctx context.Context, caller Caller, repo api.RepoSlug, key api.Key, version api.Version) (store.Past, []byte, error) {
	before := version + 1
	if version <= 0 {
		before = 0
	}
	past, err := l.History(ctx, caller, repo, key, before, 1)
	if err != nil {
		return store.Past{}, nil, err
	}
	if len(past) == 0 {
		return store.Past{}, nil, l.neverOrForgotten(ctx, caller, repo, key, version)
	}
	if past[0].Version < version {
		if err := l.reached(ctx, caller, repo, key, version); err != nil {
			return store.Past{}, nil, err
		}
	}
	if past[0].Deleted {
		return past[0], nil, nil
	}
	var content []byte
	err = l.Bodies(ctx, caller, []store.Row{{Key: key, Checksum: past[0].Checksum}}, func(_ store.Row, text []byte) error {
		content = text
		return nil
	})
	return past[0], content, err
}

// reached refuses a version that the repo has yet to come to: how an entry will stand
// then is not how it stands now.
func (l *Ledger) reached(ctx context.Context, caller Caller, repo api.RepoSlug, key api.Key, version api.Version) error {
	head, err := l.Head(ctx, caller, repo)
	if err != nil || version <= head.Version {
		return err
	}
	return &api.Error{
		Code:    api.NotFound,
		Message: fmt.Sprintf("%s is at version %d and has no version %d yet", repo, head.Version, version),
		Details: api.Details{ErrorCode: api.ErrorCodeNoEntry, Key: key},
	}
}

// neverOrForgotten says why there is no change of a key up to a version.
func (l *Ledger) neverOrForgotten(ctx context.Context, caller Caller, repo api.RepoSlug, key api.Key, version api.Version) error {
	forgotten, err := l.store.Forgotten(ctx, caller.ref(repo))
	switch {
	case err != nil:
		return l.explain(ctx, caller, repo, "look what was forgotten", err)
	case version <= 0 || version > forgotten:
		return noEntry(key, version)
	}
	return &api.Error{
		Code: api.NotFound,
		Message: fmt.Sprintf("no text of %q is kept as of version %d: the organization keeps earlier texts for a while only, and of this repo some up to version %d have gone",
			key, version, forgotten),
		Details: api.Details{ErrorCode: api.ErrorCodeForgotten, Key: key, Version: &forgotten},
	}
}

func noEntry(key api.Key, version api.Version) *api.Error {
	when := "there is no entry %q"
	if version > 0 {
		when = fmt.Sprintf("there was no entry %%q at version %d", version)
	}
	return &api.Error{
		Code:    api.NotFound,
		Message: fmt.Sprintf(when, key),
		Details: api.Details{ErrorCode: api.ErrorCodeNoEntry, Key: key},
	}
}

// Restore gives an entry the text it had at a version, or deletes it where it was
// deleted then. It is a push like any other: a new version, under the same rules,
// on the base that it names, or on whatever stands there now.
func (l *Ledger) Restore(ctx context.Context, caller Caller, repo api.RepoSlug, ask api.Restore) (Result, error) {
	past, content, err := l.At(ctx, caller, repo, ask.Key, ask.Version)
	if err != nil {
		return Result{}, err
	}
	base, err := l.restoreBase(ctx, caller, repo, ask)
	if err != nil {
		return Result{}, err
	}
	push := api.Push{BaseChecksums: map[api.Key]*api.Checksum{ask.Key: base}}
	if past.Deleted {
		push.Deletions = []api.Key{ask.Key}
	} else {
		push.Entries = map[api.Key]string{ask.Key: string(content)}
	}
	return l.push(ctx, caller, repo, push, api.Tags{}, purpose{audit.ActionRestore, past.Version, ask.Reason})
}

// restoreBase is the base to restore on: the caller's, or what stands now.
func (l *Ledger) restoreBase(ctx context.Context, caller Caller, repo api.RepoSlug, ask api.Restore) (*api.Checksum, error) {
	if ask.OnBase {
		return ask.Base, nil
	}
	now, err := l.History(ctx, caller, repo, ask.Key, 0, 1)
	if err != nil || len(now) == 0 || now[0].Deleted {
		return nil, err
	}
	return &now[0].Checksum, nil
}
