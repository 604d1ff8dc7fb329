package ledger

import (
	"context"
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// admitRepo refuses the first push of a repo that would be one too many of its
// organization. Of pushes of new repos one is let through at a time, so that on one
// server none is too many; leave ends that. Where there is no limit it costs nothing,
// and for a repo that has memory one indexed read.
func (l *Ledger) admitRepo(ctx context.Context, caller Caller, repo api.RepoSlug) (leave func(), err error) {
	if caller.MaxRepos <= 0 {
		return nil, nil
	}
	head, err := l.store.Head(ctx, caller.ref(repo))
	if err != nil || head.Version > 0 {
		return nil, err
	}
	l.first.Lock()
	repos, err := l.store.Repos(ctx, caller.Org)
	if err == nil && len(repos) >= caller.MaxRepos && !holds(repos, repo) {
		err = &api.Error{
			Code:    api.RequestTooLarge,
			Message: fmt.Sprintf("the organization may have %d repos and has them: an admin of the organization can raise the limit", caller.MaxRepos),
			Details: api.Details{ErrorCode: api.ErrorCodeTooManyRepos, MaxRepos: caller.MaxRepos},
		}
	}
	if err != nil {
		l.first.Unlock()
		return nil, err
	}
	return l.first.Unlock, nil
}

func holds(repos []store.RepoInfo, slug api.RepoSlug) bool {
	for _, repo := range repos {
		if repo.Slug == slug {
			return true
		}
	}
	return false
}

// checkBytes refuses what makes a full repo fuller, in bytes of its live contents.
func (r *request) checkBytes(state store.State, pending []store.Write) error {
	if r.repoBytes <= 0 {
		return nil
	}
	var more int64
	for _, w := range pending {
		if w.Previous != "" {
			more -= int64(live(state, w.Key).Size)
		}
		if !w.Deleted {
			more += int64(w.Size)
		}
	}
	after := state.Head.Bytes + more
	if more <= 0 || after <= r.repoBytes {
		return nil
	}
	return &api.Error{
		Code:    api.RequestTooLarge,
		Message: fmt.Sprintf("the repo would hold %d bytes and may hold %d: delete some entries, or an admin of the organization can raise the limit", after, r.repoBytes),
		Details: api.Details{ErrorCode: api.ErrorCodeRepoTooLarge, MaxBytes: r.repoBytes, ReceivedBytes: after},
	}
}
