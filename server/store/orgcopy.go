package store

import "context"

// OrgCopier is what a store has in addition out of which one organization can be taken,
// and into which one can be put beside others. Rows are as a [Copier] has them.
type OrgCopier interface {
	// ExportOrg gives the rows of one organization as of one instant, in the order of
	// [OrgTables]; the server goes on.
	ExportOrg(ctx context.Context, org OrgID, begin func(Table) error, row func(values []any) error) error
	// ImportOrg adds rows in one transaction. highest is the greatest row number of
	// each numbered table among them; what is to be added to each, so that none meets
	// one that is taken, now or later, is told to rows. The error is [ErrExists] where
	// something that there may be once is there already.
	ImportOrg(ctx context.Context, highest Numbers, rows func(shift Numbers) Rows) error
}

// Numbers are row numbers, by table.
type Numbers map[string]int64

// Numbered are the tables of an organization whose rows have numbers, which other
// tables refer to.
var Numbered = []string{"organizations", "users", "repos", "proposals"}

// OrgTable says which rows of a table belong to an organization.
type OrgTable struct {
	Name  string
	Where string // of SQL, with ?1 for the organization
	// Columns and Select are for tables of which not all is taken as it stands.
	Columns []string
	Select  string
	Group   string
}

const (
	ofOrg  = "org_id = ?1"
	ofRepo = "repo_id IN (SELECT id FROM repos WHERE org_id = ?1)"
	ofUser = "user_id IN (SELECT user_id FROM memberships WHERE org_id = ?1)"
)

// OrgTables are the tables that an organization is copied with, those first that others
// refer to. Left out are what lets somebody in or is of one server only: see [OrgLeft].
var OrgTables = []OrgTable{
	{Name: "organizations", Where: "id = ?1"},
	{Name: "users", Where: "id IN (SELECT user_id FROM memberships WHERE org_id = ?1)"},
	{Name: "memberships", Where: ofOrg},
	{Name: "repos", Where: ofOrg},
	{Name: "audit", Where: ofRepo},
	{Name: "audit_anchors", Where: ofOrg},
	{Name: "audit_checkpoints", Where: ofRepo},
	{Name: "bodies", Where: ofOrg},
	{Name: "entries", Where: ofRepo},
	{Name: "entry_reads", Where: ofRepo},
	{Name: "figures", Where: ofOrg},
	{Name: "findings", Where: ofRepo},
	{Name: "forgotten", Where: ofRepo},
	{Name: "grants", Where: ofOrg},
	{Name: "history", Where: ofRepo},
	{Name: "identities", Where: ofUser},
	{Name: "invitations", Where: ofOrg},
	{Name: "org_audit", Where: ofOrg},
	{Name: "policies", Where: ofOrg},
	{Name: "proposals", Where: ofRepo},
	// Tokens stay, so who was served is told by user and machine.
	{
		Name: "pulls", Where: ofRepo, Columns: []string{"repo_id", "user_id", "token_id", "client", "oldest", "newest", "at"},
		Select: "repo_id, user_id, 0, client, min(oldest), max(newest), max(at)", Group: "repo_id, user_id, client",
	},
	{Name: "redactions", Where: ofOrg},
	{Name: "repo_aliases", Where: ofOrg},
	{Name: "repo_redactions", Where: ofRepo},
	{Name: "versions", Where: ofRepo},
}

// OrgLeft are the tables that stay where they are when an organization is copied, and
// why.
var OrgLeft = map[string]string{
	"tokens":        "a token is for the server that made it",
	"sessions":      "whoever is signed in is so at one server",
	"clients":       "directories say anew how they are to the server that they sync with",
	"scans":         "a scan can be asked for anew",
	"scan_findings": "as scans",
	"tallies":       "what servers on one database count together is of a minute",
}

// OrgTableOf finds a table; nil where none of an organization has the name.
func OrgTableOf(name string) *OrgTable {
	for i := range OrgTables {
		if OrgTables[i].Name == name {
			return &OrgTables[i]
		}
	}
	return nil
}

// Query is the statement that reads the organization's rows, of the columns given.
func (t OrgTable) Query(columns string) string {
	if t.Select != "" {
		columns = t.Select
	}
	query := `SELECT ` + columns + ` FROM "` + t.Name + `" WHERE ` + t.Where
	if t.Group != "" {
		query += " GROUP BY " + t.Group
	}
	return query
}
