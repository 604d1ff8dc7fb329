package store

import (
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
)

// Names is a list of names that hold no line break, one a line, as databases keep
// it. It is comparable, so that what holds it is.
type Names string

// NamesOf joins a list.
func NamesOf(list []string) Names { return Names(strings.Join(list, "\n")) }

// List takes it apart; empty is no name.
func (n Names) List() []string {
	if n == "" {
		return nil
	}
	return strings.Split(string(n), "\n")
}

// Organization is a tenant. Nothing of one is ever visible to another.
type Organization struct {
	ID      OrgID
	UID     string // public, random, stable: "org_…"; organizationId on the wire
	Name    string // unique among organizations; for people and commands
	Created time.Time
	OrgLimits
	// FingerprintKey is written by CreateOrganization and read by Policy only.
	FingerprintKey [32]byte
}

// OrgLimits is what an organization may use. Zero is the server's default, or no
// limit where the server has none.
type OrgLimits struct {
	MaxEntries      int   // live entries in a repo
	MaxRepos        int   // repos
	MaxBytes        int64 // of live contents in a repo
	WritesPerMinute int   // PUTs and the like, of all its members together
	AuditDays       int   // how long audit records are kept; 0: for ever
	HistoryDays     int   // how long earlier texts of entries are kept; 0: for ever
	HistoryKeep     int   // of each entry as many changes stay however old they are
	TrashDays       int   // how long the texts of deleted entries are kept; 0: as others
}

// Member is a person or a service in one organization.
type Member struct {
	Org     OrgID
	User    UserID
	Name    string   // unique in the organization
	Role    api.Role // given by hand; empty where only groups give one
	Groups  Names    // of the provider, as of the last sign-in
	Service bool     // a machine: it has tokens and never signs in
	Created time.Time
	Removed time.Time // zero: not
}

// Membership is one organization of a person.
type Membership struct {
	Member
	OrgUID  string
	OrgName string
}

// GrantKind says whom a [Grant] is for.
type GrantKind string

// The kinds. Of several grants that fit a repo the more personal one counts.
const (
	ForEveryone GrantKind = "everyone"
	ForGroup    GrantKind = "group"
	ForMember   GrantKind = "member"
)

// Grant makes whom it is for a role on the repos of a pattern, be it more or less
// than they are in the organization. Without a pattern, which only a group's may
// be, it is what the group is in the organization.
type Grant struct {
	Kind    GrantKind
	Name    string // of the group or the member; empty for everyone
	Pattern string
	Role    api.Role // [api.NoRole] takes the repos away
}

// Access is what decides with a token what a request may do: one organization's
// limits, its grants, and the other names of its repos.
type Access struct {
	Organization Organization
	Grants       []Grant                       // by kind, name and pattern
	Aliases      map[api.RepoSlug]api.RepoSlug // an old name to the name of now
}

// RepoInfo is a repo as lists show it.
type RepoInfo struct {
	Slug api.RepoSlug
	Head Head // with AuditHead
}

// OrgState is what [Store.Administer] shows to decide, under the organization's
// lock.
type OrgState struct {
	Access
	Members []Member     // by name, removed ones included
	Invited []Invitation // by address
	Tokens  []Token      // those that About names
	Repos   []RepoInfo
	Audit   AuditPlace // the head of its chain
}

// Member finds one by name; nil where there is none.
func (s *OrgState) Member(name string) *Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}

// Invitation finds the one to an address; nil where there is none.
func (s *OrgState) Invitation(email string) *Invitation {
	for i := range s.Invited {
		if s.Invited[i].Email == email {
			return &s.Invited[i]
		}
	}
	return nil
}

// About names what a change of an organization has to see besides.
type About struct {
	Tokens []string       // public ids
	Repos  []api.RepoSlug // those of them that exist are shown
	Moved  int            // that many repos at most whose head no checkpoint holds
}

// OrgChange is a change of an organization. What is nil or empty stays.
type OrgChange struct {
	Organization *Organization  // name and limits
	Members      []Member       // by name: new, or as they shall be
	Grants       *[]Grant       // all of them
	NewTokens    []Token        // of members that exist, or are in Members
	Revoke       []string       // public ids of tokens
	Invite       []Invitation   // by address: new, or as they shall be
	Uninvite     []string       // addresses
	Rename       *Rename        // of a repo
	Forget       []api.RepoSlug // old names
	Checkpoint   []RepoInfo     // heads that Audit holds
	Pruned       []AuditAnchor  // chains of which older records go
	// Policy is put in force; the others are kept. [ErrExists] when there is one of
	// that version, so that of two who change one policy the second is told.
	Policy *Policy
	Audit  audit.Record // without Seq and hashes: the store chains it
}

// Rename gives a repo another name; it goes on answering under the old one.
type Rename struct{ From, To api.RepoSlug }

// DecideOrg makes the change, or returns nil for none, or an error for a refusal.
type DecideOrg func(OrgState) (*OrgChange, error)

// AuditPlace is a place in a chain: the record of that number, and its hash.
type AuditPlace struct {
	Seq  int64
	Hash [32]byte
}

// AuditAnchor is where a chain begins since its older records went: the last one
// that went. The zero RepoID is the organization's own chain.
type AuditAnchor struct {
	Repo RepoID
	AuditPlace
}

// AuditQuery is what of a chain is asked for, newest first.
type AuditQuery struct {
	Repo     RepoID // zero: the organization's own chain
	User     string // empty: of all
	Action   string // exactly, or with a dot at its end all that begin so; empty: all
	From, To time.Time
	Before   int64 // sequence number; zero: from the newest
	Limit    int
}
