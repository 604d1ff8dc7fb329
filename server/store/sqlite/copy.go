package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"

	"github.com/teammem/teammem/server/store"
)

const (
	selectTables  = `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`
	selectColumns = `SELECT name FROM pragma_table_info(?) ORDER BY cid`
	countOrgs     = `SELECT count(*) FROM organizations`
	renewEpoch    = `UPDATE server SET epoch = ? WHERE id = 1`
)

var _ store.Copier = (*DB)(nil)

// Export gives every row as of one instant, see [store.Copier].
func (db *DB) Export(ctx context.Context, begin func(store.Table) error, row func([]any) error) error {
	return db.reads(ctx, "export", func(tx *sql.Tx) error {
		tables, err := tablesOf(ctx, tx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			if err := exportTable(ctx, tx, table, `SELECT `+quoted(table.Columns)+` FROM "`+table.Name+`"`, nil, begin, row); err != nil {
				return fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		return nil
	})
}

func tablesOf(ctx context.Context, tx *sql.Tx) ([]store.Table, error) {
	names, err := texts(tx.QueryContext(ctx, selectTables))
	if err != nil {
		return nil, err
	}
	var tables []store.Table
	for _, name := range store.CopyOrder(names) {
		columns, err := texts(tx.QueryContext(ctx, selectColumns, name))
		if err != nil {
			return nil, err
		}
		tables = append(tables, store.Table{Name: name, Columns: columns})
	}
	return tables, nil
}

func texts(rows *sql.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return collect(rows, func(row scanner) (text string, err error) { return text, row.Scan(&text) })
}

// quoted lists columns as SQL takes them.
func quoted(columns []string) string { return `"` + strings.Join(columns, `", "`) + `"` }

func exportTable(ctx context.Context, tx *sql.Tx, table store.Table, query string, args []any, begin func(store.Table) error, row func([]any) error) error {
	if err := begin(table); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	values, into := make([]any, len(table.Columns)), make([]any, len(table.Columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Import fills an empty database whose schema is that of the rows, in one transaction,
// and begins a new epoch: clients then compare anew, and what they wrote since comes
// back from them. [store.ErrExists] when the database holds an organization.
func Import(ctx context.Context, path string, next store.Rows) error {
	return locked(ctx, path, func(db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := fill(ctx, tx, next); err != nil {
			return err
		}
		return tx.Commit()
	})
}

func fill(ctx context.Context, tx *sql.Tx, next store.Rows) error {
	var orgs int
	if err := tx.QueryRowContext(ctx, countOrgs).Scan(&orgs); err != nil {
		return err
	}
	if orgs > 0 {
		return store.ErrExists
	}
	if err := insertRows(ctx, tx, next); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, renewEpoch, rand.Text())
	return err
}

func insertRows(ctx context.Context, tx *sql.Tx, next store.Rows) error {
	var insert *sql.Stmt
	var at string
	for {
		table, values, err := next()
		if err != nil {
			return err
		}
		if table.Name == "" {
			return nil
		}
		if table.Name != at {
			marks := strings.TrimSuffix(strings.Repeat("?, ", len(table.Columns)), ", ")
			if insert, err = tx.PrepareContext(ctx, `INSERT INTO "`+table.Name+`" (`+quoted(table.Columns)+`) VALUES (`+marks+`)`); err != nil {
				return fmt.Errorf("table %s: %w", table.Name, err)
			}
			at = table.Name
		}
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			return fmt.Errorf("table %s: %w", table.Name, err)
		}
	}
}
