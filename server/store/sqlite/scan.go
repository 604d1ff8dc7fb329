package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/teammem/teammem/server/store"
)

const (
	insertScan = `INSERT INTO scans (uid, org_id, slug, origin, user_name, state, step, at, updated, found, place)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`

	updateScan = `UPDATE scans SET state = ?3, step = ?4, updated = ?5, found = ?6, place = ?7 WHERE id = ?1 AND org_id = ?2 AND step = ?4 - 1`

	insertScanFinding = `INSERT INTO scan_findings (scan_id, n, document) VALUES (?, ?, ?)`

	scanColumns = `SELECT id, uid, org_id, slug, origin, user_name, state, step, at, updated, found, place FROM scans `
	selectScans = scanColumns + `WHERE ?1 = 0 OR org_id = ?1 ORDER BY id DESC LIMIT ?2`
	selectScan  = scanColumns + `WHERE org_id = ? AND uid = ?`

	selectScanFindings = `SELECT document FROM scan_findings WHERE scan_id = ? AND n >= ? ORDER BY n LIMIT ?`
)

func scanScan(row scanner) (s store.Scan, err error) {
	err = row.Scan(&s.ID, &s.UID, &s.Org, &s.Slug, &s.Origin, &s.User, &s.State, &s.Step, (*moment)(&s.At), (*moment)(&s.Updated), &s.Found, &s.Place)
	return s, err
}

// CreateScan adds a scan.
func (db *DB) CreateScan(ctx context.Context, s store.Scan) (store.Scan, error) {
	err := db.change(ctx, "beginning a scan", func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, insertScan, s.UID, int64(s.Org), string(s.Slug), s.Origin, s.User, string(s.State), s.Step,
			s.At.UnixMilli(), s.Updated.UnixMilli(), s.Found, string(s.Place)).Scan(&s.ID)
	})
	return s, err
}

// SaveScan writes how far a scan came. [store.ErrExists].
func (db *DB) SaveScan(ctx context.Context, s store.Scan, found [][]byte) error {
	return db.change(ctx, "going on with a scan", func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, updateScan, s.ID, int64(s.Org), string(s.State), s.Step, s.Updated.UnixMilli(), s.Found, string(s.Place))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return fmt.Errorf("step %d of the scan: %w", s.Step, store.ErrExists)
		}
		for i, document := range found {
			if _, err := tx.ExecContext(ctx, insertScanFinding, s.ID, s.Found-len(found)+i, string(document)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Scans lists scans, newest first.
func (db *DB) Scans(ctx context.Context, org store.OrgID, limit int) (all []store.Scan, err error) {
	err = db.reads(ctx, "listing scans", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectScans, int64(org), limit)
		if err != nil {
			return err
		}
		all, err = collect(rows, scanScan)
		return err
	})
	return all, err
}

// Scan finds one by its public id. [store.ErrNotFound].
func (db *DB) Scan(ctx context.Context, org store.OrgID, uid string) (store.Scan, error) {
	s, err := scanScan(db.reader.QueryRowContext(ctx, selectScan, int64(org), uid))
	if err != nil {
		return s, fail(ctx, "scan", err)
	}
	return s, nil
}

// ScanFindings reads what a scan found.
func (db *DB) ScanFindings(ctx context.Context, id int64, after, limit int) (all [][]byte, err error) {
	err = db.reads(ctx, "reading a scan", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectScanFindings, id, after, limit)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (document []byte, err error) { return document, row.Scan(&document) })
		return err
	})
	return all, err
}
