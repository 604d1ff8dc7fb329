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
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/backup"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/sqlite"
)

// ExportOrg keeps one organization in a new file, as [Backup] keeps a database. That it
// was done stands in its chain, and in the file.
func ExportOrg(ctx context.Context, log *slog.Logger, database, name, file string, now time.Time, progress func(rows int64)) (sum backup.Summary, err error) {
	s, err := OpenStore(ctx, log, database)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	org, err := s.Organization(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return sum, WithHint(fmt.Errorf("there is no organization %s", name), "server org list shows those there are")
	}
	if err != nil {
		return sum, err
	}
	head, err := headOf(ctx, s, database, now)
	if err != nil {
		return sum, err
	}
	rules := organization.New(s, func() time.Time { return now }, nil)
	write := func(to io.Writer) error {
		if err := rules.Record(ctx, organization.Operator(org.ID), audit.ActionOrgExport, audit.Deed{Of: org.Name}); err != nil {
			return fmt.Errorf("record the export: %w", err)
		}
		_, err := backup.WriteOrg(ctx, to, s.(store.OrgCopier), org, head, progress)
		return err
	}
	err = newFile(file, write, func(written string) error {
		read, err := verifyOrg(written)
		if err == nil {
			sum = read.Summary
		}
		return err
	})
	return sum, err
}

// newFile writes a file that has its name when it is whole, was read back by check, and
// is on the disk. Nothing is overwritten.
func newFile(file string, write func(io.Writer) error, check func(written string) error) (err error) {
	if _, err := os.Lstat(file); err == nil {
		return WithHint(fmt.Errorf("%s is there already", file), "nothing is overwritten: name another file, or remove this one")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the file: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	if err = check(f.Name()); err != nil {
		return fmt.Errorf("what was written does not read back: %w", err)
	}
	return os.Rename(f.Name(), file)
}

// verifyOrg reads a file of one organization to its end.
func verifyOrg(file string) (*backup.OrgRows, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	defer func() { _ = f.Close() }()
	return backup.VerifyOrg(f)
}

// VerifyOrg reads a file of one organization to its end, and changes nothing.
func VerifyOrg(file string) (backup.Summary, error) {
	read, err := verifyOrg(file)
	if err != nil {
		return backup.Summary{}, notAnOrg(file, err)
	}
	return read.Summary, nil
}

// notAnOrg tells a whole database from a damaged file.
func notAnOrg(file string, err error) error {
	f, openErr := os.Open(file)
	if openErr != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r, openErr := backup.Open(f)
	if openErr != nil {
		return err
	}
	defer r.Close()
	if r.Head().Organization == nil {
		return WithHint(fmt.Errorf("%s is of a whole database, not of one organization", file), "server restore fills an empty database with it")
	}
	return err
}

// ImportedOrg is an organization that came from a file.
type ImportedOrg struct {
	store.Organization
	Summary backup.Summary
	Records int // of its chains, all verified
}

// ImportOrg adds the organization of a file to a database that may hold others and be
// served from, whole or not at all, under the name as, or its own. What is
// withdrawn there stays so, and what was withdrawn before does; then every live content
// and every chain is looked at where it lies.
func ImportOrg(ctx context.Context, log *slog.Logger, cfg Config, file, as string, now time.Time, progress func(rows int64)) (is ImportedOrg, err error) {
	read, err := verifyOrg(file)
	if err != nil {
		return is, notAnOrg(file, err)
	}
	is.Summary = read.Summary
	status, err := MigrationStatus(ctx, cfg.DatabaseURL())
	if err != nil {
		return is, err
	}
	switch {
	case read.Schema > status.Current:
		return is, WithHint(fmt.Errorf("the file has schema %d, and the database %d", read.Schema, status.Current),
			"import it with the version of the server that wrote it ("+read.Server+"), or a newer one; server migrate up brings the database up to date")
	case read.Schema < status.Current:
		brought, remove, err := broughtUp(ctx, log, file, read)
		if err != nil {
			return is, fmt.Errorf("bring the file up to schema %d: nothing was changed: %w", status.Current, err)
		}
		defer remove()
		file = brought
		if read, err = verifyOrg(file); err != nil {
			return is, err
		}
	}
	s, err := OpenStore(ctx, log, cfg.DatabaseURL())
	if err != nil {
		return is, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	placing, err := placingOf(ctx, s, read, as, now)
	if err != nil {
		return is, err
	}
	if err := addOrg(ctx, s, read, placing, file, progress); err != nil {
		return is, err
	}
	if is.Organization, err = s.Organization(ctx, placing.Name); err != nil {
		return is, fmt.Errorf("find what was imported: %w", err)
	}
	desk, err := LeakDesk(log, s, cfg, func() time.Time { return now })
	if err != nil {
		return is, err
	}
	if _, _, err := desk.Apply(ctx, false); err != nil {
		return is, WithHint(fmt.Errorf("the organization is there, but what was withdrawn is not wholly: %w", err), "run server redact apply")
	}
	is.Records, err = lookThrough(ctx, s, is.Organization, now)
	return is, err
}

// broughtUp gives a file of an older schema in that of this program, by way of a database
// of its own that is migrated. remove takes both away.
func broughtUp(ctx context.Context, log *slog.Logger, file string, read *backup.OrgRows) (brought string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "teammem-org-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	database := filepath.Join(dir, "passing.db")
	if err := sqlite.MigrateTo(ctx, log, database, read.Schema); err != nil {
		return "", nil, err
	}
	if err := fillWith(ctx, database, file); err != nil {
		return "", nil, err
	}
	if err := sqlite.Migrate(ctx, log, database); err != nil {
		return "", nil, err
	}
	s, err := sqlite.Open(ctx, log, database)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	org, err := s.Organization(ctx, read.Organization.Name)
	if err != nil {
		return "", nil, err
	}
	head := read.Head
	if status, err := sqlite.MigrationStatus(ctx, database); err == nil {
		head.Schema = status.Current
	}
	brought = filepath.Join(dir, "brought.teammem")
	f, err := os.OpenFile(brought, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	_, err = backup.WriteOrg(ctx, f, s, org, head, nil)
	return brought, remove, errors.Join(err, f.Close())
}

// fillWith fills an empty SQLite database of the file's schema.
func fillWith(ctx context.Context, database, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r, err := backup.Open(f)
	if err != nil {
		return err
	}
	defer r.Close()
	return sqlite.Import(ctx, database, r.Rows(ctx, nil))
}

// placingOf decides under which name and id the organization will stand, and who of its
// people are known.
func placingOf(ctx context.Context, s store.Store, read *backup.OrgRows, as string, now time.Time) (*backup.Placing, error) {
	p := &backup.Placing{Name: read.Organization.Name, UID: read.Organization.ID, At: now, Known: map[int64]int64{}, Dropped: map[backup.Identity]bool{}}
	if as != "" {
		p.Name = as
	}
	all, err := s.Organizations(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the organizations: %w", err)
	}
	for _, org := range all {
		switch {
		case org.Name == p.Name:
			return nil, WithHint(fmt.Errorf("there is an organization %s already", p.Name), "nothing is replaced: give the new one another name with --as")
		case org.UID == p.UID && as == "":
			return nil, WithHint(fmt.Errorf("the organization is there already, under the name %s", org.Name), "for a copy beside it give a name with --as")
		case org.UID == p.UID:
			p.UID = auth.NewOrganization(as, now).UID
		}
	}
	taken := map[int64]bool{}
	for _, id := range read.Identities {
		user, err := s.Identity(ctx, id.Issuer, id.Subject)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for a known person: %w", err)
		}
		p.Dropped[backup.Identity{Issuer: id.Issuer, Subject: id.Subject}] = true
		if _, known := p.Known[id.User]; !known && !taken[int64(user)] {
			p.Known[id.User], taken[int64(user)] = int64(user), true
		}
	}
	return p, nil
}

func addOrg(ctx context.Context, s store.Store, read *backup.OrgRows, p *backup.Placing, file string, progress func(rows int64)) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	defer func() { _ = f.Close() }()
	r, err := backup.Open(f)
	if err != nil {
		return err
	}
	defer r.Close()
	err = s.(store.OrgCopier).ImportOrg(ctx, read.Highest, func(shift store.Numbers) store.Rows { return p.Rows(ctx, r, shift, progress) })
	if errors.Is(err, store.ErrExists) {
		return WithHint(fmt.Errorf("import: nothing was changed: something of it is there already: %w", err), "look at server org list, and try once more")
	}
	if err != nil {
		return fmt.Errorf("import: nothing was changed: %w", err)
	}
	return nil
}

// lookThrough holds every live content against its checksum, every repo against that of
// its set, and verifies the chains.
func lookThrough(ctx context.Context, s store.Store, org store.Organization, now time.Time) (records int, err error) {
	repos, err := s.Repos(ctx, org.ID)
	if err != nil {
		return 0, fmt.Errorf("list the repos: %w", err)
	}
	for _, repo := range repos {
		view, err := s.View(ctx, store.RepoRef{Org: org.ID, Slug: repo.Slug}, 0)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", repo.Slug, err)
		}
		var live []store.Row
		var sums []api.Checksum
		for _, row := range view.Rows {
			if !row.Deleted {
				live, sums = append(live, row), append(sums, row.Checksum)
			}
		}
		if got := ledger.ChecksumOf(live); got != view.Head.Checksum {
			return 0, fmt.Errorf("%s holds a set that does not have its checksum", repo.Slug)
		}
		if err := s.Bodies(ctx, org.ID, sums, func(api.Checksum, []byte) error { return ctx.Err() }); err != nil {
			return 0, fmt.Errorf("read the contents of %s: %w", repo.Slug, err)
		}
	}
	records, err = organization.New(s, func() time.Time { return now }, nil).Verify(ctx, org.ID)
	if err != nil {
		return records, WithHint(fmt.Errorf("the organization is there, and its chains are not as they were written: %w", err),
			"run server audit verify where it came from: it was tampered with there, or on the way")
	}
	return records, nil
}
