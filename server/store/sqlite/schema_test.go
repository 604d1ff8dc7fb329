package sqlite

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the schema that results from the migrations to its file")

// schemaFile is the schema that the migrations result in, for people to read.
var schemaFile = filepath.Join("..", "..", "..", "migrations", "sqlite", "schema.sql")

const schemaHead = "-- The schema that the migrations result in, as SQLite keeps it. Written by:\n-- go test ./server/store/sqlite -run TestSchema -update\n"

func TestSchema(t *testing.T) {
	db := open(t)
	defer func() { _ = db.Close() }()
	rows, err := db.reader.Query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type DESC, name")
	if err != nil {
		t.Fatal(err)
	}
	statements, err := collect(rows, func(row scanner) (text string, err error) { return text, row.Scan(&text) })
	if err != nil {
		t.Fatal(err)
	}
	got := schemaHead + "\n" + strings.Join(statements, ";\n\n") + ";\n"
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
