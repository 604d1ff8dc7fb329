package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"github.com/golang-migrate/migrate/v4/database"
)

// noVersion is golang-migrate's name for a database without a schema.
const noVersion = database.NilVersion

// run is golang-migrate's view of the database during one run: Lock begins the
// transaction, Unlock ends it.
type run struct {
	ctx     context.Context // of the caller; the engine has none to pass on
	dialect Dialect
	db      *sql.DB

	tx      *sql.Tx
	from    int  // the version that stood when the run began
	version int  // the version that stands now, in the transaction
	broken  bool // a migration has begun and not ended
}

var _ database.Driver = (*run)(nil)

func (r *run) Lock() (err error) {
	if r.tx, err = r.db.BeginTx(r.ctx, nil); err != nil {
		return err
	}
	if err = r.prepare(); err != nil {
		r.abandon()
	}
	return err
}

func (r *run) prepare() error {
	if r.dialect.Lock != nil {
		if err := r.dialect.Lock(r.ctx, r.tx); err != nil {
			return err
		}
	}
	if _, err := r.tx.ExecContext(r.ctx, r.dialect.CreateTable); err != nil {
		return err
	}
	version, _, err := r.Version()
	r.from, r.version = version, version
	return err
}

func (r *run) Unlock() error {
	if r.tx == nil {
		return nil
	}
	if r.broken {
		r.abandon()
		return nil
	}
	if r.version >= 1 && r.dialect.Finish != nil {
		if err := r.dialect.Finish(r.ctx, r.tx); err != nil {
			r.abandon()
			return err
		}
	}
	err := r.tx.Commit()
	r.tx = nil
	return err
}

// abandon leaves everything as it was before the run.
func (r *run) abandon() {
	if r.tx != nil {
		_ = r.tx.Rollback()
		r.tx = nil
	}
}

func (r *run) Run(migration io.Reader) error {
	text, err := io.ReadAll(migration)
	if err != nil {
		return err
	}
	if _, err = r.tx.ExecContext(r.ctx, string(text)); err != nil {
		return fmt.Errorf("the migration to version %d was refused, nothing was changed: %w", r.version, err)
	}
	return nil
}

func (r *run) SetVersion(version int, dirty bool) error {
	r.version, r.broken = version, dirty
	if _, err := r.tx.ExecContext(r.ctx, "DELETE FROM schema_migrations"); err != nil {
		return err
	}
	if version == noVersion && !dirty {
		return nil
	}
	_, err := r.tx.ExecContext(r.ctx, r.dialect.SetVersion, version, dirty)
	return err
}

func (r *run) Version() (version int, dirty bool, err error) {
	err = r.tx.QueryRowContext(r.ctx, "SELECT version, dirty FROM schema_migrations").Scan(&version, &dirty)
	if errors.Is(err, sql.ErrNoRows) {
		return noVersion, false, nil
	}
	return version, dirty, err
}

// Close leaves the handle to whoever gave it.
func (r *run) Close() error { return nil }

// Open and Drop belong to ways of using golang-migrate that are not ours.
func (r *run) Open(string) (database.Driver, error) { return nil, errors.ErrUnsupported }
func (r *run) Drop() error                          { return errors.ErrUnsupported }
