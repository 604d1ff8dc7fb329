package sqlite

import (
	"context"
	"database/sql"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	historyColumns = `SELECT h.key, h.deleted, h.checksum, h.previous, h.size, h.modified, h.version,
	v.at, coalesce(m.name, ''), v.client
FROM history h
JOIN versions v ON v.repo_id = h.repo_id AND v.version = h.version
LEFT JOIN memberships m ON m.org_id = ?1 AND m.user_id = v.user_id
WHERE h.repo_id = (SELECT id FROM repos WHERE org_id = ?1 AND slug = ?2)
`
	selectHistoryOfKey = historyColumns + `AND h.key = ?5 AND h.version < ?3 ORDER BY h.version DESC LIMIT ?4`

	// selectHistory takes whole versions: from the limit's oldest one on. Versions
	// that changed nothing that everybody sees are not counted.
	selectHistory = historyColumns + `AND h.version < ?3 AND h.version >= (
	SELECT coalesce(min(version), 0) FROM (
		SELECT DISTINCT version FROM history
		WHERE repo_id = (SELECT id FROM repos WHERE org_id = ?1 AND slug = ?2) AND version < ?3
		ORDER BY version DESC LIMIT ?4))
ORDER BY h.version DESC, h.key`

	selectAuthors = `SELECT e.key, e.version, v.at, coalesce(m.name, ''), v.client
FROM entries e
JOIN versions v ON v.repo_id = e.repo_id AND v.version = e.version
LEFT JOIN memberships m ON m.org_id = ?1 AND m.user_id = v.user_id
WHERE e.repo_id = (SELECT id FROM repos WHERE org_id = ?1 AND slug = ?2) AND e.deleted = 0 ORDER BY e.key`
)

// newest is above every version.
const newest = int64(1<<63 - 1)

// History reads changes, newest first, of at most limit versions.
func (db *DB) History(ctx context.Context, ref store.RepoRef, key api.Key, before api.Version, limit int) (all []store.Past, err error) {
	below := int64(before)
	if below <= 0 {
		below = newest
	}
	query, arguments := selectHistory, []any{int64(ref.Org), string(ref.Slug), below, limit}
	if key != "" {
		query, arguments = selectHistoryOfKey, append(arguments, string(key))
	}
	err = db.reads(ctx, "history of "+string(ref.Slug), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, arguments...)
		if err != nil {
			return err
		}
		all, err = collect(rows, scanPast)
		return err
	})
	return all, err
}

func scanPast(row scanner) (p store.Past, err error) {
	err = row.Scan(&p.Key, &p.Deleted, (*checksum)(&p.Checksum), (*checksum)(&p.Previous), &p.Size, (*moment)(&p.Modified),
		&p.Version, (*moment)(&p.At), &p.UserName, &p.Client)
	return p, err
}

// Authors lists who last changed each live entry, in key order.
func (db *DB) Authors(ctx context.Context, ref store.RepoRef) (all []store.Authored, err error) {
	err = db.reads(ctx, "authors of "+string(ref.Slug), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectAuthors, int64(ref.Org), string(ref.Slug))
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (a store.Authored, err error) {
			err = row.Scan(&a.Key, &a.Version, (*moment)(&a.At), &a.UserName, &a.Client)
			return a, err
		})
		return err
	})
	return all, err
}
