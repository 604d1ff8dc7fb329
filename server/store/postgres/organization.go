package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

const (
	orgColumns = `SELECT id, uid, name, created, max_entries, max_repos, max_bytes, writes_per_minute, audit_days,
	history_days, history_keep, trash_days FROM organizations `

	insertOrganization = `INSERT INTO organizations (uid, name, created, max_entries, max_repos, max_bytes, writes_per_minute, audit_days, fingerprint_key,
	history_days, history_keep, trash_days)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id`
	selectOrganizations = orgColumns + `ORDER BY name COLLATE "C"`
	selectOrganization  = orgColumns + `WHERE name = $1`
	selectOrgByID       = orgColumns + `WHERE id = $1`
)

// CreateOrganization adds an organization, with the first records of its chain.
// [store.ErrExists].
func (db *DB) CreateOrganization(ctx context.Context, org store.Organization, records ...audit.Record) (store.Organization, error) {
	org.Created = millis(org.Created)
	err := db.read(ctx, "creating organization "+org.Name, func(conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, insertOrganization, org.UID, org.Name, org.Created,
				org.MaxEntries, org.MaxRepos, org.MaxBytes, org.WritesPerMinute, org.AuditDays, org.FingerprintKey[:],
				org.HistoryDays, org.HistoryKeep, org.TrashDays).Scan((*int64)(&org.ID))
			if err != nil {
				return taken(err)
			}
			return administration{ctx, tx, org.ID}.begin(records)
		})
	})
	return org, err
}

// Organizations lists all, by name.
func (db *DB) Organizations(ctx context.Context) (all []store.Organization, err error) {
	err = db.read(ctx, "listing organizations", func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, selectOrganizations)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanOrganization)
		return err
	})
	return all, err
}

// Organization finds one by name. [store.ErrNotFound].
func (db *DB) Organization(ctx context.Context, name string) (org store.Organization, err error) {
	err = db.read(ctx, fmt.Sprintf("organization %q", name), func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, selectOrganization, name)
		if err != nil {
			return err
		}
		org, err = pgx.CollectExactlyOneRow(rows, scanOrganization)
		return absent(err)
	})
	return org, err
}

func scanOrganization(row pgx.CollectableRow) (org store.Organization, err error) {
	err = row.Scan((*int64)(&org.ID), &org.UID, &org.Name, &org.Created,
		&org.MaxEntries, &org.MaxRepos, &org.MaxBytes, &org.WritesPerMinute, &org.AuditDays,
		&org.HistoryDays, &org.HistoryKeep, &org.TrashDays)
	org.Created = org.Created.UTC()
	return org, err
}

// absent turns the driver's word for "no such row" into the contract's.
func absent(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}
