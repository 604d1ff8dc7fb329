package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	selectColumns = `SELECT c.relname, a.attname, format_type(a.atttypid, NULL)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY c.relname, a.attnum`
	selectIdentities = `SELECT c.relname, a.attname
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace AND a.attidentity <> ''`
	anyOrganization = `SELECT EXISTS (SELECT FROM organizations)`
	renewEpoch      = `UPDATE server SET epoch = $1 WHERE id = 1`
	// exportSetup: an export may take longer than anything else is allowed to.
	exportSetup = `SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`
)

var _ store.Copier = (*DB)(nil)

// typedTable is a table with the types of its columns.
type typedTable struct {
	store.Table
	types []string
}

// Export gives every row as of one instant, see [store.Copier].
func (db *DB) Export(ctx context.Context, begin func(store.Table) error, row func([]any) error) error {
	return db.read(ctx, "export", func(conn *pgxpool.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		if _, err := tx.Exec(ctx, exportSetup); err != nil {
			return err
		}
		tables, err := tablesOf(ctx, tx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			query := "SELECT " + columnsOf(table.Columns) + " FROM " + pgx.Identifier{table.Name}.Sanitize()
			if err := exportTable(ctx, tx, table, query, nil, begin, row); err != nil {
				return fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		return nil
	})
}

func tablesOf(ctx context.Context, tx pgx.Tx) ([]typedTable, error) {
	rows, err := tx.Query(ctx, selectColumns)
	if err != nil {
		return nil, err
	}
	found := map[string]*typedTable{}
	var names []string
	var name, column, kind string
	_, err = pgx.ForEachRow(rows, []any{&name, &column, &kind}, func() error {
		if found[name] == nil {
			found[name] = &typedTable{Table: store.Table{Name: name}}
			names = append(names, name)
		}
		found[name].Columns = append(found[name].Columns, column)
		found[name].types = append(found[name].types, kind)
		return nil
	})
	var tables []typedTable
	for _, name := range store.CopyOrder(names) {
		tables = append(tables, *found[name])
	}
	return tables, err
}

func tablesByName(ctx context.Context, tx pgx.Tx) (map[string]typedTable, error) {
	tables, err := tablesOf(ctx, tx)
	known := map[string]typedTable{}
	for _, table := range tables {
		known[table.Name] = table
	}
	return known, err
}

func columnsOf(columns []string) string {
	quoted := make([]string, len(columns))
	for i, column := range columns {
		quoted[i] = pgx.Identifier{column}.Sanitize()
	}
	return strings.Join(quoted, ", ")
}

func exportTable(ctx context.Context, tx pgx.Tx, table typedTable, query string, args []any, begin func(store.Table) error, row func([]any) error) error {
	if err := begin(table.Table); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		for i, value := range values {
			if values[i], err = neutral(value); err != nil {
				return fmt.Errorf("column %s: %w", table.Columns[i], err)
			}
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// neutral is a value as [store.Copier] has it.
func neutral(value any) (any, error) {
	switch v := value.(type) {
	case nil, int64, string, []byte:
		return v, nil
	case int32:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case time.Time:
		return v.UnixMilli(), nil
	}
	return nil, fmt.Errorf("a value of type %T", value)
}

// typed is a neutral value as a column of a type takes it.
func typed(value any, kind string) any {
	n, ok := value.(int64)
	switch {
	case !ok:
		return value
	case kind == "boolean":
		return n != 0
	case strings.HasPrefix(kind, "timestamp"):
		return time.UnixMilli(n).UTC()
	case kind == "integer":
		return int32(n)
	case kind == "smallint":
		return int16(n)
	}
	return n
}

// Import fills an empty database whose schema is that of the rows, in one transaction,
// and begins a new epoch: clients then compare anew, and what they wrote since comes
// back from them. [store.ErrExists] when the database holds an organization.
func Import(ctx context.Context, dsn string, next store.Rows) error {
	config, err := parse(dsn)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return fail(ctx, "connecting to the database", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return fill(ctx, tx, next) })
	if err != nil {
		return fail(ctx, "import", err)
	}
	return nil
}

func fill(ctx context.Context, tx pgx.Tx, next store.Rows) error {
	if _, err := tx.Exec(ctx, exportSetup); err != nil {
		return err
	}
	var full bool
	if err := tx.QueryRow(ctx, anyOrganization).Scan(&full); err != nil {
		return err
	}
	if full {
		return store.ErrExists
	}
	known, err := tablesByName(ctx, tx)
	if err != nil {
		return err
	}
	if err := importTables(ctx, tx, known, next); err != nil {
		return err
	}
	if err := moveIdentities(ctx, tx); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, renewEpoch, rand.Text())
	return err
}

// source feeds one table to CopyFrom, and keeps what comes after it.
type source struct {
	next  store.Rows
	kinds []string

	table  store.Table
	values []any
	err    error
	begun  bool
}

// Next reports whether there is another row of the table.
func (s *source) Next() bool {
	if !s.begun {
		s.begun = true // the first was read to know the table
		return true
	}
	at := s.table.Name
	s.table, s.values, s.err = s.next()
	return s.err == nil && s.table.Name == at
}

// Values are the row's.
func (s *source) Values() ([]any, error) {
	row := make([]any, len(s.values))
	for i, value := range s.values {
		row[i] = typed(value, s.kinds[i])
	}
	return row, nil
}

// Err is what ended the rows.
func (s *source) Err() error { return s.err }

func importTables(ctx context.Context, tx pgx.Tx, known map[string]typedTable, next store.Rows) error {
	table, values, err := next()
	for err == nil && table.Name != "" {
		target, ok := known[table.Name]
		if !ok {
			return fmt.Errorf("this database has no table %s", table.Name)
		}
		s := &source{next: next, table: table, values: values}
		for _, column := range table.Columns {
			i := slices.Index(target.Columns, column)
			if i < 0 {
				return fmt.Errorf("table %s has no column %s here", table.Name, column)
			}
			s.kinds = append(s.kinds, target.types[i])
		}
		if _, err = tx.CopyFrom(ctx, pgx.Identifier{table.Name}, table.Columns, s); err != nil {
			return errors.Join(s.err, fmt.Errorf("table %s: %w", table.Name, err))
		}
		table, values = s.table, s.values
	}
	return err
}

// moveIdentities has numbers given from now on come after those that came in.
func moveIdentities(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, selectIdentities)
	if err != nil {
		return err
	}
	var table, column string
	var statements []string
	_, err = pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		t, c := pgx.Identifier{table}.Sanitize(), pgx.Identifier{column}.Sanitize()
		statements = append(statements, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%s', '%s'), greatest((SELECT max(%s) FROM %s), 1), EXISTS (SELECT FROM %s))", t, column, c, t, t))
		return nil
	})
	for _, statement := range statements {
		if err == nil {
			_, err = tx.Exec(ctx, statement)
		}
	}
	return err
}
