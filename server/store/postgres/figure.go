package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	upsertFigure = `INSERT INTO figures AS f (org_id, hour, repo_id, versions, created, changed, deleted, conflicts, refused, held, bytes)
VALUES ($1::bigint, $2::timestamptz, coalesce((SELECT id FROM repos WHERE org_id = $1 AND slug = $3::text), 0),
	$4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint, $10::bigint, $11::bigint)
ON CONFLICT (org_id, hour, repo_id) DO UPDATE SET versions = f.versions + excluded.versions, created = f.created + excluded.created,
	changed = f.changed + excluded.changed, deleted = f.deleted + excluded.deleted, conflicts = f.conflicts + excluded.conflicts,
	refused = f.refused + excluded.refused, held = f.held + excluded.held, bytes = f.bytes + excluded.bytes`
	selectFigures = `SELECT f.org_id, f.hour, coalesce(r.slug, ''), f.versions, f.created, f.changed, f.deleted, f.conflicts, f.refused, f.held, f.bytes
FROM figures f LEFT JOIN repos r ON r.id = f.repo_id WHERE f.org_id = $1 AND f.hour >= $2 ORDER BY f.hour, coalesce(r.slug, '') COLLATE "C"`
	dropFigures = `DELETE FROM figures WHERE hour < $1`

	upsertClient = `INSERT INTO clients AS c (org_id, user_id, uid, seen, document) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (org_id, user_id, uid) DO UPDATE SET seen = excluded.seen, document = excluded.document WHERE excluded.seen >= c.seen`
	dropMoreClients = `DELETE FROM clients WHERE org_id = $1 AND user_id = $2 AND uid NOT IN (
	SELECT uid FROM clients WHERE org_id = $1 AND user_id = $2 ORDER BY seen DESC, uid LIMIT $3)`
	selectClients = `SELECT c.org_id, c.user_id, c.uid, c.seen, c.document, coalesce(m.name, '')
FROM clients c LEFT JOIN memberships m ON m.org_id = c.org_id AND m.user_id = c.user_id
WHERE c.org_id = $1 AND ($2 = 0::bigint OR c.user_id = $2) ORDER BY c.seen DESC, c.user_id, c.uid`
	dropClients = `DELETE FROM clients WHERE seen < $1`

	selectStorage = `SELECT coalesce(sum(length(data)), 0) FROM bodies WHERE org_id = $1`
)

// NoteFigures adds what happened, see [store.Store]. The order keeps two servers that
// note the same from waiting for each other.
func (db *DB) NoteFigures(ctx context.Context, all []store.Figure) error {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b store.Figure) int {
		return cmp.Or(cmp.Compare(a.Org, b.Org), a.Hour.Compare(b.Hour), cmp.Compare(a.Slug, b.Slug))
	})
	batch := &pgx.Batch{}
	for _, f := range all {
		batch.Queue(upsertFigure, int64(f.Org), millis(f.Hour), string(f.Slug), f.Versions, f.Created, f.Changed, f.Deleted, f.Conflicts, f.Refused, f.Held, f.Bytes)
	}
	return db.noted(ctx, "noting figures", batch)
}

// noted sends statements as one transaction.
func (db *DB) noted(ctx context.Context, operation string, statements *pgx.Batch) error {
	return db.read(ctx, operation, func(conn *pgxpool.Conn) error {
		batch := &pgx.Batch{}
		batch.Queue(`BEGIN`)
		for _, q := range statements.QueuedQueries {
			batch.Queue(q.SQL, q.Arguments...)
		}
		batch.Queue(commit)
		return db.send(ctx, conn, batch, func(results pgx.BatchResults) error { return skip(results, batch.Len()) })
	})
}

// Figures lists what happened from an hour on, in the order of time and repo.
func (db *DB) Figures(ctx context.Context, org store.OrgID, from time.Time) (all []store.Figure, err error) {
	err = db.read(ctx, "reading figures", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) (f store.Figure, err error) {
			err = row.Scan((*int64)(&f.Org), &f.Hour, (*string)(&f.Slug), &f.Versions, &f.Created, &f.Changed, &f.Deleted, &f.Conflicts, &f.Refused, &f.Held, &f.Bytes)
			f.Hour = f.Hour.UTC()
			return f, err
		}, selectFigures, int64(org), millis(from))
		return err
	})
	return all, err
}

// DropFigures takes away what is older.
func (db *DB) DropFigures(ctx context.Context, before time.Time) error {
	return db.read(ctx, "dropping figures", func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, dropFigures, millis(before))
		return err
	})
}

// NoteClients notes what clients said of themselves, see [store.Store].
func (db *DB) NoteClients(ctx context.Context, all []store.Client) error {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b store.Client) int {
		return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.User, b.User), cmp.Compare(a.UID, b.UID))
	})
	batch := &pgx.Batch{}
	for _, c := range all {
		batch.Queue(upsertClient, int64(c.Org), int64(c.User), c.UID, millis(c.Seen), string(c.Document))
		batch.Queue(dropMoreClients, int64(c.Org), int64(c.User), int64(store.MostDirectories))
	}
	return db.noted(ctx, "noting clients", batch)
}

// Clients lists an organization's clients, or one user's.
func (db *DB) Clients(ctx context.Context, org store.OrgID, user store.UserID) (all []store.Client, err error) {
	err = db.read(ctx, "listing clients", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) (c store.Client, err error) {
			var document string
			err = row.Scan((*int64)(&c.Org), (*int64)(&c.User), &c.UID, &c.Seen, &document, &c.UserName)
			c.Seen, c.Document = c.Seen.UTC(), []byte(document)
			return c, err
		}, selectClients, int64(org), int64(user))
		return err
	})
	return all, err
}

// DropClients takes away those of whom nothing was heard since.
func (db *DB) DropClients(ctx context.Context, before time.Time) error {
	return db.read(ctx, "dropping clients", func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, dropClients, millis(before))
		return err
	})
}

// Storage is how many bytes an organization's contents take, packed.
func (db *DB) Storage(ctx context.Context, org store.OrgID) (bytes int64, err error) {
	err = db.read(ctx, "adding up contents", func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, selectStorage, int64(org)).Scan(&bytes)
	})
	return bytes, err
}
