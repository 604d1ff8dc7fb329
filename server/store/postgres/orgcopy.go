package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	// lockNumbers has nobody be given a number while some are set aside; who only reads
	// or locks rows goes on. It is held for a moment.
	lockNumbers = `LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE`
	// setAside moves the sequence behind a stretch and gives where that begins.
	setAside = `SELECT setval(s.name, greatest(s.last, s.most) + $1::bigint) - $1::bigint FROM (
	SELECT pg_get_serial_sequence('%[1]s', 'id')::regclass AS name, (SELECT coalesce(max(id), 0) FROM %[1]s) AS most,
		coalesce(pg_sequence_last_value(pg_get_serial_sequence('%[1]s', 'id')::regclass), 0) AS last) s`
)

var _ store.OrgCopier = (*DB)(nil)

// ExportOrg gives one organization's rows as of one instant, see [store.OrgCopier].
func (db *DB) ExportOrg(ctx context.Context, org store.OrgID, begin func(store.Table) error, row func([]any) error) error {
	return db.read(ctx, "export an organization", func(conn *pgxpool.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		if _, err := tx.Exec(ctx, exportSetup); err != nil {
			return err
		}
		known, err := tablesByName(ctx, tx)
		if err != nil {
			return err
		}
		for _, of := range store.OrgTables {
			table := known[of.Name]
			if of.Columns != nil {
				table.Columns = of.Columns
			}
			query := strings.ReplaceAll(of.Query(columnsOf(table.Columns)), "?1", "$1")
			if err := exportTable(ctx, tx, table, query, []any{int64(org)}, begin, row); err != nil {
				return fmt.Errorf("table %s: %w", of.Name, err)
			}
		}
		return nil
	})
}

// ImportOrg adds one organization's rows, see [store.OrgCopier]. Nobody waits for it but
// for the moment in which numbers are set aside.
func (db *DB) ImportOrg(ctx context.Context, highest store.Numbers, rows func(store.Numbers) store.Rows) error {
	return db.read(ctx, "import an organization", func(conn *pgxpool.Conn) error {
		shift := store.Numbers{}
		for _, table := range store.Numbered {
			from, err := db.setNumbersAside(ctx, conn, table, highest[table])
			if err != nil {
				return fmt.Errorf("set numbers of %s aside: %w", table, err)
			}
			shift[table] = from
		}
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, exportSetup); err != nil {
				return err
			}
			known, err := tablesByName(ctx, tx)
			if err != nil {
				return err
			}
			return importTables(ctx, tx, known, rows(shift))
		})
		if code(err) == codeUniqueness {
			return errors.Join(store.ErrExists, err)
		}
		return err
	})
}

// setNumbersAside takes count numbers of a table that nobody else is given, and says
// behind which they begin. Whoever writes waits behind it, so it does not wait for long.
func (db *DB) setNumbersAside(ctx context.Context, conn *pgxpool.Conn, table string, count int64) (from int64, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setLockWait, strconv.FormatInt(db.lockWait.Milliseconds(), 10)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(lockNumbers, table)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, fmt.Sprintf(setAside, table), max(count, 1)).Scan(&from)
	})
	return from, err
}
