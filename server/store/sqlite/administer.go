package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

const (
	selectGrants  = `SELECT kind, name, pattern, role FROM grants WHERE org_id = ? ORDER BY kind, name, pattern`
	selectAliases = `SELECT a.slug, r.slug FROM repo_aliases a JOIN repos r ON r.id = a.repo_id WHERE a.org_id = ?`

	repoColumns = `SELECT r.slug, r.id, r.version, r.checksum, r.entries, r.bytes, r.last_modified, r.audit_head FROM repos r `
	selectRepos = repoColumns + `WHERE r.org_id = ? AND r.version > 0 ORDER BY r.slug`
	selectRepo  = repoColumns + `WHERE r.org_id = ? AND r.slug = ?`
	selectMoved = repoColumns + `LEFT JOIN audit_checkpoints c ON c.repo_id = r.id
WHERE r.org_id = ? AND r.version > coalesce(c.version, 0) ORDER BY r.id LIMIT ?`

	selectTokenByUID = tokenColumns + `WHERE t.org_id = ? AND t.uid = ?`

	updateOrganization = `UPDATE organizations SET name = ?2, max_entries = ?3, max_repos = ?4, max_bytes = ?5, writes_per_minute = ?6,
	audit_days = ?7, history_days = ?8, history_keep = ?9, trash_days = ?10 WHERE id = ?1`
	deleteGrants     = `DELETE FROM grants WHERE org_id = ?`
	insertGrant      = `INSERT INTO grants (org_id, kind, name, pattern, role) VALUES (?, ?, ?, ?, ?)`
	renameRepo       = `UPDATE repos SET slug = ?3 WHERE org_id = ?1 AND slug = ?2 RETURNING id`
	insertAlias      = `INSERT INTO repo_aliases (org_id, slug, repo_id) VALUES (?, ?, ?)`
	deleteAlias      = `DELETE FROM repo_aliases WHERE org_id = ? AND slug = ?`
	upsertCheckpoint = `INSERT INTO audit_checkpoints (repo_id, version) VALUES (?, ?)
ON CONFLICT (repo_id) DO UPDATE SET version = excluded.version`
)

// Access reads what decides about an organization's requests.
func (db *DB) Access(ctx context.Context, org store.OrgID) (access store.Access, err error) {
	err = db.reads(ctx, "access to an organization", func(tx *sql.Tx) error {
		access, err = accessOf(ctx, tx, org)
		return err
	})
	return access, err
}

func accessOf(ctx context.Context, tx *sql.Tx, org store.OrgID) (access store.Access, err error) {
	if access.Organization, err = scanOrganization(tx.QueryRowContext(ctx, selectOrgByID, org)); err != nil {
		return access, err
	}
	rows, err := tx.QueryContext(ctx, selectGrants, org)
	if err != nil {
		return access, err
	}
	access.Grants, err = collect(rows, func(row scanner) (g store.Grant, err error) {
		err = row.Scan(&g.Kind, &g.Name, &g.Pattern, &g.Role)
		return g, err
	})
	if err != nil {
		return access, err
	}
	if rows, err = tx.QueryContext(ctx, selectAliases, org); err != nil {
		return access, err
	}
	pairs, err := collect(rows, func(row scanner) (pair [2]api.RepoSlug, err error) {
		err = row.Scan(&pair[0], &pair[1])
		return pair, err
	})
	access.Aliases = make(map[api.RepoSlug]api.RepoSlug, len(pairs))
	for _, pair := range pairs {
		access.Aliases[pair[0]] = pair[1]
	}
	return access, err
}

// Repos lists an organization's repos that have memory.
func (db *DB) Repos(ctx context.Context, org store.OrgID) (all []store.RepoInfo, err error) {
	err = db.reads(ctx, "listing repos", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectRepos, org)
		if err != nil {
			return err
		}
		all, err = collect(rows, scanRepo)
		return err
	})
	return all, err
}

func scanRepo(row scanner) (r store.RepoInfo, err error) {
	err = row.Scan(&r.Slug, &r.Head.ID, &r.Head.Version, (*checksum)(&r.Head.Checksum), &r.Head.Entries, &r.Head.Bytes,
		(*moment)(&r.Head.LastModified), (*hash)(&r.Head.AuditHead))
	return r, err
}

// Administer runs one change of an organization, see [store.Store].
func (db *DB) Administer(ctx context.Context, org store.OrgID, about store.About, decide store.DecideOrg) (record audit.Record, err error) {
	var refusal error
	err = db.writes(ctx, func(ctx context.Context, tx *sql.Tx) (keep bool, err error) {
		state, err := orgState(ctx, tx, org, about)
		if err != nil {
			return false, err
		}
		change, err := decide(state)
		if err != nil || change == nil {
			refusal = err
			return false, nil
		}
		w := administration{ctx: ctx, tx: tx, org: org}
		if err := w.write(change, &state); err != nil {
			return false, err
		}
		record, err = w.record(change.Audit, state.Audit)
		return true, err
	})
	switch {
	case err != nil:
		return audit.Record{}, fail(ctx, "changing an organization", err)
	case refusal != nil:
		return audit.Record{}, refusal
	}
	return record, nil
}

// orgState reads what decide is shown. The transaction holds the only lock there
// is.
func orgState(ctx context.Context, tx *sql.Tx, org store.OrgID, about store.About) (state store.OrgState, err error) {
	if state.Access, err = accessOf(ctx, tx, org); err != nil {
		return state, err
	}
	if state.Members, err = membersOf(ctx, tx, org); err != nil {
		return state, err
	}
	if state.Invited, err = invitations(ctx, tx, org, ""); err != nil {
		return state, err
	}
	for _, uid := range about.Tokens {
		rows, err := tx.QueryContext(ctx, selectTokenByUID, org, uid)
		if err != nil {
			return state, err
		}
		found, err := collect(rows, scanToken)
		if err != nil {
			return state, err
		}
		state.Tokens = append(state.Tokens, found...)
	}
	for _, slug := range about.Repos {
		rows, err := tx.QueryContext(ctx, selectRepo, org, string(slug))
		if err != nil {
			return state, err
		}
		found, err := collect(rows, scanRepo)
		if err != nil {
			return state, err
		}
		state.Repos = append(state.Repos, found...)
	}
	if about.Moved > 0 {
		rows, err := tx.QueryContext(ctx, selectMoved, org, about.Moved)
		if err != nil {
			return state, err
		}
		moved, err := collect(rows, scanRepo)
		if err != nil {
			return state, err
		}
		state.Repos = append(state.Repos, moved...)
	}
	state.Audit, err = auditHead(ctx, tx, org)
	return state, err
}

// administration is the writing half of an Administer.
type administration struct {
	ctx context.Context
	tx  *sql.Tx
	org store.OrgID
}

func (w administration) exec(query string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, query, args...)
	return taken(err)
}

func (w administration) write(change *store.OrgChange, state *store.OrgState) error {
	if o := change.Organization; o != nil {
		if err := w.exec(updateOrganization, w.org, o.Name, o.MaxEntries, o.MaxRepos, o.MaxBytes, o.WritesPerMinute, o.AuditDays,
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
		if err := w.exec(revokeToken, w.org, uid, change.Audit.At.UnixMilli()); err != nil {
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
		if err := w.exec(upsertInvitation, w.org, i.Email, i.Name, string(i.Role), i.Created.UnixMilli(), i.Until.UnixMilli()); err != nil {
			return err
		}
	}
	for _, email := range change.Uninvite {
		if err := w.exec(deleteInvitation, w.org, email); err != nil {
			return err
		}
	}
	return nil
}

func (w administration) writeGrants(grants *[]store.Grant) error {
	if grants == nil {
		return nil
	}
	if err := w.exec(deleteGrants, w.org); err != nil {
		return err
	}
	for _, g := range *grants {
		if err := w.exec(insertGrant, w.org, string(g.Kind), g.Name, g.Pattern, string(g.Role)); err != nil {
			return err
		}
	}
	return nil
}

// writeNames forgets old names before a repo takes one.
func (w administration) writeNames(change *store.OrgChange) error {
	for _, slug := range change.Forget {
		if err := w.exec(deleteAlias, w.org, string(slug)); err != nil {
			return err
		}
	}
	if change.Rename == nil {
		return nil
	}
	var repo int64
	err := w.tx.QueryRowContext(w.ctx, renameRepo, w.org, string(change.Rename.From), string(change.Rename.To)).Scan(&repo)
	if err != nil {
		return taken(err)
	}
	return w.exec(insertAlias, w.org, string(change.Rename.From), repo)
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
