package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

const (
	selectGrants  = `SELECT kind, name, pattern, role FROM grants WHERE org_id = $1 ORDER BY kind COLLATE "C", name, pattern`
	selectAliases = `SELECT a.slug, r.slug FROM repo_aliases a JOIN repos r ON r.id = a.repo_id WHERE a.org_id = $1`

	repoColumns = `SELECT r.slug, r.id, r.version, r.checksum, r.entries, r.bytes, r.last_modified, r.audit_head FROM repos r `
	selectRepos = repoColumns + `WHERE r.org_id = $1 AND r.version > 0 ORDER BY r.slug`
	selectRepo  = repoColumns + `WHERE r.org_id = $1 AND r.slug = $2`
	selectMoved = repoColumns + `LEFT JOIN audit_checkpoints c ON c.repo_id = r.id
WHERE r.org_id = $1 AND r.version > coalesce(c.version, 0) ORDER BY r.id LIMIT $2`

	selectTokenByUID = tokenColumns + `WHERE t.org_id = $1 AND t.uid = $2`

	updateOrganization = `UPDATE organizations SET name = $2, max_entries = $3, max_repos = $4, max_bytes = $5, writes_per_minute = $6,
	audit_days = $7, history_days = $8, history_keep = $9, trash_days = $10 WHERE id = $1`
	deleteGrants     = `DELETE FROM grants WHERE org_id = $1`
	insertGrant      = `INSERT INTO grants (org_id, kind, name, pattern, role) VALUES ($1, $2, $3, $4, $5)`
	renameRepo       = `UPDATE repos SET slug = $3 WHERE org_id = $1 AND slug = $2 RETURNING id`
	insertAlias      = `INSERT INTO repo_aliases (org_id, slug, repo_id) VALUES ($1, $2, $3)`
	deleteAlias      = `DELETE FROM repo_aliases WHERE org_id = $1 AND slug = $2`
	upsertCheckpoint = `INSERT INTO audit_checkpoints (repo_id, version) VALUES ($1, $2)
ON CONFLICT (repo_id) DO UPDATE SET version = excluded.version`

	setLockWait = `SELECT set_config('lock_timeout', $1, true)`
)

// Access reads what decides about an organization's requests.
func (db *DB) Access(ctx context.Context, org store.OrgID) (access store.Access, err error) {
	err = db.read(ctx, "access to an organization", func(conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			access, err = accessOf(ctx, tx, org)
			return err
		})
	})
	return access, err
}

func accessOf(ctx context.Context, tx pgx.Tx, org store.OrgID) (access store.Access, err error) {
	orgs, err := list(ctx, tx, scanOrganization, selectOrgByID, int64(org))
	switch {
	case err != nil:
		return access, err
	case len(orgs) == 0:
		return access, store.ErrNotFound
	}
	access.Organization = orgs[0]
	access.Grants, err = list(ctx, tx, func(row pgx.CollectableRow) (g store.Grant, err error) {
		err = row.Scan((*string)(&g.Kind), &g.Name, &g.Pattern, (*string)(&g.Role))
		return g, err
	}, selectGrants, int64(org))
	if err != nil {
		return access, err
	}
	pairs, err := list(ctx, tx, func(row pgx.CollectableRow) (pair [2]string, err error) {
		err = row.Scan(&pair[0], &pair[1])
		return pair, err
	}, selectAliases, int64(org))
	access.Aliases = make(map[api.RepoSlug]api.RepoSlug, len(pairs))
	for _, pair := range pairs {
		access.Aliases[api.RepoSlug(pair[0])] = api.RepoSlug(pair[1])
	}
	return access, err
}

// Repos lists an organization's repos that have memory.
func (db *DB) Repos(ctx context.Context, org store.OrgID) (all []store.RepoInfo, err error) {
	err = db.read(ctx, "listing repos", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, scanRepo, selectRepos, int64(org))
		return err
	})
	return all, err
}

func scanRepo(row pgx.CollectableRow) (r store.RepoInfo, err error) {
	var modified *time.Time
	err = row.Scan((*string)(&r.Slug), (*int64)(&r.Head.ID), (*int64)(&r.Head.Version), (*checksum)(&r.Head.Checksum), &r.Head.Entries, &r.Head.Bytes,
		&modified, (*hash)(&r.Head.AuditHead))
	r.Head.LastModified = moment(modified)
	return r, err
}

// Administer runs one change of an organization, see [store.Store].
func (db *DB) Administer(ctx context.Context, org store.OrgID, about store.About, decide store.DecideOrg) (record audit.Record, err error) {
	var refusal error
	err = db.read(ctx, "changing an organization", func(conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, setLockWait, strconv.FormatInt(db.lockWait.Milliseconds(), 10)); err != nil {
				return err
			}
			state, err := orgState(ctx, tx, org, about)
			if err != nil {
				return err
			}
			change, err := decide(state)
			if err != nil || change == nil {
				refusal = err
				return nil
			}
			w := administration{ctx: ctx, tx: tx, org: org}
			if err := w.write(change, &state); err != nil {
				return err
			}
			record, err = w.record(change.Audit, state.Audit)
			return err
		})
	})
	switch {
	case err != nil:
		return audit.Record{}, err
	case refusal != nil:
		return audit.Record{}, refusal
	}
	return record, nil
}

// orgState locks the organization and reads what decide is shown.
func orgState(ctx context.Context, tx pgx.Tx, org store.OrgID, about store.About) (state store.OrgState, err error) {
	// The head is read by the lock itself: what was read before it may be old.
	err = tx.QueryRow(ctx, lockAuditHead, int64(org)).Scan(&state.Audit.Seq, (*hash)(&state.Audit.Hash))
	if err != nil {
		return state, absent(err)
	}
	if state.Access, err = accessOf(ctx, tx, org); err != nil {
		return state, err
	}
	if state.Members, err = membersOf(ctx, tx, org); err != nil {
		return state, err
	}
	if state.Invited, err = list(ctx, tx, scanInvitation, selectInvitations, int64(org), ""); err != nil {
		return state, err
	}
	for _, uid := range about.Tokens {
		found, err := list(ctx, tx, scanToken, selectTokenByUID, int64(org), uid)
		if err != nil {
			return state, err
		}
		state.Tokens = append(state.Tokens, found...)
	}
	for _, slug := range about.Repos {
		found, err := list(ctx, tx, scanRepo, selectRepo, int64(org), string(slug))
		if err != nil {
			return state, err
		}
		state.Repos = append(state.Repos, found...)
	}
	if about.Moved > 0 {
		moved, err := list(ctx, tx, scanRepo, selectMoved, int64(org), int64(about.Moved))
		if err != nil {
			return state, err
		}
		state.Repos = append(state.Repos, moved...)
	}
	return state, nil
}

// administration is the writing half of an Administer.
type administration struct {
	ctx context.Context
	tx  pgx.Tx
	org store.OrgID
}

func (w administration) exec(query string, args ...any) error {
	_, err := w.tx.Exec(w.ctx, query, args...)
	return taken(err)
}

func (w administration) write(change *store.OrgChange, state *store.OrgState) error {
	if o := change.Organization; o != nil {
		if err := w.exec(updateOrganization, int64(w.org), o.Name, o.MaxEntries, o.MaxRepos, o.MaxBytes, o.WritesPerMinute, o.AuditDays,
			o.HistoryDays, o.HistoryKeep, o.TrashDays); err != nil {
			return err
		}
	}
	users := map[string]store.UserID{}
	for _, m := range state.Members {
		users[m.Name] = m.User
	}
	for _, m := range change.Members {
		m.Org = w.org
		if m.User == 0 {
			m.User = users[m.Name]
		}
		if err := writeMember(w.ctx, w.tx, &m); err != nil {
			return err
		}
		users[m.Name] = m.User
	}
	for _, t := range change.NewTokens {
		t.Org, t.User = w.org, users[t.UserName]
		if err := addToken(w.ctx, w.tx, &t); err != nil {
			return err
		}
	}
	for _, uid := range change.Revoke {
		if err := w.exec(revokeToken, int64(w.org), uid, millis(change.Audit.At)); err != nil {
			return err
		}
	}
	if err := w.writeInvitations(change); err != nil {
		return err
	}
	if err := w.writeGrants(change.Grants); err != nil {
		return err
	}
	if err := w.writeNames(change); err != nil {
		return err
	}
	if err := w.writePolicy(change.Policy); err != nil {
		return err
	}
	return w.writeMarks(change)
}

func (w administration) writeInvitations(change *store.OrgChange) error {
	for _, i := range change.Invite {
		if err := w.exec(upsertInvitation, int64(w.org), i.Email, i.Name, string(i.Role), millis(i.Created), millis(i.Until)); err != nil {
			return err
		}
	}
	for _, email := range change.Uninvite {
		if err := w.exec(deleteInvitation, int64(w.org), email); err != nil {
			return err
		}
	}
	return nil
}

func (w administration) writeGrants(grants *[]store.Grant) error {
	if grants == nil {
		return nil
	}
	if err := w.exec(deleteGrants, int64(w.org)); err != nil {
		return err
	}
	for _, g := range *grants {
		if err := w.exec(insertGrant, int64(w.org), string(g.Kind), g.Name, g.Pattern, string(g.Role)); err != nil {
			return err
		}
	}
	return nil
}

// writeNames forgets old names before a repo takes one.
func (w administration) writeNames(change *store.OrgChange) error {
	for _, slug := range change.Forget {
		if err := w.exec(deleteAlias, int64(w.org), string(slug)); err != nil {
			return err
		}
	}
	if change.Rename == nil {
		return nil
	}
	var repo int64
	err := w.tx.QueryRow(w.ctx, renameRepo, int64(w.org), string(change.Rename.From), string(change.Rename.To)).Scan(&repo)
	if err != nil {
		return taken(err)
	}
	return w.exec(insertAlias, int64(w.org), string(change.Rename.From), repo)
}

func (w administration) writeMarks(change *store.OrgChange) error {
	for _, repo := range change.Checkpoint {
		if err := w.exec(upsertCheckpoint, int64(repo.Head.ID), int64(repo.Head.Version)); err != nil {
			return err
		}
	}
	for _, anchor := range change.Pruned {
		if err := w.prune(anchor); err != nil {
			return fmt.Errorf("pruning the audit: %w", err)
		}
	}
	return nil
}
