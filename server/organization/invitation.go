package organization

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/store"
)

// InvitationLife is how long an invitation holds.
const InvitationLife = 30 * 24 * time.Hour

// Invite lets whoever signs in with an address that the provider vouches for become
// a member of a role, called name or as the provider says. Another invitation to the
// address is replaced.
func (r *Rules) Invite(ctx context.Context, by By, email, name string, role api.Role) error {
	email, err := checkAddress(email)
	if err != nil {
		return err
	}
	if role == api.NoRole {
		role = ""
	}
	if role != "" && !slices.Contains(api.Roles, role) {
		return refuse(api.InvalidRequest, api.ErrorCodeBadBody, "there is no role %q: want viewer, member, maintainer, admin or none", role)
	}
	if name != "" {
		if err := auth.CheckName("member's name", name); err != nil {
			return refuse(api.InvalidRequest, api.ErrorCodeBadBody, "%v", err)
		}
	}
	return r.change(ctx, by, store.About{}, audit.ActionInvite, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		now := r.now()
		after := store.Invitation{Org: by.Org, Email: email, Name: name, Role: role, Created: now, Until: now.Add(InvitationLife)}
		deed := audit.Deed{Of: email, After: deedOfInvitation(after)}
		if before := state.Invitation(email); before != nil {
			deed.Before = deedOfInvitation(*before)
		}
		return &store.OrgChange{Invite: []store.Invitation{after}}, deed, nil
	})
}

// Uninvite takes an invitation back.
func (r *Rules) Uninvite(ctx context.Context, by By, email string) error {
	email, err := checkAddress(email)
	if err != nil {
		return err
	}
	return r.change(ctx, by, store.About{}, audit.ActionUninvite, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		before := state.Invitation(email)
		if before == nil {
			return nil, audit.Deed{}, refuse(api.NotFound, api.ErrorCodeUnknown, "%s is not invited", email)
		}
		return &store.OrgChange{Uninvite: []string{email}}, audit.Deed{Of: email, Before: deedOfInvitation(*before)}, nil
	})
}

func deedOfInvitation(i store.Invitation) map[string]any {
	return map[string]any{"user": i.Name, "role": i.Role}
}

// checkAddress gives an address as it is compared: in small letters.
func checkAddress(email string) (string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	name, domain, ok := strings.Cut(email, "@")
	if !ok || name == "" || domain == "" || auth.CheckName("address", email) != nil {
		return "", refuse(api.InvalidRequest, api.ErrorCodeBadBody, "%q is no address", email)
	}
	return email, nil
}
