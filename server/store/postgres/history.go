package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	historyColumns = `SELECT h.key, h.deleted, h.checksum, h.previous, h.size, h.modified, h.version,
	v.at, coalesce(m.name, ''), v.client
FROM history h
JOIN versions v ON v.repo_id = h.repo_id AND v.version = h.version
LEFT JOIN memberships m ON m.org_id = $1 AND m.user_id = v.user_id
WHERE h.repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2)
`
	selectHistoryOfKey = historyColumns + `AND h.key = $5 AND h.version < $3 ORDER BY h.version DESC LIMIT $4`

	// selectHistory takes whole versions: from the limit's oldest one on. Versions
	// that changed nothing that everybody sees are not counted.
	selectHistory = historyColumns + `AND h.version < $3 AND h.version >= (
	SELECT coalesce(min(version), 0) FROM (
		SELECT DISTINCT version FROM history
		WHERE repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2) AND version < $3
		ORDER BY version DESC LIMIT $4) page)
ORDER BY h.version DESC, h.key`

	selectAuthors = `SELECT e.key, e.version, v.at, coalesce(m.name, ''), v.client
FROM entries e
JOIN versions v ON v.repo_id = e.repo_id AND v.version = e.version
LEFT JOIN memberships m ON m.org_id = $1 AND m.user_id = v.user_id
WHERE e.repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2) AND NOT e.deleted ORDER BY e.key`
)

// newest is above every version.
const newest = int64(1<<63 - 1)

// History reads changes, newest first, of at most limit versions.
func (db *DB) History(ctx context.Context, ref store.RepoRef, key api.Key, before api.Version, limit int) (all []store.Past, err error) {
	below := int64(before)
	if below <= 0 {
		below = newest
	}
	query, arguments := selectHistory, []any{int64(ref.Org), string(ref.Slug), below, int64(limit)}
	if key != "" {
		query, arguments = selectHistoryOfKey, append(arguments, string(key))
	}
	err = db.read(ctx, "history of "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, query, arguments...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanPast)
		return err
	})
	return all, err
}

func scanPast(row pgx.CollectableRow) (p store.Past, err error) {
	var modified *time.Time
	err = row.Scan((*string)(&p.Key), &p.Deleted, (*checksum)(&p.Checksum), (*checksum)(&p.Previous), &p.Size, &modified,
		(*int64)(&p.Version), &p.At, &p.UserName, &p.Client)
	p.Modified, p.At = moment(modified), p.At.UTC()
	return p, err
}

// Authors lists who last changed each live entry, in key order.
func (db *DB) Authors(ctx context.Context, ref store.RepoRef) (all []store.Authored, err error) {
	err = db.read(ctx, "authors of "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) (a store.Authored, err error) {
			err = row.Scan((*string)(&a.Key), (*int64)(&a.Version), &a.At, &a.UserName, &a.Client)
			a.At = a.At.UTC()
			return a, err
		}, selectAuthors, int64(ref.Org), string(ref.Slug))
		return err
	})
	return all, err
}
