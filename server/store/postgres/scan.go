package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	insertScan = `INSERT INTO scans (uid, org_id, slug, origin, user_name, state, step, at, updated, found, place)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id`

	updateScan = `UPDATE scans SET state = $3, step = $4, updated = $5, found = $6, place = $7 WHERE id = $1 AND org_id = $2 AND step = $4 - 1`

	insertScanFindings = `INSERT INTO scan_findings (scan_id, n, document)
SELECT $1, $2 + f.n - 1, f.document FROM unnest($3::text[]) WITH ORDINALITY AS f (document, n)`

	scanColumns = `SELECT id, uid, org_id, slug, origin, user_name, state, step, at, updated, found, place FROM scans `
	selectScans = scanColumns + `WHERE $1::bigint = 0 OR org_id = $1 ORDER BY id DESC LIMIT $2`
	selectScan  = scanColumns + `WHERE org_id = $1 AND uid = $2`

	selectScanFindings = `SELECT document FROM scan_findings WHERE scan_id = $1 AND n >= $2 ORDER BY n LIMIT $3`
)

func scanScan(row pgx.CollectableRow) (s store.Scan, err error) {
	var place string
	err = row.Scan(&s.ID, &s.UID, (*int64)(&s.Org), (*string)(&s.Slug), &s.Origin, &s.User, (*string)(&s.State), &s.Step, &s.At, &s.Updated, &s.Found, &place)
	s.At, s.Updated, s.Place = s.At.UTC(), s.Updated.UTC(), []byte(place)
	return s, err
}

// CreateScan adds a scan.
func (db *DB) CreateScan(ctx context.Context, s store.Scan) (store.Scan, error) {
	err := db.read(ctx, "beginning a scan", func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, insertScan, s.UID, int64(s.Org), string(s.Slug), s.Origin, s.User, string(s.State), s.Step,
			millis(s.At), millis(s.Updated), s.Found, string(s.Place)).Scan(&s.ID)
	})
	return s, err
}

// SaveScan writes how far a scan came. [store.ErrExists].
func (db *DB) SaveScan(ctx context.Context, s store.Scan, found [][]byte) error {
	documents := make([]string, len(found))
	for i, document := range found {
		documents[i] = string(document)
	}
	return db.read(ctx, "going on with a scan", func(conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, updateScan, s.ID, int64(s.Org), string(s.State), s.Step, millis(s.Updated), s.Found, string(s.Place))
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return fmt.Errorf("step %d of the scan: %w", s.Step, store.ErrExists)
			}
			_, err = tx.Exec(ctx, insertScanFindings, s.ID, s.Found-len(found), documents)
			return err
		})
	})
}

// Scans lists scans, newest first.
func (db *DB) Scans(ctx context.Context, org store.OrgID, limit int) (all []store.Scan, err error) {
	err = db.read(ctx, "listing scans", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, scanScan, selectScans, int64(org), int64(limit))
		return err
	})
	return all, err
}

// Scan finds one by its public id. [store.ErrNotFound].
func (db *DB) Scan(ctx context.Context, org store.OrgID, uid string) (s store.Scan, err error) {
	err = db.read(ctx, "scan", func(conn *pgxpool.Conn) error {
		found, err := list(ctx, conn, scanScan, selectScan, int64(org), uid)
		if err == nil && len(found) == 0 {
			err = store.ErrNotFound
		}
		if err == nil {
			s = found[0]
		}
		return err
	})
	return s, err
}

// ScanFindings reads what a scan found.
func (db *DB) ScanFindings(ctx context.Context, id int64, after, limit int) (all [][]byte, err error) {
	err = db.read(ctx, "reading a scan", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) ([]byte, error) {
			var document string
			err := row.Scan(&document)
			return []byte(document), err
		}, selectScanFindings, id, int64(after), int64(limit))
		return err
	})
	return all, err
}
