// Package migrations holds the numbered migrations of both databases, embedded.
//
// Each is a pair, NNNN_name.up.sql and NNNN_name.down.sql, that opens with a
// comment that explains, and is never edited once released. A run of migrations
// is one transaction (server/store/schema sees to it), so a migration must not
// hold what cannot run in one. Beside them schema.sql is the schema that results,
// as the database itself describes it; a test of each store compares.
package migrations

import "embed"

// FS holds the migrations, one folder a dialect.
//
//go:embed postgres/[0-9]*.sql sqlite/[0-9]*.sql
var FS embed.FS

// The folders of [FS].
const (
	Postgres = "postgres"
	SQLite   = "sqlite"
)
