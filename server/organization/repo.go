package organization

import (
	"context"
	"strconv"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/store"
)

// Settings are what of an organization may be changed; nil stays.
type Settings struct {
	Name            *string
	MaxEntries      *int
	MaxRepos        *int
	MaxBytes        *int64
	WritesPerMinute *int
	AuditDays       *int
	HistoryDays     *int
	HistoryKeep     *int
	TrashDays       *int
}

// Set changes an organization's name and limits.
func (r *Rules) Set(ctx context.Context, by By, s Settings) (store.Organization, error) {
	var after store.Organization
	if s.Name != nil {
		if err := auth.CheckName("organization's name", *s.Name); err != nil {
			return after, refuse(api.InvalidRequest, api.ErrorCodeBadBody, "%v", err)
		}
	}
	err := r.change(ctx, by, store.About{}, audit.ActionLimits, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		after = state.Organization
		given(s.Name, &after.Name)
		given(s.MaxEntries, &after.MaxEntries)
		given(s.MaxRepos, &after.MaxRepos)
		given(s.MaxBytes, &after.MaxBytes)
		given(s.WritesPerMinute, &after.WritesPerMinute)
		given(s.AuditDays, &after.AuditDays)
		given(s.HistoryDays, &after.HistoryDays)
		given(s.HistoryKeep, &after.HistoryKeep)
		given(s.TrashDays, &after.TrashDays)
		if after.MaxBytes < 0 || min(after.MaxEntries, after.MaxRepos, after.WritesPerMinute, after.AuditDays, after.HistoryDays, after.HistoryKeep, after.TrashDays) < 0 {
			return nil, audit.Deed{}, refuse(api.InvalidRequest, api.ErrorCodeBadBody, "a limit is negative: 0 takes it away")
		}
		if after == state.Organization {
			return nil, audit.Deed{}, nil
		}
		return &store.OrgChange{Organization: &after}, audit.Deed{Before: limitsSay(state.Organization), After: limitsSay(after)}, nil
	})
	return after, err
}

func given[T any](value *T, into *T) {
	if value != nil {
		*into = *value
	}
}

func limitsSay(o store.Organization) map[string]string {
	return map[string]string{
		"name": o.Name, "maxEntries": strconv.Itoa(o.MaxEntries), "maxRepos": strconv.Itoa(o.MaxRepos),
		"maxBytes": strconv.FormatInt(o.MaxBytes, 10), "writesPerMinute": strconv.Itoa(o.WritesPerMinute), "auditDays": strconv.Itoa(o.AuditDays),
		"historyDays": strconv.Itoa(o.HistoryDays), "historyKeep": strconv.Itoa(o.HistoryKeep), "trashDays": strconv.Itoa(o.TrashDays),
	}
}

// Get gives the organization with its grants and the old names of its repos.
func (r *Rules) Get(ctx context.Context, org store.OrgID) (store.Access, error) {
	return r.store.Access(ctx, org)
}

// Repos lists the repos that have memory, by name.
func (r *Rules) Repos(ctx context.Context, org store.OrgID) ([]store.RepoInfo, error) {
	return r.store.Repos(ctx, org)
}

// Rename gives a repo another name. It goes on answering under the old one, until
// [Rules.ForgetName].
func (r *Rules) Rename(ctx context.Context, by By, from, to api.RepoSlug) error {
	about := store.About{Repos: []api.RepoSlug{from, to}}
	return r.change(ctx, by, about, audit.ActionRename, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		deed := audit.Deed{Of: string(from), Before: string(from), After: string(to)}
		if now, old := state.Aliases[from]; old {
			return nil, deed, refuse(api.InvalidRequest, api.ErrorCodeUnknown, "%s is an old name: the repo is called %s now", from, now)
		}
		var found, taken bool
		for _, repo := range state.Repos {
			found = found || repo.Slug == from
			taken = taken || repo.Slug == to
		}
		switch {
		case !found:
			return nil, deed, refuse(api.NotFound, api.ErrorCodeUnknown, "there is no repo %s", from)
		case from == to:
			return nil, deed, nil
		case taken:
			return nil, deed, refuse(api.InvalidRequest, api.ErrorCodeExists, "there is a repo %s already", to)
		}
		change := &store.OrgChange{Rename: &store.Rename{From: from, To: to}}
		if now, old := state.Aliases[to]; old {
			if now != from {
				return nil, deed, refuse(api.InvalidRequest, api.ErrorCodeExists, "%s is an old name of %s: forget that name first", to, now)
			}
			change.Forget = []api.RepoSlug{to}
		}
		return change, deed, nil
	})
}

// ForgetName lets a repo no longer answer under an old name.
func (r *Rules) ForgetName(ctx context.Context, by By, name api.RepoSlug) error {
	return r.change(ctx, by, store.About{}, audit.ActionForgetName, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		now, old := state.Aliases[name]
		if !old {
			return nil, audit.Deed{}, refuse(api.NotFound, api.ErrorCodeUnknown, "%s is no old name of a repo", name)
		}
		return &store.OrgChange{Forget: []api.RepoSlug{name}}, audit.Deed{Of: string(name), Before: string(now)}, nil
	})
}
