package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"strings"

	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres"
	"github.com/teammem/teammem/server/store/sqlite"
)

const sqliteScheme = "sqlite://"

// dialect is one of the two kinds of database, and where the one named is.
type dialect struct {
	sqlite bool
	where  string // a path, or a DSN; never in a message, it may hold a password
}

// parseDatabase reads what --database takes. Its errors do not repeat it.
func parseDatabase(database string) (dialect, error) {
	if path, ok := strings.CutPrefix(database, sqliteScheme); ok && path != "" {
		if runtime.GOOS == "windows" && len(path) > 2 && path[0] == '/' && path[2] == ':' {
			path = path[1:]
		}
		return dialect{sqlite: true, where: path}, nil
	}
	if strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://") {
		return dialect{where: database}, nil
	}
	return dialect{}, WithHint(errors.New("the database cannot be told from its address"), "give --database as sqlite:///path/to/file or postgres://user@host/name")
}

// CheckDatabase checks the form of a database's address, as --database takes it. No
// database is asked, and the address is not in the error.
func CheckDatabase(database string) error {
	d, err := parseDatabase(database)
	if err != nil || d.sqlite {
		return err
	}
	if _, err := url.Parse(d.where); err != nil {
		return WithHint(errors.New("the address of the database cannot be read"), "give it as postgres://user@host/name; / @ : and # in a password are written as %2F %40 %3A and %23")
	}
	return nil
}

// OpenStore opens the store that database names, whose schema is current.
func OpenStore(ctx context.Context, log *slog.Logger, database string) (store.Store, error) {
	d, err := parseDatabase(database)
	if err != nil {
		return nil, err
	}
	// A nil *DB in an interface is not nil: each is returned on its own.
	if d.sqlite {
		db, err := sqlite.Open(ctx, log, d.where)
		if err != nil {
			return nil, fmt.Errorf("open the database: %w", err)
		}
		return db, nil
	}
	db, err := postgres.Open(ctx, log, d.where)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

// Migrate brings the schema up to what this build needs.
func Migrate(ctx context.Context, log *slog.Logger, database string) error {
	d, err := parseDatabase(database)
	if err != nil {
		return err
	}
	if d.sqlite {
		err = sqlite.Migrate(ctx, log, d.where)
	} else {
		err = postgres.Migrate(ctx, log, d.where)
	}
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// MigrateDown takes the schema one step back.
func MigrateDown(ctx context.Context, log *slog.Logger, database string) error {
	d, err := parseDatabase(database)
	if err != nil {
		return err
	}
	if d.sqlite {
		err = sqlite.MigrateDown(ctx, log, d.where)
	} else {
		err = postgres.MigrateDown(ctx, log, d.where)
	}
	if err != nil {
		return fmt.Errorf("migrate the database one step down: %w", err)
	}
	return nil
}

// MigrateForce records that the schema stands at version, cleanly, and changes
// nothing else. A person has looked: it is the cure for a migration that was
// broken off, and never done unasked.
func MigrateForce(ctx context.Context, log *slog.Logger, database string, version uint) error {
	d, err := parseDatabase(database)
	if err != nil {
		return err
	}
	if d.sqlite {
		err = sqlite.MigrateForce(ctx, log, d.where, version)
	} else {
		err = postgres.MigrateForce(ctx, log, d.where, version)
	}
	if err != nil {
		return fmt.Errorf("record the schema's version: %w", err)
	}
	return nil
}

// MigrationStatus says where the schema stands.
func MigrationStatus(ctx context.Context, database string) (m store.Migration, err error) {
	d, err := parseDatabase(database)
	if err != nil {
		return m, err
	}
	if d.sqlite {
		m, err = sqlite.MigrationStatus(ctx, d.where)
	} else {
		m, err = postgres.MigrationStatus(ctx, d.where)
	}
	if err != nil {
		return m, fmt.Errorf("read the schema's version: %w", err)
	}
	return m, nil
}
