package ledger

import (
	"context"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// Edit writes one entry on the text that its editor saw. It is a push like any other;
// when somebody was quicker, the error is an *[api.Error] with the code [api.Conflict]
// whose details name the change that came before.
func (l *Ledger) Edit(ctx context.Context, caller Caller, repo api.RepoSlug, ask api.Edit) (Result, error) {
	push := api.Push{Entries: map[api.Key]string{ask.Key: ask.Content}, BaseChecksums: map[api.Key]*api.Checksum{ask.Key: ask.Base}}
	done, err := l.push(ctx, caller, repo, push, api.Tags{}, purpose{action: audit.ActionPush, reason: ask.Reason})
	return done, l.nameQuicker(ctx, caller, repo, ask.Key, err)
}

// Remove deletes one entry that its remover saw. As with [Ledger.Edit], who was quicker
// is named.
func (l *Ledger) Remove(ctx context.Context, caller Caller, repo api.RepoSlug, key api.Key, base api.Checksum, reason string) (Result, error) {
	push := api.Push{Deletions: []api.Key{key}, BaseChecksums: map[api.Key]*api.Checksum{key: &base}}
	done, err := l.push(ctx, caller, repo, push, api.Tags{}, purpose{action: audit.ActionPush, reason: reason})
	return done, l.nameQuicker(ctx, caller, repo, key, err)
}

// Move gives an entry another key, in one version: its text is written there with the
// time it has, and deleted here. Nothing may stand there. Without a base whatever stands
// here is moved. Where one half has to be approved both wait.
func (l *Ledger) Move(ctx context.Context, caller Caller, repo api.RepoSlug, ask api.Move) (Result, error) {
	past, content, err := l.At(ctx, caller, repo, ask.Key, 0)
	if err != nil {
		return Result{}, err
	}
	if past.Deleted {
		return l.moved(ctx, caller, repo, ask, past.Checksum)
	}
	base := past.Checksum
	if ask.Base != nil {
		base = *ask.Base
	}
	push := api.Push{
		Entries: map[api.Key]string{ask.To: string(content)}, Deletions: []api.Key{ask.Key},
		BaseChecksums: map[api.Key]*api.Checksum{ask.Key: &base, ask.To: nil},
		Modified:      map[api.Key]api.Time{ask.To: api.NewTime(past.Modified)},
	}
	done, err := l.push(ctx, caller, repo, push, api.Tags{}, purpose{action: audit.ActionMove, reason: ask.Reason})
	err = l.nameQuicker(ctx, caller, repo, ask.To, err)
	return done, l.nameQuicker(ctx, caller, repo, ask.Key, err)
}

// moved answers for an entry that is not where it would be moved from: with what stands,
// if it was moved already, so that a retry after a lost reply succeeds.
func (l *Ledger) moved(ctx context.Context, caller Caller, repo api.RepoSlug, ask api.Move, sum api.Checksum) (Result, error) {
	there, err := l.History(ctx, caller, repo, ask.To, 0, 1)
	if err != nil {
		return Result{}, err
	}
	if len(there) == 0 || there[0].Deleted || there[0].Checksum != sum {
		return Result{}, noEntry(ask.Key, 0)
	}
	head, err := l.Head(ctx, caller, repo)
	return Result{Head: head}, err
}

// nameQuicker adds to a conflict over a key the change that was quicker.
func (l *Ledger) nameQuicker(ctx context.Context, caller Caller, repo api.RepoSlug, key api.Key, err error) error {
	refused, ok := api.AsError(err)
	if !ok || refused.Code != api.Conflict || refused.Details.Quicker != nil || !concerns(refused.Details.Conflicts, key) {
		return err
	}
	past, failed := l.History(ctx, caller, repo, key, 0, 1)
	if failed != nil || len(past) == 0 {
		return err // that there was somebody is told all the same
	}
	named := *refused
	change := WireChange(past[0])
	named.Details.Quicker = &change
	return &named
}

func concerns(conflicts []api.Standing, key api.Key) bool {
	for _, c := range conflicts {
		if c.Key == key {
			return true
		}
	}
	return false
}

// WireChange is a change as the wire tells it.
func WireChange(past store.Past) api.HistoryChange {
	return api.HistoryChange{
		Key: past.Key, Version: past.Version, At: api.NewTime(past.At), User: past.UserName, Client: past.Client,
		Deleted: past.Deleted, Checksum: past.Checksum, Previous: past.Previous, Bytes: past.Size,
	}
}
