package postgres

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

var update = flag.Bool("update", false, "write the schema that results from the migrations to its file")

// schemaFile is the schema that the migrations result in, for people to read.
var schemaFile = filepath.Join("..", "..", "..", "migrations", "postgres", "schema.sql")

const schemaHead = "-- The schema that the migrations result in, as PostgreSQL's catalogue describes it. Written by:\n-- go test ./server/store/postgres -run TestSchema -update\n"

// describeTables writes each table of the schema as one statement. pg_dump would
// do more and would have to be of the server's version.
const describeTables = `SELECT format(E'CREATE TABLE %I (\n%s\n)%s;\n%s', c.relname,
	(SELECT string_agg(line, E',\n' ORDER BY place, line) FROM (
		SELECT a.attnum AS place, format('    %I %s', a.attname, format_type(a.atttypid, a.atttypmod))
			|| CASE a.attstorage WHEN t.typstorage THEN '' ELSE ' STORAGE ' || CASE a.attstorage WHEN 'e' THEN 'EXTERNAL' ELSE a.attstorage::text END END
			|| CASE WHEN a.attcollation <> t.typcollation THEN (SELECT format(' COLLATE %I', collname) FROM pg_collation WHERE oid = a.attcollation) ELSE '' END
			|| CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
			|| CASE WHEN a.attidentity = 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
			|| coalesce((SELECT ' DEFAULT ' || pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = c.oid AND adnum = a.attnum), '') AS line
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		UNION ALL
		SELECT 10000, format('    CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
		FROM pg_constraint WHERE conrelid = c.oid AND contype IN ('p', 'u', 'f', 'c')) lines),
	CASE WHEN c.reloptions IS NULL THEN '' ELSE ' WITH (' || array_to_string(c.reloptions, ', ') || ')' END,
	coalesce((SELECT string_agg(pg_get_indexdef(indexrelid) || E';\n', '' ORDER BY indexrelid::regclass::text) FROM pg_index
		WHERE indrelid = c.oid AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)), ''))
FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname`

func TestSchema(t *testing.T) {
	db := open(t, pgtest.DSN(t))
	defer func() { _ = db.Close() }()
	rows, err := db.pool.Query(t.Context(), describeTables)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	got := schemaHead + "\n" + strings.Join(tables, "\n")
	if *update {
		if err := os.WriteFile(schemaFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the migrations result in another schema than %s says; when that is meant, run this test with -update", schemaFile)
	}
}
