package backup

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// Org says of which organization a file is, where it is not of a whole database.
type Org struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Identity is a person of an organization as a provider knows them.
type Identity struct {
	Issuer, Subject string
	User            int64 // their number in the file
}

// OrgRows is what a file of one organization holds, beside its rows.
type OrgRows struct {
	Summary
	Highest    store.Numbers
	Identities []Identity
	Redactions int64

	org          int64
	repos, users map[int64]bool
}

// columnName is how our columns are called: a name out of a file becomes part of a
// statement.
var columnName = regexp.MustCompile(`^[a-z_]{1,64}$`)

// VerifyOrg reads a file of one organization to its end. No row may be of a table that
// is not an organization's, or name an organization, repo or user that does not stand
// before it: whoever adds the rows to a database that holds others relies on that.
func VerifyOrg(from io.Reader) (*OrgRows, error) {
	r, err := Open(from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	o := &OrgRows{Highest: store.Numbers{}, repos: map[int64]bool{}, users: map[int64]bool{}}
	for {
		table, values, err := r.Next()
		if err != nil {
			return nil, err
		}
		if table.Name == "" {
			break
		}
		if err := o.take(table, values); err != nil {
			return nil, err
		}
	}
	if o.Summary = r.Summary(); o.Organization == nil || o.org == 0 {
		return nil, &DamagedError{"it holds no organization"}
	}
	return o, nil
}

// take holds a row against what stands before it.
func (o *OrgRows) take(table store.Table, values []any) error {
	if store.OrgTableOf(table.Name) == nil {
		return &DamagedError{fmt.Sprintf("table %q is none of an organization's", table.Name)}
	}
	for i, column := range table.Columns {
		n, _ := values[i].(int64)
		known := true
		switch refersTo(table.Name, column) {
		case "":
			if !columnName.MatchString(column) {
				return &DamagedError{fmt.Sprintf("table %s has a column with a strange name", table.Name)}
			}
		case "organizations":
			known = n == o.org && n > 0
			if table.Name == "organizations" {
				known = o.org == 0 && n > 0
				o.org = n
			}
		case "repos":
			if table.Name == "repos" {
				known = n > 0 && !o.repos[n]
				o.repos[n] = true
			} else {
				known = n == 0 || o.repos[n]
			}
		case "users":
			if table.Name == "users" {
				known = n > 0 && !o.users[n]
				o.users[n] = true
			} else {
				known = n == 0 || o.users[n]
			}
		}
		if !known {
			return &DamagedError{fmt.Sprintf("a row of %s names another's %s", table.Name, column)}
		}
		if column == "id" {
			o.Highest[table.Name] = max(o.Highest[table.Name], n)
		}
	}
	switch table.Name {
	case "identities":
		o.Identities = append(o.Identities, identityOf(table, values))
	case "redactions":
		o.Redactions++
	}
	return nil
}

// refersTo is the numbered table that a column's numbers are of; empty for other columns.
func refersTo(table, column string) string {
	switch column {
	case "id":
		return table
	case "org_id":
		return "organizations"
	case "repo_id":
		return "repos"
	case "user_id", "author":
		return "users"
	}
	return ""
}

func identityOf(table store.Table, values []any) (id Identity) {
	for i, column := range table.Columns {
		switch column {
		case "issuer":
			id.Issuer, _ = values[i].(string)
		case "subject":
			id.Subject, _ = values[i].(string)
		case "user_id":
			id.User, _ = values[i].(int64)
		}
	}
	return id
}

// Placing says how an organization is to stand in another database.
type Placing struct {
	Name string
	UID  string // its public id: its own, or a new one beside the original
	At   time.Time
	// Known are the users who have a number in the database already, and Dropped the
	// identities that are known there, by issuer and subject.
	Known   map[int64]int64
	Dropped map[Identity]bool

	shift store.Numbers
	last  struct {
		seq  int64
		head [32]byte
		org  int64
		uid  string
	}
	ended bool
}

// Rows are the rows of a file as they shall be. At their end stands one more record of
// the organization's chain, which says that it was brought here and by how much the
// numbers of its repos' chains have moved.
func (p *Placing) Rows(ctx context.Context, r *Reader, shift store.Numbers, progress func(rows int64)) store.Rows {
	p.shift = shift
	next := r.Rows(ctx, progress)
	return func() (store.Table, []any, error) {
		for {
			table, values, err := next()
			switch {
			case err != nil:
				return table, nil, err
			case table.Name == "" && !p.ended:
				p.ended = true
				return p.record()
			case table.Name == "":
				return store.Table{}, nil, nil
			}
			if moved, keep, err := p.place(table, values); err != nil || keep {
				return table, moved, err
			}
		}
	}
}

// place moves the numbers of a row.
func (p *Placing) place(table store.Table, values []any) (moved []any, keep bool, err error) {
	moved = make([]any, len(values))
	copy(moved, values)
	switch table.Name {
	case "identities":
		if id := identityOf(table, values); p.Dropped[Identity{Issuer: id.Issuer, Subject: id.Subject}] {
			return nil, false, nil
		}
	case "organizations":
		if err := p.organization(table, moved); err != nil {
			return nil, false, err
		}
	}
	for i, column := range table.Columns {
		n, isNumber := values[i].(int64)
		switch of := refersTo(table.Name, column); {
		case column == "token_id":
			moved[i] = int64(0)
		case of == "users":
			here, known := p.Known[n]
			if known && table.Name == "users" {
				return nil, false, nil
			}
			if moved[i] = here; !known && n != 0 {
				moved[i] = n + p.shift["users"]
			}
		case of != "" && isNumber && n != 0:
			moved[i] = n + p.shift[of]
		case table.Name == "proposals" && column == "uid" && p.UID != p.last.uid:
			moved[i] = otherUID(p.UID, fmt.Sprint(values[i]))
		}
	}
	return moved, true, nil
}

// otherUID is another proposal's public id, for one that goes beside the original.
func otherUID(org, uid string) string {
	sum := sha256.Sum256([]byte(org + "\x00" + uid))
	return "prop_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// organization gives the organization its name here, and makes room at the end of its
// chain for one more record.
func (p *Placing) organization(table store.Table, row []any) error {
	for i, column := range table.Columns {
		switch column {
		case "id":
			p.last.org, _ = row[i].(int64)
		case "uid":
			p.last.uid, _ = row[i].(string)
			row[i] = p.UID
		case "name":
			row[i] = p.Name
		case "audit_seq":
			p.last.seq, _ = row[i].(int64)
			row[i] = p.last.seq + 1
		case "audit_head":
			head, _ := row[i].([]byte)
			if len(head) != len(p.last.head) {
				return &DamagedError{"the organization's chain has no head"}
			}
			p.last.head = [32]byte(head)
		}
	}
	for i, column := range table.Columns {
		if column == "audit_head" {
			hash := p.brought().Hash
			row[i] = hash[:]
		}
	}
	return nil
}

// brought is the record of the organization's coming.
func (p *Placing) brought() audit.Record {
	deed := audit.Deed{How: "command", Of: p.Name, After: audit.Brought{Shift: p.shift["repos"], ID: p.UID}}
	return audit.Record{
		Seq: p.last.seq + 1, At: p.At, Action: audit.ActionOrgImport, User: "operator", Client: "server", Subject: deed.Subject(),
	}.Chain(p.last.head)
}

func (p *Placing) record() (store.Table, []any, error) {
	r := p.brought()
	table := store.Table{Name: "org_audit", Columns: []string{
		"org_id", "seq", "at", "action", "user_name", "token_uid", "client", "subject", "previous", "hash",
	}}
	return table, []any{
		p.last.org + p.shift["organizations"], r.Seq, r.At.UnixMilli(), r.Action, r.User, r.TokenUID, r.Client, string(r.Subject), r.Previous[:], r.Hash[:],
	}, nil
}

// orgCopier is a copier of one organization.
type orgCopier struct {
	from store.OrgCopier
	org  store.OrgID
}

// Export gives the organization's rows.
func (o orgCopier) Export(ctx context.Context, begin func(store.Table) error, row func([]any) error) error {
	return o.from.ExportOrg(ctx, o.org, begin, row)
}

// WriteOrg writes one organization, as [Write] does a database.
func WriteOrg(ctx context.Context, to io.Writer, from store.OrgCopier, org store.Organization, head Head, progress func(rows int64)) (Summary, error) {
	head.Organization = &Org{ID: org.UID, Name: org.Name}
	return Write(ctx, to, orgCopier{from, org.ID}, head, progress)
}
