package auth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// rules are the grants of one organization, ready to be asked. They are never
// changed, so that callers share them.
type rules struct {
	organization store.Organization
	aliases      map[api.RepoSlug]api.RepoSlug
	groupRoles   map[string]api.Role // what a group is in the organization
	grants       []store.Grant       // on repos, in the order in which they count
}

// kindOrder: of several grants that fit a repo the more personal one counts.
var kindOrder = []store.GrantKind{store.ForMember, store.ForGroup, store.ForEveryone}

// rulesOf brings grants into the order in which they count: the most personal
// first, of these the longest pattern, of these the highest role.
func rulesOf(access store.Access) *rules {
	r := &rules{organization: access.Organization, aliases: access.Aliases, groupRoles: map[string]api.Role{}}
	for _, g := range access.Grants {
		if g.Pattern == "" {
			r.groupRoles[g.Name] = g.Role
		} else {
			r.grants = append(r.grants, g)
		}
	}
	slices.SortStableFunc(r.grants, func(a, b store.Grant) int {
		return cmp.Or(
			cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind)),
			cmp.Compare(len(b.Pattern), len(a.Pattern)),
			cmp.Compare(slices.Index(api.Roles, b.Role), slices.Index(api.Roles, a.Role)))
	})
	return r
}

// role is what a member is in the organization: the highest of what was given by
// hand and what the groups are.
func (r *rules) role(m store.Member) api.Role {
	role := m.Role
	for _, group := range m.Groups.List() {
		role = role.Greater(r.groupRoles[group])
	}
	if role == "" {
		return api.NoRole
	}
	return role
}

// on finds what a member is on a repo by a grant: the first that is theirs and
// whose pattern fits.
func (r *rules) on(repo api.RepoSlug, member string, groups []string) (api.Role, bool) {
	if r == nil {
		return "", false
	}
	for _, g := range r.grants {
		if isFor(g, member, groups) && matches(g.Pattern, repo) {
			return g.Role, true
		}
	}
	return "", false
}

func (r *rules) somewhere(right api.Right, member string, groups []string) bool {
	return r != nil && slices.ContainsFunc(r.grants, func(g store.Grant) bool {
		return isFor(g, member, groups) && g.Role.May(right)
	})
}

func isFor(g store.Grant, member string, groups []string) bool {
	switch g.Kind {
	case store.ForEveryone:
		return true
	case store.ForGroup:
		return slices.Contains(groups, g.Name)
	case store.ForMember:
		return g.Name == member
	}
	return false
}

// patterns are globs over repos: * within a segment, ** over several.
type patterns []string

func patternsOf(list []string) patterns { return patterns(list) }

func (p patterns) match(repo api.RepoSlug) bool {
	return slices.ContainsFunc(p, func(pattern string) bool { return matches(pattern, repo) })
}

func matches(pattern string, repo api.RepoSlug) bool {
	ok, err := doublestar.Match(pattern, string(repo))
	return ok && err == nil
}

// MaxPattern is how long a pattern may be, in bytes.
const MaxPattern = api.MaxRepoSlugBytes

// ParsePattern reads a pattern of repos as people write it: letters are made
// small, as a repo's are.
func ParsePattern(s string) (string, error) {
	pattern := strings.ToLower(strings.TrimSpace(s))
	switch {
	case pattern == "":
		return "", fmt.Errorf("the pattern is empty: want one such as acme/* or **")
	case len(pattern) > MaxPattern:
		return "", fmt.Errorf("the pattern is longer than %d bytes", MaxPattern)
	case !doublestar.ValidatePattern(pattern) || strings.ContainsFunc(pattern, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		return "", fmt.Errorf("%q is not a pattern of repos: want one such as acme/* or **", pattern)
	}
	return pattern, nil
}
