package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/teammem/teammem/server/store"
)

var _ store.OrgCopier = (*DB)(nil)

// ExportOrg gives one organization's rows as of one instant, see [store.OrgCopier].
func (db *DB) ExportOrg(ctx context.Context, org store.OrgID, begin func(store.Table) error, row func([]any) error) error {
	return db.reads(ctx, "export an organization", func(tx *sql.Tx) error {
		for _, table := range store.OrgTables {
			columns := table.Columns
			if columns == nil {
				var err error
				if columns, err = texts(tx.QueryContext(ctx, selectColumns, table.Name)); err != nil {
					return err
				}
			}
			into := store.Table{Name: table.Name, Columns: columns}
			if err := exportTable(ctx, tx, into, table.Query(quoted(columns)), []any{int64(org)}, begin, row); err != nil {
				return fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		return nil
	})
}

// ImportOrg adds one organization's rows, see [store.OrgCopier]. Who writes meanwhile
// waits, as for any writer.
func (db *DB) ImportOrg(ctx context.Context, _ store.Numbers, rows func(store.Numbers) store.Rows) error {
	err := db.writes(ctx, func(ctx context.Context, tx *sql.Tx) (bool, error) {
		// Nobody else writes now, and numbers are given behind the greatest.
		shift := store.Numbers{}
		for _, table := range store.Numbered {
			var greatest int64
			if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM "`+table+`"`).Scan(&greatest); err != nil {
				return false, err
			}
			shift[table] = greatest
		}
		return true, insertRows(ctx, tx, rows(shift))
	})
	if errors.Is(err, store.ErrExists) || code(err) == codeUnique || code(err) == codePrimaryKey {
		return fmt.Errorf("import an organization: %w", store.ErrExists)
	}
	if err != nil {
		return fail(ctx, "import an organization", err)
	}
	return nil
}
