package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	proposalColumns = `SELECT p.id, p.uid, r.slug, p.key, p.author, coalesce(m.name, ''), p.client, p.state, p.standing, p.deleted, p.checksum, p.base, p.size, p.modified,
	p.version, p.at, p.closed, p.closed_at, p.closed_by, p.reason, p.detail`

	proposalTables = `
FROM proposals p JOIN repos r ON r.id = p.repo_id
LEFT JOIN memberships m ON m.org_id = r.org_id AND m.user_id = p.author`

	// selectShadows reads the standing proposals of an author, each with what
	// everybody sees of its key, and nothing where the repo has no proposals.
	selectShadows = proposalColumns + `,
	coalesce(e.version, 0), e.checksum, coalesce(e.deleted, false), coalesce(e.size, 0), e.modified` + proposalTables + `
LEFT JOIN entries e ON e.repo_id = p.repo_id AND e.key = p.key
WHERE p.repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2 AND proposals > 0) AND p.author = $3 AND p.standing ORDER BY p.key`

	selectSet = `SELECT set_state FROM repos WHERE org_id = $1 AND slug = $2 AND proposals > 0`

	selectProposal = proposalColumns + proposalTables + ` WHERE p.uid = $2 AND r.org_id = $1`

	selectProposals = proposalColumns + proposalTables + `
WHERE r.org_id = $1 AND ($2 = '' OR r.slug = $2) AND ($3 = '' OR p.state = $3) AND ($4::bigint = 0 OR p.author = $4)
	AND ($5::bigint = 0 OR p.id < $5) ORDER BY p.id DESC LIMIT $6`

	upsertProposal = `INSERT INTO proposals (uid, repo_id, key, author, client, state, standing, deleted, checksum, base, size, modified, version, at, closed, closed_at, closed_by, reason, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) ON CONFLICT (uid) DO UPDATE SET state = excluded.state, standing = excluded.standing, deleted = excluded.deleted, checksum = excluded.checksum, base = excluded.base, size = excluded.size, version = excluded.version, closed = excluded.closed, closed_at = excluded.closed_at, closed_by = excluded.closed_by, reason = excluded.reason, detail = excluded.detail`
)

// queueShadows queues what [scanShadows] reads.
func queueShadows(batch *pgx.Batch, ref store.RepoRef) {
	batch.Queue(selectShadows, int64(ref.Org), string(ref.Slug), int64(ref.For))
}

func scanShadows(results pgx.BatchResults) ([]store.Shadow, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s store.Shadow, err error) {
		r := &s.Public
		var modified *time.Time
		s.Proposal, err = scanProposal(row, (*int64)(&r.Version), (*checksum)(&r.Checksum), &r.Deleted, &r.Size, &modified)
		if r.Modified = moment(modified); r.Version > 0 {
			r.Key = s.Key
		}
		return s, err
	})
}

// scanSet reads the set behind the checksum, where there is a row of it.
func scanSet(results pgx.BatchResults) (set []byte, err error) {
	if err = results.QueryRow().Scan(&set); absent(err) == store.ErrNotFound {
		err = nil
	}
	return set, err
}

func scanProposal(row pgx.Row, more ...any) (p store.Proposal, err error) {
	var modified, closed *time.Time
	var detail string
	columns := []any{
		&p.ID, &p.UID, (*string)(&p.Slug), (*string)(&p.Key), (*int64)(&p.Author), &p.User, &p.Client, (*string)(&p.State), &p.Standing, &p.Deleted,
		(*checksum)(&p.Checksum), (*checksum)(&p.Base), &p.Size, &modified, (*int64)(&p.Version), &p.At, (*int64)(&p.Closed), &closed, &p.ClosedBy,
		&p.Reason, &detail,
	}
	err = row.Scan(append(columns, more...)...)
	p.Modified, p.At, p.ClosedAt, p.Detail = moment(modified), p.At.UTC(), moment(closed), []byte(detail)
	return p, err
}

// Proposals lists proposals, newest first.
func (db *DB) Proposals(ctx context.Context, org store.OrgID, q store.ProposalQuery) (all []store.Proposal, err error) {
	err = db.read(ctx, "listing proposals", func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, selectProposals, int64(org), string(q.Repo), string(q.State), int64(q.Author), q.Before, int64(q.Limit))
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Proposal, error) { return scanProposal(row) })
		return err
	})
	return all, err
}

// Proposal finds one by its public id. [store.ErrNotFound].
func (db *DB) Proposal(ctx context.Context, org store.OrgID, uid string) (p store.Proposal, err error) {
	err = db.read(ctx, "proposal", func(conn *pgxpool.Conn) error {
		p, err = scanProposal(conn.QueryRow(ctx, selectProposal, int64(org), uid))
		return absent(err)
	})
	return p, err
}

// queueProposals queues those that stand no longer first: they make room for those
// that do.
func queueProposals(batch *pgx.Batch, repo int64, writes []store.ProposalWrite) {
	for _, standing := range []bool{false, true} {
		for i := range writes {
			p := &writes[i]
			if p.Standing != standing {
				continue
			}
			batch.Queue(upsertProposal, p.UID, repo, string(p.Key), int64(p.Author), p.Client, string(p.State), p.Standing, p.Deleted,
				raw(p.Checksum), raw(p.Base), p.Size, instant(p.Modified), int64(p.Version), millis(p.At), int64(p.Closed), instant(p.ClosedAt),
				p.ClosedBy, p.Reason, string(p.Detail))
		}
	}
}
