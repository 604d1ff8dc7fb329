package api

// Addresses of what an organization has beside its repos.
const (
	PathMembers      = "/api/v1/members"
	PathGroups       = "/api/v1/groups"
	PathGrants       = "/api/v1/grants"
	PathTokens       = "/api/v1/tokens"
	PathRepos        = "/api/v1/repos"
	PathRepoNames    = "/api/v1/repos/names"
	PathOrganization = "/api/v1/organization"
	PathAudit        = "/api/v1/audit"
	PathAuditExport  = "/api/v1/audit/export"
)

// MemberInfo is a member of an organization.
type MemberInfo struct {
	Name    string   `json:"name"`
	Role    Role     `json:"role"` // given by hand; "none" where only groups give one
	Groups  []string `json:"groups"`
	Service bool     `json:"service"`
	Created Time     `json:"created"`
}

// MemberList is a page of members, by name.
type MemberList struct {
	Members    []MemberInfo `json:"members"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// MemberChange is the body that makes somebody a member or changes one.
type MemberChange struct {
	Role    Role `json:"role"`
	Service bool `json:"service"`
}

// GrantInfo makes a group, a member or everyone a role on the repos of a pattern; a
// group's without a pattern is its role in the organization.
type GrantInfo struct {
	Kind    string `json:"kind"` // everyone, group, member
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	Role    Role   `json:"role"`
}

// GrantList is all grants of an organization.
type GrantList struct {
	Grants []GrantInfo `json:"grants"`
}

// GrantChange is the body that makes or changes a grant; what it is for stands in
// the query.
type GrantChange struct {
	Role Role `json:"role"`
}

// TokenInfo is a token without its secret.
type TokenInfo struct {
	ID       string   `json:"id"`
	User     string   `json:"user"`
	Role     Role     `json:"role"`
	Label    string   `json:"label"`
	Scope    string   `json:"scope"` // read, write, all
	Repos    []string `json:"repos"` // patterns; empty: all
	Prefix   string   `json:"prefix"`
	Created  Time     `json:"created"`
	Expires  *Time    `json:"expires"`  // null: never
	Revoked  *Time    `json:"revoked"`  // null: not
	LastUsed *Time    `json:"lastUsed"` // null: never
}

// TokenList is a page of tokens, newest first.
type TokenList struct {
	Tokens     []TokenInfo `json:"tokens"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// TokenRequest is the body that makes a token. Absent fields: a token of one's own,
// of one's role, for all repos, that ends after 90 days.
type TokenRequest struct {
	User    string   `json:"user,omitempty"` // another's, for admins
	Role    Role     `json:"role,omitempty"`
	Label   string   `json:"label,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	Repos   []string `json:"repos,omitempty"`
	Expires *Time    `json:"expires,omitempty"`
}

// NewToken is a token with its secret, which is shown once.
type NewToken struct {
	TokenInfo
	Token string `json:"token"`
}

// RepoInfo is a repo that has memory.
type RepoInfo struct {
	Repo         RepoSlug   `json:"repo"`
	OldNames     []RepoSlug `json:"oldNames"` // under which it answers as well
	Version      Version    `json:"version"`
	Entries      int        `json:"entries"`
	Bytes        int64      `json:"bytes"`
	LastModified Time       `json:"lastModified"`
	Role         Role       `json:"role"` // of the caller on it
}

// RepoList is a page of repos, by name.
type RepoList struct {
	Repos      []RepoInfo `json:"repos"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// RepoRename is the body that gives a repo another name.
type RepoRename struct {
	To RepoSlug `json:"to"`
}

// OrganizationInfo is an organization and its limits; 0 is the server's default, or
// none.
type OrganizationInfo struct {
	ID              string `json:"id"`
	Name            string `json:"name"`
	MaxEntries      int    `json:"maxEntries"`
	MaxRepos        int    `json:"maxRepos"`
	MaxBytes        int64  `json:"maxBytes"`
	WritesPerMinute int    `json:"writesPerMinute"`
	AuditDays       int    `json:"auditDays"`
	HistoryDays     int    `json:"historyDays"` // see docs/operate.md; 0: for ever
	HistoryKeep     int    `json:"historyKeep"`
	TrashDays       int    `json:"trashDays"`
	Created         Time   `json:"created"`
}

// OrganizationChange is the body that changes an organization; what is absent stays.
type OrganizationChange struct {
	Name            *string `json:"name,omitempty"`
	MaxEntries      *int    `json:"maxEntries,omitempty"`
	MaxRepos        *int    `json:"maxRepos,omitempty"`
	MaxBytes        *int64  `json:"maxBytes,omitempty"`
	WritesPerMinute *int    `json:"writesPerMinute,omitempty"`
	AuditDays       *int    `json:"auditDays,omitempty"`
	HistoryDays     *int    `json:"historyDays,omitempty"`
	HistoryKeep     *int    `json:"historyKeep,omitempty"`
	TrashDays       *int    `json:"trashDays,omitempty"`
}

// Done is the answer to a change that has nothing else to say.
type Done struct {
	Status string `json:"status"` // "ok"
}
