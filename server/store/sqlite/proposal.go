package sqlite

import (
	"context"
	"database/sql"

	"github.com/teammem/teammem/server/store"
)

const (
	proposalColumns = `SELECT p.id, p.uid, r.slug, p.key, p.author, coalesce(m.name, ''), p.client, p.state, p.standing, p.deleted, p.checksum, p.base, p.size, p.modified,
	p.version, p.at, p.closed, p.closed_at, p.closed_by, p.reason, p.detail`

	proposalTables = `
FROM proposals p JOIN repos r ON r.id = p.repo_id
LEFT JOIN memberships m ON m.org_id = r.org_id AND m.user_id = p.author`

	// selectShadows reads the standing proposals of an author, each with what
	// everybody sees of its key.
	selectShadows = proposalColumns + `,
	coalesce(e.version, 0), e.checksum, coalesce(e.deleted, 0), coalesce(e.size, 0), e.modified` + proposalTables + `
LEFT JOIN entries e ON e.repo_id = p.repo_id AND e.key = p.key
WHERE p.repo_id = ?1 AND p.author = ?2 AND p.standing = 1 ORDER BY p.key`

	selectSet = `SELECT set_state FROM repos WHERE id = ?`

	selectProposal = proposalColumns + proposalTables + ` WHERE p.uid = ?2 AND r.org_id = ?1`

	selectProposals = proposalColumns + proposalTables + `
WHERE r.org_id = ?1 AND (?2 = '' OR r.slug = ?2) AND (?3 = '' OR p.state = ?3) AND (?4 = 0 OR p.author = ?4) AND (?5 = 0 OR p.id < ?5)
ORDER BY p.id DESC LIMIT ?6`

	upsertProposal = `INSERT INTO proposals (uid, repo_id, key, author, client, state, standing, deleted, checksum, base, size, modified, version, at, closed, closed_at, closed_by, reason, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uid) DO UPDATE SET state = excluded.state, standing = excluded.standing, deleted = excluded.deleted, checksum = excluded.checksum, base = excluded.base, size = excluded.size, version = excluded.version, closed = excluded.closed, closed_at = excluded.closed_at, closed_by = excluded.closed_by, reason = excluded.reason, detail = excluded.detail`
)

// shadows reads the standing proposals of the one whom ref is for, where the repo
// has any.
func (db *DB) shadows(ctx context.Context, tx *sql.Tx, ref store.RepoRef, head store.Head) ([]store.Shadow, error) {
	if head.Proposals == 0 || ref.For == 0 {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, selectShadows, int64(head.ID), int64(ref.For))
	if err != nil {
		return nil, err
	}
	return collect(rows, func(row scanner) (s store.Shadow, err error) {
		r := &s.Public
		s.Proposal, err = scanProposal(row, &r.Version, (*checksum)(&r.Checksum), &r.Deleted, &r.Size, (*moment)(&r.Modified))
		if r.Version > 0 {
			r.Key = s.Key
		}
		return s, err
	})
}

// shadowsInView adds to a view what [DB.shadows] finds, and the set behind the
// checksum that everybody is told.
func (db *DB) shadowsInView(ctx context.Context, tx *sql.Tx, ref store.RepoRef, view *store.View) (err error) {
	if view.Mine, err = db.shadows(ctx, tx, ref, view.Head); err != nil || len(view.Mine) == 0 {
		return err
	}
	return tx.QueryRowContext(ctx, selectSet, int64(view.Head.ID)).Scan(&view.Head.Set)
}

func scanProposal(row scanner, more ...any) (p store.Proposal, err error) {
	columns := []any{
		&p.ID, &p.UID, &p.Slug, &p.Key, &p.Author, &p.User, &p.Client, &p.State, &p.Standing, &p.Deleted, (*checksum)(&p.Checksum),
		(*checksum)(&p.Base), &p.Size, (*moment)(&p.Modified), &p.Version, (*moment)(&p.At), &p.Closed, (*moment)(&p.ClosedAt), &p.ClosedBy,
		&p.Reason, &p.Detail,
	}
	return p, row.Scan(append(columns, more...)...)
}

// Proposals lists proposals, newest first.
func (db *DB) Proposals(ctx context.Context, org store.OrgID, q store.ProposalQuery) (all []store.Proposal, err error) {
	err = db.reads(ctx, "listing proposals", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectProposals, int64(org), string(q.Repo), string(q.State), int64(q.Author), q.Before, q.Limit)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (store.Proposal, error) { return scanProposal(row) })
		return err
	})
	return all, err
}

// Proposal finds one by its public id. [store.ErrNotFound].
func (db *DB) Proposal(ctx context.Context, org store.OrgID, uid string) (store.Proposal, error) {
	p, err := scanProposal(db.reader.QueryRowContext(ctx, selectProposal, int64(org), uid))
	if err != nil {
		return p, fail(ctx, "proposal", err)
	}
	return p, nil
}

// writeProposals writes those that stand no longer first: they make room for those
// that do.
func (w *transaction) writeProposals(tx *sql.Tx, org store.OrgID, writes []store.ProposalWrite) error {
	for _, standing := range []bool{false, true} {
		for i := range writes {
			p := &writes[i]
			if p.Standing != standing {
				continue
			}
			if p.Body != nil {
				if err := w.writeBody(org, p.Body); err != nil {
					return err
				}
			}
			_, err := tx.ExecContext(w.ctx, upsertProposal, p.UID, w.repo, string(p.Key), int64(p.Author), p.Client, string(p.State), p.Standing,
				p.Deleted, raw(p.Checksum), raw(p.Base), p.Size, instant(p.Modified), int64(p.Version), p.At.UnixMilli(), int64(p.Closed),
				instant(p.ClosedAt), p.ClosedBy, p.Reason, string(p.Detail))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
