// Package organization is the rules of what an organization has beside its repos:
// members and their roles, grants to groups and on repos, tokens, limits, names of
// repos, and its audit chain. It decides; auth applies what was decided, the store
// keeps it.
//
// Every change is one transaction under the organization's lock, together with one
// record of the organization's chain; what changes nothing leaves no record. There
// is always an admin: the last one can neither be removed nor made less. Refusals
// are aggregated before they are recorded (see [Keeper]), so that a flood of them
// is a few rows. The heads of the repos' chains are noted in the organization's
// chain from time to time, and what is older than the organization keeps goes,
// leaving an anchor that a record vouches for, so that the rest can still be
// verified.
//
// rest, the server's commands and server call it, with a caller whose right has
// been checked. It knows no HTTP and no SQL.
package organization

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/store"
)

// Store is what the rules need of a [store.Store].
type Store interface {
	Organizations(ctx context.Context) ([]store.Organization, error)
	Access(ctx context.Context, org store.OrgID) (store.Access, error)
	Members(ctx context.Context, org store.OrgID) ([]store.Member, error)
	Repos(ctx context.Context, org store.OrgID) ([]store.RepoInfo, error)
	Tokens(ctx context.Context, org store.OrgID) ([]store.Token, error)
	Administer(ctx context.Context, org store.OrgID, about store.About, decide store.DecideOrg) (audit.Record, error)
	OrgAudit(ctx context.Context, org store.OrgID, after int64, limit int) ([]audit.Record, error)
	FindAudit(ctx context.Context, org store.OrgID, q store.AuditQuery) ([]audit.Record, error)
	AuditEnds(ctx context.Context, org store.OrgID) (store.AuditPlace, []store.AuditAnchor, error)
	Audit(ctx context.Context, ref store.RepoRef, after int64, limit int) ([]audit.Record, error)
	Vacuum(ctx context.Context, org store.OrgID, cut store.Cut) (store.Vacuumed, error)
}

// By is who makes a change, and from where.
type By struct {
	Org      store.OrgID
	User     string
	TokenUID string
	Client   string
	How      string // token, provider, session or command
	From     string
}

// Operator is whoever runs a command beside the server.
func Operator(org store.OrgID) By {
	return By{Org: org, User: "operator", Client: "server", How: "command"}
}

// Create adds an organization with its record, both or neither. [store.ErrExists].
func Create(ctx context.Context, s store.Store, org store.Organization) (store.Organization, error) {
	deed := audit.Deed{Of: org.Name, After: map[string]any{"id": org.UID, "maxEntries": org.MaxEntries}}
	return s.CreateOrganization(ctx, org, Operator(0).record(org.Created, audit.ActionOrgCreate, deed))
}

// Rules make the changes. They are safe for concurrent use.
type Rules struct {
	store  Store
	now    func() time.Time
	forget func()
	writes *writeLimits
}

// New makes the rules. forget is called after every change, so that what was
// remembered of rights is asked anew; nil where nothing is.
func New(s Store, now func() time.Time, forget func()) *Rules {
	if forget == nil {
		forget = func() {}
	}
	return &Rules{store: s, now: now, forget: forget, writes: newWriteLimits()}
}

// Now is the time by which tokens end.
func (r *Rules) Now() time.Time { return r.now() }

// change runs a change that decide makes; the record's own fields are filled in.
// decide returns a nil change for nothing to do.
func (r *Rules) change(ctx context.Context, by By, about store.About, action string, decide func(store.OrgState) (*store.OrgChange, audit.Deed, error)) error {
	_, err := r.store.Administer(ctx, by.Org, about, func(state store.OrgState) (*store.OrgChange, error) {
		change, deed, err := decide(state)
		if err != nil || change == nil {
			return nil, err
		}
		change.Audit = by.record(r.now(), action, deed)
		return change, nil
	})
	if err != nil {
		return explain(err)
	}
	r.forget()
	return nil
}

func (b By) record(now time.Time, action string, deed audit.Deed) audit.Record {
	deed.How, deed.From = b.How, b.From
	return audit.Record{At: now, Action: action, User: b.User, TokenUID: b.TokenUID, Client: b.Client, Subject: deed.Subject()}
}

// Record notes what was done and changes nothing else: a sign-in, an export.
func (r *Rules) Record(ctx context.Context, by By, action string, deed audit.Deed) error {
	return r.change(ctx, by, store.About{}, action, func(store.OrgState) (*store.OrgChange, audit.Deed, error) {
		return &store.OrgChange{}, deed, nil
	})
}

func explain(err error) error {
	if _, ours := api.AsError(err); ours || !errors.Is(err, store.ErrExists) {
		return err
	}
	return refuse(api.InvalidRequest, api.ErrorCodeExists, "the name is taken")
}

func refuse(code api.Code, errorCode, format string, args ...any) *api.Error {
	return &api.Error{Code: code, Message: fmt.Sprintf(format, args...), Details: api.Details{ErrorCode: errorCode}}
}

// SetMember makes somebody a member, takes them back, or gives a member another
// role. The role may be empty: then only groups give one.
func (r *Rules) SetMember(ctx context.Context, by By, name string, role api.Role, service bool) error {
	if err := auth.CheckName("member's name", name); err != nil {
		return refuse(api.InvalidRequest, api.ErrorCodeBadBody, "%v", err)
	}
	if role != "" && role != api.NoRole && !slices.Contains(api.Roles, role) {
		return refuse(api.InvalidRequest, api.ErrorCodeBadBody, "there is no role %q: want one of viewer, member, maintainer, admin, none", role)
	}
	if role == api.NoRole {
		role = ""
	}
	return r.change(ctx, by, store.About{}, audit.ActionMemberSet, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		deed := audit.Deed{Of: name, After: map[string]any{"role": role, "service": service}}
		after := store.Member{Name: name, Role: role, Service: service, Created: r.now()}
		if known := state.Member(name); known != nil {
			if known.Role == role && known.Service == service && known.Removed.IsZero() {
				return nil, deed, nil
			}
			if known.Removed.IsZero() {
				deed.Before = map[string]any{"role": known.Role, "service": known.Service}
			}
			after = *known
			after.Role, after.Service, after.Removed = role, service, time.Time{}
		}
		if err := keepAnAdmin(state, after); err != nil {
			return nil, deed, err
		}
		return &store.OrgChange{Members: []store.Member{after}}, deed, nil
	})
}

// RemoveMember takes somebody out. Their tokens are void from then on; history and
// audit go on naming them.
func (r *Rules) RemoveMember(ctx context.Context, by By, name string) error {
	return r.change(ctx, by, store.About{}, audit.ActionMemberRemove, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		known := state.Member(name)
		if known == nil || !known.Removed.IsZero() {
			return nil, audit.Deed{}, refuse(api.NotFound, api.ErrorCodeUnknown, "there is no member %q", name)
		}
		after := *known
		after.Removed = r.now()
		if err := keepAnAdmin(state, after); err != nil {
			return nil, audit.Deed{}, err
		}
		return &store.OrgChange{Members: []store.Member{after}}, audit.Deed{Of: name, Before: map[string]any{"role": known.Role}}, nil
	})
}

// keepAnAdmin refuses a change of a member that would leave nobody to undo it.
func keepAnAdmin(state store.OrgState, after store.Member) error {
	was := state.Member(after.Name)
	isAdmin := func(m store.Member) bool { return m.Removed.IsZero() && m.Role == api.Admin }
	if was == nil || !isAdmin(*was) || isAdmin(after) {
		return nil
	}
	for _, m := range state.Members {
		if m.Name != after.Name && isAdmin(m) {
			return nil
		}
	}
	return refuse(api.InvalidRequest, api.ErrorCodeLastAdmin, "%s is the last admin of the organization: make another member an admin first", after.Name)
}

// Members lists those who are in, by name.
func (r *Rules) Members(ctx context.Context, org store.OrgID) ([]store.Member, error) {
	all, err := r.store.Members(ctx, org)
	return slices.DeleteFunc(all, func(m store.Member) bool { return !m.Removed.IsZero() }), err
}

// Grants lists an organization's grants.
func (r *Rules) Grants(ctx context.Context, org store.OrgID) ([]store.Grant, error) {
	access, err := r.store.Access(ctx, org)
	return access.Grants, err
}

// SetGrant gives a group a role in the organization, or anybody one on repos.
func (r *Rules) SetGrant(ctx context.Context, by By, grant store.Grant) error {
	grant, err := checkGrant(grant)
	if err != nil {
		return err
	}
	if grant.Role != api.NoRole && !slices.Contains(api.Roles, grant.Role) {
		return refuse(api.InvalidRequest, api.ErrorCodeBadBody, "there is no role %q: want one of viewer, member, maintainer, admin, none", grant.Role)
	}
	return r.change(ctx, by, store.About{}, audit.ActionGrantSet, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		deed := deedOf(grant)
		deed.After = grant.Role
		all := slices.Clone(state.Grants)
		at := slices.IndexFunc(all, sameAs(grant))
		switch {
		case at < 0:
			all = append(all, grant)
		case all[at].Role == grant.Role:
			return nil, deed, nil
		default:
			deed.Before = all[at].Role
			all[at] = grant
		}
		if len(all) > mostGrants {
			return nil, deed, refuse(api.RequestTooLarge, api.ErrorCodeBadBody, "an organization may have %d grants: use wider patterns", mostGrants)
		}
		return &store.OrgChange{Grants: &all}, deed, nil
	})
}

// mostGrants bounds what every request may have to look through.
const mostGrants = 2000

// RemoveGrant takes a grant back.
func (r *Rules) RemoveGrant(ctx context.Context, by By, grant store.Grant) error {
	grant, err := checkGrant(grant)
	if err != nil {
		return err
	}
	return r.change(ctx, by, store.About{}, audit.ActionGrantRemove, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		deed := deedOf(grant)
		all := slices.Clone(state.Grants)
		at := slices.IndexFunc(all, sameAs(grant))
		if at < 0 {
			return nil, deed, refuse(api.NotFound, api.ErrorCodeUnknown, "there is no such grant")
		}
		deed.Before = all[at].Role
		all = slices.Delete(all, at, at+1)
		return &store.OrgChange{Grants: &all}, deed, nil
	})
}

func deedOf(g store.Grant) audit.Deed {
	return audit.Deed{Of: string(g.Kind) + " " + g.Name, Repo: g.Pattern}
}

func checkGrant(g store.Grant) (store.Grant, error) {
	bad := func(format string, args ...any) (store.Grant, error) {
		return g, refuse(api.InvalidRequest, api.ErrorCodeBadBody, format, args...)
	}
	switch g.Kind {
	case store.ForEveryone:
		g.Name = ""
	case store.ForGroup, store.ForMember:
		if err := auth.CheckName(string(g.Kind)+"'s name", g.Name); err != nil {
			return bad("%v", err)
		}
	default:
		return bad("there is no kind %q: want everyone, group or member", g.Kind)
	}
	if g.Pattern == "" && g.Kind == store.ForGroup {
		return g, nil
	}
	pattern, err := auth.ParsePattern(g.Pattern)
	if err != nil {
		return bad("%v", err)
	}
	g.Pattern = pattern
	return g, nil
}

func sameAs(g store.Grant) func(store.Grant) bool {
	return func(other store.Grant) bool {
		return other.Kind == g.Kind && other.Name == g.Name && other.Pattern == g.Pattern
	}
}
