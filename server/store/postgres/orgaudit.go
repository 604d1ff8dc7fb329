package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

const (
	selectAuditHead = `SELECT audit_seq, audit_head FROM organizations WHERE id = $1`
	lockAuditHead   = selectAuditHead + ` FOR NO KEY UPDATE`
	updateAuditHead = `UPDATE organizations SET audit_seq = $2, audit_head = $3 WHERE id = $1`
	insertOrgAudit  = `INSERT INTO org_audit (org_id, seq, at, action, user_name, token_uid, client, subject, previous, hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

	auditColumns   = `SELECT seq, at, action, user_name, token_uid, client, subject, previous, hash FROM `
	selectOrgAudit = auditColumns + `org_audit WHERE org_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`

	selectAnchors = `SELECT repo_id, seq, hash FROM audit_anchors WHERE org_id = $1 ORDER BY repo_id`
	upsertAnchor  = `INSERT INTO audit_anchors (org_id, repo_id, seq, hash) VALUES ($1, $2, $3, $4)
ON CONFLICT (org_id, repo_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`
	pruneOrgAudit  = `DELETE FROM org_audit WHERE org_id = $1 AND seq <= $2`
	pruneRepoAudit = `DELETE FROM audit WHERE repo_id = $1 AND seq <= $2`
)

// auditFilters end a query of a chain; the chain's id is the first argument.
const auditFilters = ` AND ($2::text = '' OR user_name = $2) AND ($3::text = '' OR action = $3 OR ($3 LIKE '%.' AND left(action, length($3)) = $3))
AND at >= $4 AND at <= $5 AND seq < $6 ORDER BY seq DESC LIMIT $7`

// record chains a record behind the head and makes it the head.
func (w administration) record(r audit.Record, head store.AuditPlace) (audit.Record, error) {
	r.Seq = head.Seq + 1
	r = r.Chain(head.Hash)
	err := w.exec(insertOrgAudit, int64(w.org), r.Seq, r.At, r.Action, r.User, r.TokenUID, r.Client, string(r.Subject), r.Previous[:], r.Hash[:])
	if err != nil {
		return r, err
	}
	return r, w.exec(updateAuditHead, int64(w.org), r.Seq, r.Hash[:])
}

// begin writes the first records of a chain.
func (w administration) begin(records []audit.Record) error {
	var head store.AuditPlace
	for _, r := range records {
		r, err := w.record(r, head)
		if err != nil {
			return err
		}
		head = store.AuditPlace{Seq: r.Seq, Hash: r.Hash}
	}
	return nil
}

// prune takes away what lies before an anchor, and keeps the anchor.
func (w administration) prune(a store.AuditAnchor) error {
	if err := w.exec(upsertAnchor, int64(w.org), int64(a.Repo), a.Seq, a.Hash[:]); err != nil {
		return err
	}
	if a.Repo == 0 {
		return w.exec(pruneOrgAudit, int64(w.org), a.Seq)
	}
	return w.exec(pruneRepoAudit, int64(a.Repo), a.Seq)
}

// OrgAudit reads an organization's chain, oldest first.
func (db *DB) OrgAudit(ctx context.Context, org store.OrgID, after int64, limit int) ([]audit.Record, error) {
	return db.auditRows(ctx, "audit of an organization", selectOrgAudit, int64(org), after, int64(limit))
}

// FindAudit reads the records of one chain that a query asks for, newest first.
func (db *DB) FindAudit(ctx context.Context, org store.OrgID, q store.AuditQuery) ([]audit.Record, error) {
	query, chain := auditColumns+`org_audit WHERE org_id = $1`, int64(org)
	if q.Repo != 0 {
		query, chain = auditColumns+`audit WHERE repo_id = $1 AND EXISTS (SELECT 1 FROM repos WHERE id = $1 AND org_id = $8)`, int64(q.Repo)
	}
	if q.To.IsZero() {
		q.To = endOfTime
	}
	if q.Before == 0 {
		q.Before = newest
	}
	args := []any{chain, q.User, q.Action, q.From, q.To, q.Before, int64(q.Limit)}
	if q.Repo != 0 {
		args = append(args, int64(org))
	}
	return db.auditRows(ctx, "finding audit records", query+auditFilters, args...)
}

// endOfTime is later than any record.
var endOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

func (db *DB) auditRows(ctx context.Context, operation, query string, args ...any) (all []audit.Record, err error) {
	err = db.read(ctx, operation, func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, scanAudit, query, args...)
		return err
	})
	return all, err
}

// AuditEnds gives the chain's head and the anchors of all chains.
func (db *DB) AuditEnds(ctx context.Context, org store.OrgID) (head store.AuditPlace, anchors []store.AuditAnchor, err error) {
	err = db.read(ctx, "ends of the audit", func(conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			if err := tx.QueryRow(ctx, selectAuditHead, int64(org)).Scan(&head.Seq, (*hash)(&head.Hash)); err != nil {
				return absent(err)
			}
			anchors, err = list(ctx, tx, func(row pgx.CollectableRow) (a store.AuditAnchor, err error) {
				err = row.Scan((*int64)(&a.Repo), &a.Seq, (*hash)(&a.Hash))
				return a, err
			}, selectAnchors, int64(org))
			return err
		})
	})
	return head, anchors, err
}
