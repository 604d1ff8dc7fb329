package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// farBehind is how many versions a delta is put together from the history of. A
// reader who is further behind is served by one pass over the repo's entries.
const farBehind = 256

const (
	entryColumns = `SELECT e.key, e.checksum, e.deleted, e.size, e.modified, e.version `

	selectEntries = entryColumns + `FROM entries e WHERE e.repo_id = ? ORDER BY e.key`

	selectEntriesNear = entryColumns + `FROM entries e WHERE e.repo_id = ?1
AND e.key IN (SELECT h.key FROM history h WHERE h.repo_id = ?1 AND h.version > ?2) ORDER BY e.key`

	selectEntriesFar = entryColumns + `FROM entries e WHERE e.repo_id = ?1 AND e.version > ?2 ORDER BY e.key`

	// selectState reads what concerns the touched keys (?2): their own rows, live
	// rows by fold (?3: the folds of the keys and of their directories), and one
	// live row below each key's fold (?4). '0' is the character after '/'. The
	// lists are JSON arrays of texts; CROSS JOIN keeps them outside.
	selectState = entryColumns + `FROM json_each(?2) touched CROSS JOIN entries e ON e.repo_id = ?1 AND e.key = touched.value
UNION ALL
` + entryColumns + `FROM json_each(?3) wanted CROSS JOIN entries e ON e.repo_id = ?1 AND e.fold = wanted.value AND e.deleted = 0
UNION ALL
` + entryColumns + `FROM json_each(?4) directory CROSS JOIN entries e ON e.repo_id = ?1 AND e.key = (
	SELECT key FROM entries WHERE repo_id = ?1 AND deleted = 0
	AND fold >= directory.value || '/' AND fold < directory.value || '0' ORDER BY fold LIMIT 1)`

	upsertEntry = `INSERT INTO entries (repo_id, version, key, fold, deleted, checksum, size, modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (repo_id, key) DO UPDATE SET version = excluded.version, deleted = excluded.deleted,
	checksum = excluded.checksum, size = excluded.size, modified = excluded.modified`

	insertHistory = `INSERT INTO history (repo_id, version, key, deleted, checksum, previous, size, modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
)

// changedAfter reads rows in key order.
func (db *DB) changedAfter(ctx context.Context, tx *sql.Tx, head store.Head, since api.Version) ([]store.Row, error) {
	statement, arguments := db.statements.selectEntries, []any{int64(head.ID)}
	switch {
	case since <= 0:
	case head.Version-since > farBehind:
		statement, arguments = db.statements.selectFar, append(arguments, int64(since))
	default:
		statement, arguments = db.statements.selectNear, append(arguments, int64(since))
	}
	rows, err := tx.StmtContext(ctx, statement).QueryContext(ctx, arguments...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scanRow)
}

func scanRow(row scanner) (r store.Row, err error) {
	err = row.Scan(&r.Key, (*checksum)(&r.Checksum), &r.Deleted, &r.Size, (*moment)(&r.Modified), &r.Version)
	return r, err
}

// readState reads selectState's rows.
func (db *DB) readState(ctx context.Context, tx *sql.Tx, repo store.RepoID, touched []api.Key) (map[api.Key]store.Row, error) {
	lists, err := concerned(touched)
	if err != nil {
		return nil, err
	}
	found, err := tx.StmtContext(ctx, db.statements.selectState).QueryContext(ctx, int64(repo), lists[0], lists[1], lists[2])
	if err != nil {
		return nil, err
	}
	rows, err := collect(found, scanRow)
	state := make(map[api.Key]store.Row, len(rows))
	for _, row := range rows {
		state[row.Key] = row
	}
	return state, err
}

// concerned makes the three lists that selectState asks for.
func concerned(touched []api.Key) (lists [3]string, err error) {
	own := make([]string, 0, len(touched))
	withDirectories := make([]string, 0, 2*len(touched))
	seen := make(map[string]bool, 2*len(touched))
	for _, key := range touched {
		own = append(own, key.Fold())
		for _, one := range append(key.Ancestors(), key) {
			if fold := one.Fold(); !seen[fold] {
				seen[fold] = true
				withDirectories = append(withDirectories, fold)
			}
		}
	}
	for i, list := range []any{append([]api.Key{}, touched...), withDirectories, own} {
		text, err := json.Marshal(list)
		if err != nil {
			return lists, err
		}
		lists[i] = string(text)
	}
	return lists, nil
}

// writeEntry writes a key's current row and its line in history.
func (w *transaction) writeEntry(write *store.Write) error {
	_, err := w.upsertEntry.ExecContext(w.ctx, w.repo, w.version, string(write.Key), write.Fold, write.Deleted, raw(write.Checksum),
		write.Size, instant(write.Modified))
	if err != nil {
		return err
	}
	_, err = w.insertHistory.ExecContext(w.ctx, w.repo, w.version, string(write.Key), write.Deleted, raw(write.Checksum),
		raw(write.Previous), write.Size, instant(write.Modified))
	return err
}
