package store

import (
	"context"
	"slices"
	"strings"
)

// Table is a table on its way from one database to another, be that of another kind:
// the schemas have the same nouns.
type Table struct {
	Name    string
	Columns []string
}

// Copier is what a store has in addition whose whole contents can be taken out. A
// value is nil, an int64, a string or a []byte; times are milliseconds since 1970, and
// truth is 1.
type Copier interface {
	// Export gives every row as of one instant, table by table; the server goes on.
	// begin comes before the rows of each table. A row is valid until row returns.
	Export(ctx context.Context, begin func(Table) error, row func(values []any) error) error
}

// Rows gives the rows that an empty database is filled with, and at their end the zero
// table.
type Rows func() (Table, []any, error)

// parents come before the tables that refer to them.
var parents = []string{"organizations", "users", "memberships", "tokens", "repos", "scans"}

// CopyOrder puts the names of a database's tables in the order in which they are
// copied, and leaves out those that a database makes for itself: its schema's
// version, its epoch, and what is derived for searching.
func CopyOrder(names []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == "schema_migrations" || name == "server" || strings.HasPrefix(name, "search") || strings.HasPrefix(name, "sqlite_")
	})
	rank := func(name string) int {
		if i := slices.Index(parents, name); i >= 0 {
			return i
		}
		return len(parents)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}
