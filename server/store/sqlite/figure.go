package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/teammem/teammem/server/store"
)

const (
	upsertFigure = `INSERT INTO figures (org_id, hour, repo_id, versions, created, changed, deleted, conflicts, refused, held, bytes)
VALUES (?1, ?2, coalesce((SELECT id FROM repos WHERE org_id = ?1 AND slug = ?3), 0), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (org_id, hour, repo_id) DO UPDATE SET versions = versions + excluded.versions, created = created + excluded.created,
	changed = changed + excluded.changed, deleted = deleted + excluded.deleted, conflicts = conflicts + excluded.conflicts,
	refused = refused + excluded.refused, held = held + excluded.held, bytes = bytes + excluded.bytes`
	selectFigures = `SELECT f.org_id, f.hour, coalesce(r.slug, ''), f.versions, f.created, f.changed, f.deleted, f.conflicts, f.refused, f.held, f.bytes
FROM figures f LEFT JOIN repos r ON r.id = f.repo_id WHERE f.org_id = ? AND f.hour >= ? ORDER BY f.hour, 3`
	dropFigures = `DELETE FROM figures WHERE hour < ?`

	upsertClient = `INSERT INTO clients (org_id, user_id, uid, seen, document) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (org_id, user_id, uid) DO UPDATE SET seen = excluded.seen, document = excluded.document WHERE excluded.seen >= clients.seen`
	dropMoreClients = `DELETE FROM clients WHERE org_id = ?1 AND user_id = ?2 AND uid NOT IN (
	SELECT uid FROM clients WHERE org_id = ?1 AND user_id = ?2 ORDER BY seen DESC, uid LIMIT ?3)`
	selectClients = `SELECT c.org_id, c.user_id, c.uid, c.seen, c.document, coalesce(m.name, '')
FROM clients c LEFT JOIN memberships m ON m.org_id = c.org_id AND m.user_id = c.user_id
WHERE c.org_id = ?1 AND (?2 = 0 OR c.user_id = ?2) ORDER BY c.seen DESC, c.user_id, c.uid`
	dropClients = `DELETE FROM clients WHERE seen < ?`

	selectStorage = `SELECT coalesce(sum(length(data)), 0) FROM bodies WHERE org_id = ?`
)

// NoteFigures adds what happened, see [store.Store].
func (db *DB) NoteFigures(ctx context.Context, all []store.Figure) error {
	return db.change(ctx, "noting figures", func(ctx context.Context, tx *sql.Tx) error {
		for _, f := range all {
			_, err := tx.ExecContext(ctx, upsertFigure, int64(f.Org), f.Hour.UnixMilli(), string(f.Slug), f.Versions, f.Created, f.Changed, f.Deleted,
				f.Conflicts, f.Refused, f.Held, f.Bytes)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Figures lists what happened from an hour on, in the order of time and repo.
func (db *DB) Figures(ctx context.Context, org store.OrgID, from time.Time) (all []store.Figure, err error) {
	err = db.reads(ctx, "reading figures", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectFigures, int64(org), from.UnixMilli())
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (f store.Figure, err error) {
			err = row.Scan(&f.Org, (*moment)(&f.Hour), &f.Slug, &f.Versions, &f.Created, &f.Changed, &f.Deleted, &f.Conflicts, &f.Refused, &f.Held, &f.Bytes)
			return f, err
		})
		return err
	})
	return all, err
}

// DropFigures takes away what is older.
func (db *DB) DropFigures(ctx context.Context, before time.Time) error {
	return db.change(ctx, "dropping figures", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, dropFigures, before.UnixMilli())
		return err
	})
}

// NoteClients notes what clients said of themselves, see [store.Store].
func (db *DB) NoteClients(ctx context.Context, all []store.Client) error {
	return db.change(ctx, "noting clients", func(ctx context.Context, tx *sql.Tx) error {
		for _, c := range all {
			if _, err := tx.ExecContext(ctx, upsertClient, int64(c.Org), int64(c.User), c.UID, c.Seen.UnixMilli(), string(c.Document)); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, dropMoreClients, int64(c.Org), int64(c.User), store.MostDirectories); err != nil {
				return err
			}
		}
		return nil
	})
}

// Clients lists an organization's clients, or one user's.
func (db *DB) Clients(ctx context.Context, org store.OrgID, user store.UserID) (all []store.Client, err error) {
	err = db.reads(ctx, "listing clients", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectClients, int64(org), int64(user))
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (c store.Client, err error) {
			err = row.Scan(&c.Org, &c.User, &c.UID, (*moment)(&c.Seen), &c.Document, &c.UserName)
			return c, err
		})
		return err
	})
	return all, err
}

// DropClients takes away those of whom nothing was heard since.
func (db *DB) DropClients(ctx context.Context, before time.Time) error {
	return db.change(ctx, "dropping clients", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, dropClients, before.UnixMilli())
		return err
	})
}

// Storage is how many bytes an organization's contents take, packed.
func (db *DB) Storage(ctx context.Context, org store.OrgID) (bytes int64, err error) {
	err = db.reads(ctx, "adding up contents", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, selectStorage, int64(org)).Scan(&bytes)
	})
	return bytes, err
}
