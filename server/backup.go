package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/backup"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres"
	"github.com/teammem/teammem/server/store/sqlite"
)

// Backup keeps the database in a new file, which is read back and checked before it
// has its name. A server may be at work on the database.
func Backup(ctx context.Context, log *slog.Logger, database, file string, now time.Time, progress func(rows int64)) (sum backup.Summary, err error) {
	if _, err := os.Lstat(file); err == nil {
		return sum, WithHint(fmt.Errorf("%s is there already", file), "a backup overwrites nothing: name another file, or remove this one")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return sum, fmt.Errorf("write the backup: %w", err)
	}
	s, err := OpenStore(ctx, log, database)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	from, ok := s.(store.Copier)
	if !ok {
		return sum, errors.New("this store cannot be copied")
	}
	head, err := headOf(ctx, s, database, now)
	if err != nil {
		return sum, err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return sum, fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = backup.Write(ctx, f, from, head, progress); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return sum, fmt.Errorf("write the backup: %w", err)
	}
	if sum, err = VerifyBackup(f.Name()); err != nil {
		return sum, fmt.Errorf("what was written does not read back: %w", err)
	}
	if err = os.Rename(f.Name(), file); err != nil {
		return sum, fmt.Errorf("write the backup: %w", err)
	}
	return sum, nil
}

// headOf says what a backup of a store is of.
func headOf(ctx context.Context, s store.Store, database string, now time.Time) (head backup.Head, err error) {
	status, err := MigrationStatus(ctx, database)
	if err != nil {
		return head, err
	}
	head = backup.Head{Schema: status.Current, At: api.NewTime(now), Server: Version(), Database: "postgres"}
	if d, err := parseDatabase(database); err == nil && d.sqlite {
		head.Database = "sqlite"
	}
	head.Epoch, err = s.Epoch(ctx)
	return head, err
}

// VerifyBackup reads a backup to its end.
func VerifyBackup(file string) (backup.Summary, error) {
	f, err := os.Open(file)
	if err != nil {
		return backup.Summary{}, fmt.Errorf("read the backup: %w", err)
	}
	defer func() { _ = f.Close() }()
	return backup.Verify(f)
}

// Restore fills an empty database with a backup, whole or not at all, and brings its
// schema up afterwards. The database begins a new epoch.
func Restore(ctx context.Context, log *slog.Logger, database, file string, progress func(rows int64)) (backup.Summary, error) {
	f, err := os.Open(file)
	if err != nil {
		return backup.Summary{}, fmt.Errorf("read the backup: %w", err)
	}
	defer func() { _ = f.Close() }()
	return restore(ctx, log, database, f, progress)
}

func restore(ctx context.Context, log *slog.Logger, database string, file io.Reader, progress func(rows int64)) (sum backup.Summary, err error) {
	d, err := parseDatabase(database)
	if err != nil {
		return sum, err
	}
	from, err := backup.Open(file)
	if err != nil {
		return sum, err
	}
	defer from.Close()
	if of := from.Head().Organization; of != nil {
		return sum, WithHint(fmt.Errorf("the file is of one organization, %s, not of a database", of.Name), "server org import adds it to a database")
	}
	if err := d.prepare(ctx, log, database, from.Head()); err != nil {
		return sum, err
	}
	if d.sqlite {
		err = sqlite.Import(ctx, d.where, from.Rows(ctx, progress))
	} else {
		err = postgres.Import(ctx, d.where, from.Rows(ctx, progress))
	}
	if errors.Is(err, store.ErrExists) {
		return sum, errNotEmpty
	}
	if err != nil {
		return sum, fmt.Errorf("restore: nothing was changed: %w", err)
	}
	return from.Summary(), Migrate(ctx, log, database)
}

// Move fills an empty database, of either kind, with what stands in another, and holds
// every repo's checksum and rows in the new one against the old. What is written to
// the old one meanwhile is not in the new one.
func Move(ctx context.Context, log *slog.Logger, database, to string, now time.Time, progress func(rows int64)) (sum backup.Summary, err error) {
	old, err := OpenStore(ctx, log, database)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	head, err := headOf(ctx, old, database, now)
	if err != nil {
		return sum, err
	}
	reading, writing := io.Pipe()
	written := make(chan error, 1)
	go func() {
		_, err := backup.Write(ctx, writing, old.(store.Copier), head, progress)
		written <- err
		_ = writing.CloseWithError(err)
	}()
	sum, err = restore(ctx, log, to, reading, nil)
	_ = reading.CloseWithError(err)
	if failed := <-written; err == nil {
		err = failed
	}
	if err != nil {
		return sum, err
	}
	return sum, compare(ctx, log, old, to)
}

// compare holds the repos of two databases against each other.
func compare(ctx context.Context, log *slog.Logger, old store.Store, database string) (err error) {
	moved, err := OpenStore(ctx, log, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, moved.Close()) }()
	orgs, err := moved.Organizations(ctx)
	for _, org := range orgs {
		repos, err := moved.Repos(ctx, org.ID)
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		for _, repo := range repos {
			ref := store.RepoRef{Org: org.ID, Slug: repo.Slug}
			is, err := moved.View(ctx, ref, 0)
			if err != nil {
				return fmt.Errorf("compare: %w", err)
			}
			was, err := old.View(ctx, ref, 0)
			if err != nil {
				return fmt.Errorf("compare: %w", err)
			}
			same := was.Head.Checksum == is.Head.Checksum && slices.Equal(was.Rows, is.Rows)
			if was.Head.Version < is.Head.Version || was.Head.Version == is.Head.Version && !same {
				return fmt.Errorf("the repo %s of %s is not what it was at version %d", repo.Slug, org.Name, is.Head.Version)
			}
		}
	}
	return err
}

var errNotEmpty = WithHint(errors.New("the database holds memory already, and a restore replaces nothing"),
	"name an empty one with --database, or move this one away first")

// prepare gives an empty database the schema that a backup has.
func (d dialect) prepare(ctx context.Context, log *slog.Logger, database string, head backup.Head) error {
	status, err := MigrationStatus(ctx, database)
	if err != nil {
		return err
	}
	switch {
	case head.Schema > status.Newest:
		return WithHint(fmt.Errorf("the backup has schema %d, and this program knows those up to %d", head.Schema, status.Newest), "restore it with the version of the server that wrote it ("+head.Server+"), or a newer one")
	case status.Dirty:
		return status.Sound()
	case status.Current == head.Schema:
		return nil
	case status.Current != 0:
		return WithHint(fmt.Errorf("the database has schema %d, and the backup %d", status.Current, head.Schema), "restore into a database that is new")
	case d.sqlite:
		return sqlite.MigrateTo(ctx, log, d.where, head.Schema)
	}
	return postgres.MigrateTo(ctx, log, d.where, head.Schema)
}
