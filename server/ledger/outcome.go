package ledger

import (
	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Outcome is what came of one change that was asked for, for whoever keeps figures.
type Outcome struct {
	Org  store.OrgID
	Repo api.RepoSlug
	store.Counts
}

// Count has fn hear of every outcome that is not nothing. It must not wait, and is named
// before the ledger is used.
func (l *Ledger) Count(fn func(Outcome)) { l.count = fn }

// counted tells of a change that was made.
func (l *Ledger) counted(caller Caller, repo api.RepoSlug, change *store.Change, held int) {
	if l.count == nil || change == nil {
		return
	}
	o := Outcome{Org: caller.Org, Repo: repo}
	o.Versions, o.Held = 1, int64(held)
	for i := range change.Writes {
		switch w := &change.Writes[i]; {
		case w.Deleted:
			o.Deleted++
		case w.Previous == "":
			o.Created++
			o.Bytes += int64(w.Size)
		default:
			o.Changed++
			o.Bytes += int64(w.Size)
		}
	}
	l.count(o)
}

// refused tells of a push that was refused because somebody was quicker, or by policy,
// and gives the error on.
func (l *Ledger) refused(caller Caller, repo api.RepoSlug, err error) error {
	o := Outcome{Org: caller.Org, Repo: repo}
	switch api.CodeOf(err) {
	case api.Conflict:
		o.Conflicts = 1
	case api.Refused:
		o.Refused = 1
	default:
		return err
	}
	if l.count != nil {
		l.count(o)
	}
	return err
}

// openAmong counts the proposals that a change makes.
func openAmong(writes []store.ProposalWrite) (n int) {
	for i := range writes {
		if writes[i].State == api.ProposalOpen {
			n++
		}
	}
	return n
}
