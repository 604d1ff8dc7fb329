// Package carry takes a repo out of a server into an archive, and an archive into a
// repo of a server, that or another.
//
// An export is one version of the repo, as its reader is served it. An import is pushes
// like any others: the caller's rights, the organization's policy and limits hold, each
// key is written on the base that was looked at, and what a policy holds becomes a
// proposal. Nothing is overwritten unasked: a key that stands there with another text, or
// was deleted there, is left and named, unless the caller says to replace. What stands
// there already is not sent, so an import that was broken off is simply done once more.
//
// Before anything is sent each text is scanned, by the policy of the organization that it
// goes to, as a sync does it; what is found is held back alone.
//
// It keeps nothing. The commands call it, with a server as package remote speaks to one.
package carry

import (
	"context"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/remote"
)

// Server is what is asked, as remote.Client is one.
type Server interface {
	Get(ctx context.Context, repo api.RepoSlug, q remote.Query) (remote.Answer, error)
	Put(ctx context.Context, repo api.RepoSlug, push api.Push, ifMatch api.Checksum) (api.PushResult, error)
	History(ctx context.Context, repo api.RepoSlug, key api.Key, limit int, cursor string) (api.HistoryList, error)
	Entry(ctx context.Context, repo api.RepoSlug, key api.Key, version api.Version) (api.EntryAt, error)
	WellKnown(ctx context.Context) (api.WellKnown, error)
}

// Judge says what is found in a text, as guard.Guard does.
type Judge interface {
	Judge(key api.Key, content []byte) ([]guard.Judged, error)
	Reviews() bool
}

// Progress hears how far the work is; total is 0 where nobody knows.
type Progress func(verb string, done, total int)
