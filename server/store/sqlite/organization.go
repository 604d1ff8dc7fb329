package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

const (
	orgColumns = `SELECT id, uid, name, created, max_entries, max_repos, max_bytes, writes_per_minute, audit_days,
	history_days, history_keep, trash_days FROM organizations `

	insertOrganization = `INSERT INTO organizations (uid, name, created, max_entries, max_repos, max_bytes, writes_per_minute, audit_days, fingerprint_key,
	history_days, history_keep, trash_days)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	selectOrganizations = orgColumns + `ORDER BY name`
	selectOrganization  = orgColumns + `WHERE name = ?`
	selectOrgByID       = orgColumns + `WHERE id = ?`
)

// CreateOrganization adds an organization, with the first records of its chain.
// [store.ErrExists].
func (db *DB) CreateOrganization(ctx context.Context, org store.Organization, records ...audit.Record) (store.Organization, error) {
	org.Created = millis(org.Created)
	err := db.writes(ctx, func(ctx context.Context, tx *sql.Tx) (bool, error) {
		err := tx.QueryRowContext(ctx, insertOrganization, org.UID, org.Name, org.Created.UnixMilli(),
			org.MaxEntries, org.MaxRepos, org.MaxBytes, org.WritesPerMinute, org.AuditDays, org.FingerprintKey[:],
			org.HistoryDays, org.HistoryKeep, org.TrashDays).Scan(&org.ID)
		if err != nil {
			return false, taken(err)
		}
		return true, administration{ctx, tx, org.ID}.begin(records)
	})
	if err != nil {
		return org, fail(ctx, "creating organization "+org.Name, err)
	}
	return org, nil
}

// taken turns the driver's word for a name in use into the contract's.
func taken(err error) error {
	if c := code(err); c == codeUnique || c == codePrimaryKey {
		return store.ErrExists
	}
	return err
}

// Organizations lists all, by name.
func (db *DB) Organizations(ctx context.Context) (all []store.Organization, err error) {
	err = db.reads(ctx, "listing organizations", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectOrganizations)
		if err != nil {
			return err
		}
		all, err = collect(rows, scanOrganization)
		return err
	})
	return all, err
}

// Organization finds one by name. [store.ErrNotFound].
func (db *DB) Organization(ctx context.Context, name string) (store.Organization, error) {
	org, err := scanOrganization(db.reader.QueryRowContext(ctx, selectOrganization, name))
	if err != nil {
		return org, fail(ctx, fmt.Sprintf("organization %q", name), err)
	}
	return org, nil
}

// scanner is a row, or the current one of several.
type scanner interface{ Scan(into ...any) error }

func scanOrganization(row scanner) (org store.Organization, err error) {
	err = row.Scan(&org.ID, &org.UID, &org.Name, (*moment)(&org.Created),
		&org.MaxEntries, &org.MaxRepos, &org.MaxBytes, &org.WritesPerMinute, &org.AuditDays,
		&org.HistoryDays, &org.HistoryKeep, &org.TrashDays)
	return org, err
}

// collect reads all rows and closes them.
func collect[T any](rows *sql.Rows, scan func(scanner) (T, error)) (all []T, err error) {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
