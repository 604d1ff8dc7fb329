package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

const (
	selectAuditHead = `SELECT audit_seq, audit_head FROM organizations WHERE id = ?`
	updateAuditHead = `UPDATE organizations SET audit_seq = ?2, audit_head = ?3 WHERE id = ?1`
	insertOrgAudit  = `INSERT INTO org_audit (org_id, seq, at, action, user_name, token_uid, client, subject, previous, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	auditColumns   = `SELECT seq, at, action, user_name, token_uid, client, subject, previous, hash FROM `
	selectOrgAudit = auditColumns + `org_audit WHERE org_id = ? AND seq > ? ORDER BY seq LIMIT ?`

	selectAnchors = `SELECT repo_id, seq, hash FROM audit_anchors WHERE org_id = ? ORDER BY repo_id`
	upsertAnchor  = `INSERT INTO audit_anchors (org_id, repo_id, seq, hash) VALUES (?, ?, ?, ?)
ON CONFLICT (org_id, repo_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`
	pruneOrgAudit  = `DELETE FROM org_audit WHERE org_id = ? AND seq <= ?`
	pruneRepoAudit = `DELETE FROM audit WHERE repo_id = ? AND seq <= ?`
)

// auditFilters end a query of a chain; the chain's id is the first argument.
const auditFilters = ` AND (?2 = '' OR user_name = ?2) AND (?3 = '' OR action = ?3 OR (?3 LIKE '%.' AND substr(action, 1, length(?3)) = ?3))
AND at >= ?4 AND at <= ?5 AND seq < ?6 ORDER BY seq DESC LIMIT ?7`

func auditHead(ctx context.Context, tx *sql.Tx, org store.OrgID) (place store.AuditPlace, err error) {
	err = tx.QueryRowContext(ctx, selectAuditHead, org).Scan(&place.Seq, (*hash)(&place.Hash))
	return place, err
}

// record chains a record behind the head and makes it the head.
func (w administration) record(r audit.Record, head store.AuditPlace) (audit.Record, error) {
	r.Seq = head.Seq + 1
	r = r.Chain(head.Hash)
	err := w.exec(insertOrgAudit, w.org, r.Seq, r.At.UnixMilli(), r.Action, r.User, r.TokenUID, r.Client, string(r.Subject), r.Previous[:], r.Hash[:])
	if err != nil {
		return r, err
	}
	return r, w.exec(updateAuditHead, w.org, r.Seq, r.Hash[:])
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
	if err := w.exec(upsertAnchor, w.org, int64(a.Repo), a.Seq, a.Hash[:]); err != nil {
		return err
	}
	if a.Repo == 0 {
		return w.exec(pruneOrgAudit, w.org, a.Seq)
	}
	return w.exec(pruneRepoAudit, int64(a.Repo), a.Seq)
}

// OrgAudit reads an organization's chain, oldest first.
func (db *DB) OrgAudit(ctx context.Context, org store.OrgID, after int64, limit int) ([]audit.Record, error) {
	return db.auditRows(ctx, "audit of an organization", selectOrgAudit, org, after, limit)
}

// FindAudit reads the records of one chain that a query asks for, newest first.
func (db *DB) FindAudit(ctx context.Context, org store.OrgID, q store.AuditQuery) ([]audit.Record, error) {
	query, chain := auditColumns+`org_audit WHERE org_id = ?1`, int64(org)
	if q.Repo != 0 {
		query, chain = auditColumns+`audit WHERE repo_id = ?1 AND EXISTS (SELECT 1 FROM repos WHERE id = ?1 AND org_id = ?8)`, int64(q.Repo)
	}
	from, to := q.From.UnixMilli(), q.To.UnixMilli()
	if q.To.IsZero() {
		to = 1<<63 - 1
	}
	if q.Before == 0 {
		q.Before = 1<<63 - 1
	}
	args := []any{chain, q.User, q.Action, from, to, q.Before, q.Limit}
	if strings.Contains(query, "?8") {
		args = append(args, int64(org))
	}
	return db.auditRows(ctx, "finding audit records", query+auditFilters, args...)
}

func (db *DB) auditRows(ctx context.Context, operation, query string, args ...any) (all []audit.Record, err error) {
	err = db.reads(ctx, operation, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		all, err = collect(rows, scanAudit)
		return err
	})
	return all, err
}

// AuditEnds gives the chain's head and the anchors of all chains.
func (db *DB) AuditEnds(ctx context.Context, org store.OrgID) (head store.AuditPlace, anchors []store.AuditAnchor, err error) {
	err = db.reads(ctx, "ends of the audit", func(tx *sql.Tx) error {
		if head, err = auditHead(ctx, tx, org); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, selectAnchors, org)
		if err != nil {
			return err
		}
		anchors, err = collect(rows, func(row scanner) (a store.AuditAnchor, err error) {
			err = row.Scan(&a.Repo, &a.Seq, (*hash)(&a.Hash))
			return a, err
		})
		return err
	})
	return head, anchors, err
}
