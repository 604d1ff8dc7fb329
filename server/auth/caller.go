package auth

import (
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// How says by what a caller is known.
type How string

// The ways.
const (
	ByToken    How = "token"    // of ours
	ByProvider How = "provider" // a bearer token of an identity provider
	BySession  How = "session"  // of a browser
)

// Caller is who asks: a user in one organization, and what they may do there.
// Rights are asked of it with the repo that they concern. The zero Caller may do
// nothing.
type Caller struct {
	Org      store.OrgID
	OrgUID   string
	OrgName  string
	Limits   store.OrgLimits
	User     store.UserID
	UserName string
	Groups   []string // of the provider
	How      How
	Token    store.TokenID // of ours; zero otherwise
	TokenUID string
	Expires  time.Time // zero: never
	// Role is what the caller is in the organization, where no grant on a repo
	// says otherwise: what the user is there, and no more than the token says.
	Role api.Role

	Scope api.Scope // of the token
	most  api.Role  // of the token; empty: no cap
	repos patterns  // of the token; nil: all
	rules *rules    // nil: none
}

// RoleOn is what the caller is on a repo.
func (c Caller) RoleOn(repo api.RepoSlug) api.Role {
	if c.repos != nil && !c.repos.match(repo) {
		return api.NoRole
	}
	role := c.Role
	if granted, ok := c.rules.on(repo, c.UserName, c.Groups); ok {
		role = granted
		if c.most != "" {
			role = role.Lesser(c.most)
		}
	}
	return role
}

// May reports whether the caller holds a right in the organization, as distinct
// from its repos.
func (c Caller) May(right api.Right) bool {
	if right == api.Public || right == api.Known {
		return right == api.Public || c.Org != 0
	}
	if c.repos != nil && !right.OfRepo() {
		return false // a token for some repos does not speak for the organization
	}
	return c.Scope.Admits(right) && c.Role.May(right)
}

// MayOn reports whether the caller holds a right on a repo. It does not depend on
// whether there is such a repo, and costs the same.
func (c Caller) MayOn(right api.Right, repo api.RepoSlug) bool {
	return c.Scope.Admits(right) && c.RoleOn(repo).May(right)
}

// MaySomewhere reports whether the caller holds a right in the organization or may
// hold it on some repo.
func (c Caller) MaySomewhere(right api.Right) bool {
	if c.May(right) {
		return true
	}
	if !right.OfRepo() || !c.Scope.Admits(right) || c.most != "" && !c.most.May(right) {
		return false
	}
	return c.rules.somewhere(right, c.UserName, c.Groups)
}

// Resolve gives the name of now of a repo that may be called by an old one.
func (c Caller) Resolve(repo api.RepoSlug) api.RepoSlug {
	if c.rules != nil {
		if now, ok := c.rules.aliases[repo]; ok {
			return now
		}
	}
	return repo
}

// callerOf puts a caller together: a member of an organization, and where a token
// of ours speaks for them what it leaves.
func callerOf(m store.Member, rules *rules, how How, token *store.Token) Caller {
	org := rules.organization
	c := Caller{
		Org: org.ID, OrgUID: org.UID, OrgName: org.Name, Limits: org.OrgLimits,
		User: m.User, UserName: m.Name, Groups: m.Groups.List(), How: how, rules: rules,
	}
	c.Role = rules.role(m)
	if token == nil {
		return c
	}
	c.Token, c.TokenUID, c.Expires, c.Scope, c.most = token.ID, token.UID, token.Expires, token.Scope, token.Role
	c.Role = c.Role.Lesser(token.Role)
	if token.Repos != "" {
		c.repos = patternsOf(token.Repos.List())
	}
	return c
}

// Equal reports whether two callers are the same and may do the same. It is for
// tests, and for what is remembered of one.
func (c Caller) Equal(other Caller) bool {
	return c.Org == other.Org && c.User == other.User && c.Token == other.Token && c.How == other.How && c.Role == other.Role &&
		c.UserName == other.UserName && c.OrgUID == other.OrgUID && c.Scope == other.Scope && slices.Equal(c.Groups, other.Groups)
}

// Whole reports whether nothing narrows the caller: no scope, and no repos.
func (c Caller) Whole() bool { return c.Scope == api.FullScope && c.repos == nil }

// Cap is the role that the caller's token is limited to; a caller without one is
// limited to what the user is.
func (c Caller) Cap() api.Role {
	if c.most != "" {
		return c.most
	}
	return c.Role
}
