package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// farBehind is how many versions a delta is put together from the history of. A
// reader who is further behind is served by one pass over the repo's entries.
const farBehind = 256

const (
	entryColumns = `e.key, e.checksum, e.deleted, e.size, e.modified, e.version`

	withRepo = `WITH repo AS MATERIALIZED (SELECT id, version FROM repos WHERE org_id = $1 AND slug = $2)
`
	selectEntries = `SELECT ` + entryColumns + ` FROM entries e
WHERE e.repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2) ORDER BY e.key`

	// selectEntriesSince has two halves, of which the distance lets one run. The
	// LIMIT says that a key has one row and keeps the planner from joining whole
	// tables.
	selectEntriesSince = withRepo + `SELECT ` + entryColumns + `
FROM (SELECT DISTINCT h.key FROM history h WHERE h.repo_id = (SELECT id FROM repo) AND h.version > $3) changed
CROSS JOIN LATERAL (SELECT * FROM entries WHERE repo_id = (SELECT id FROM repo) AND key = changed.key LIMIT 1) e
WHERE (SELECT version FROM repo) - $3 <= $4
UNION ALL
SELECT ` + entryColumns + ` FROM entries e
WHERE e.repo_id = (SELECT id FROM repo) AND e.version > $3 AND (SELECT version FROM repo) - $3 > $4
ORDER BY key`

	// selectState reads what concerns the touched keys ($3): their own rows, live
	// rows by fold ($4: the folds of the keys and of their directories), and one
	// live row below each key's fold ($5). '0' is the character after '/'.
	selectState = withRepo + `SELECT ` + entryColumns + `
FROM unnest($3::text[]) AS touched
CROSS JOIN LATERAL (SELECT * FROM entries WHERE repo_id = (SELECT id FROM repo) AND key = touched LIMIT 1) e
UNION ALL
SELECT ` + entryColumns + `
FROM unnest($4::text[]) AS wanted
CROSS JOIN LATERAL (SELECT * FROM entries WHERE repo_id = (SELECT id FROM repo) AND fold = wanted AND NOT deleted LIMIT 1) e
UNION ALL
SELECT ` + entryColumns + `
FROM unnest($5::text[]) AS directory
CROSS JOIN LATERAL (SELECT * FROM entries WHERE repo_id = (SELECT id FROM repo) AND NOT deleted
	AND fold >= directory || '/' AND fold < directory || '0' ORDER BY fold LIMIT 1) e`

	// upsertEntries writes the current rows. Deletions come first: the live twin
	// they make room for may be written by the same statement.
	upsertEntries = `INSERT INTO entries (repo_id, version, key, fold, deleted, checksum, size, modified)
SELECT $1, $2, w.* FROM unnest($3::text[], $4::text[], $5::boolean[], $6::bytea[], $7::integer[], $8::timestamptz[]) AS w
ON CONFLICT (repo_id, key) DO UPDATE SET version = excluded.version, deleted = excluded.deleted,
	checksum = excluded.checksum, size = excluded.size, modified = excluded.modified`

	insertHistory = `INSERT INTO history (repo_id, version, key, deleted, checksum, previous, size, modified)
SELECT $1, $2, w.* FROM unnest($3::text[], $4::boolean[], $5::bytea[], $6::bytea[], $7::integer[], $8::timestamptz[]) AS w`
)

// scanRows reads the next result as rows; expected is only a guess.
func scanRows(results pgx.BatchResults, expected int) ([]store.Row, error) {
	found, err := results.Query()
	if err != nil {
		return nil, err
	}
	defer found.Close()
	rows := make([]store.Row, 0, min(expected, 1<<16))
	var row store.Row
	var modified *time.Time
	columns := []any{(*string)(&row.Key), (*checksum)(&row.Checksum), &row.Deleted, &row.Size, &modified, (*int64)(&row.Version)}
	for found.Next() {
		if err := found.Scan(columns...); err != nil {
			return nil, err
		}
		row.Modified = moment(modified)
		rows = append(rows, row)
	}
	return rows, found.Err()
}

// writes is a change turned on its side: one array a column.
type writes struct {
	keys, folds         []string
	deleted             []bool
	checksums, previous [][]byte
	sizes               []int32
	modified            []*time.Time
}

// columns puts deletions first, see upsertEntries.
func columns(all []store.Write) *writes {
	w := &writes{}
	for _, deletions := range []bool{true, false} {
		for i := range all {
			if all[i].Deleted == deletions {
				w.add(&all[i])
			}
		}
	}
	return w
}

func (w *writes) add(write *store.Write) {
	w.keys = append(w.keys, string(write.Key))
	w.folds = append(w.folds, write.Fold)
	w.deleted = append(w.deleted, write.Deleted)
	w.checksums = append(w.checksums, raw(write.Checksum))
	w.previous = append(w.previous, raw(write.Previous))
	w.sizes = append(w.sizes, int32(write.Size))
	w.modified = append(w.modified, instant(write.Modified))
}

// concerned are the folds that selectState asks for: of the keys themselves, and
// of them with their directories.
func concerned(touched []api.Key) (own, withDirectories []string) {
	seen := make(map[string]bool, 2*len(touched))
	for _, key := range touched {
		fold := key.Fold()
		own = append(own, fold)
		for _, one := range append(key.Ancestors(), key) {
			if f := one.Fold(); !seen[f] {
				seen[f] = true
				withDirectories = append(withDirectories, f)
			}
		}
	}
	return own, withDirectories
}
