package sqlite

import (
	"context"
	"database/sql"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	selectPolicy = `SELECT o.fingerprint_key, p.version, p.at, p.user_name, p.token_uid, p.document,
	EXISTS (SELECT 1 FROM redactions r WHERE r.org_id = o.id)
FROM organizations o LEFT JOIN policies p ON p.org_id = o.id WHERE o.id = ? ORDER BY p.version DESC LIMIT 1`

	insertPolicy = `INSERT INTO policies (org_id, version, at, user_name, token_uid, document) VALUES (?, ?, ?, ?, ?, ?)`

	insertFinding = `INSERT INTO findings (repo_id, key, version, n, rule, class, line, fingerprint) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

	// selectFindings takes whole keys: the first ones that have any.
	selectFindings = `WITH repo AS (SELECT id FROM repos WHERE org_id = ?1 AND slug = ?2),
standing AS (
	SELECT f.key, f.version, f.n, f.rule, f.class, f.line, f.fingerprint FROM findings f
	JOIN entries e ON e.repo_id = f.repo_id AND e.key = f.key AND e.version = f.version AND e.deleted = 0
	WHERE f.repo_id = (SELECT id FROM repo) AND f.key > ?3)
SELECT key, version, rule, class, line, fingerprint FROM standing
WHERE key IN (SELECT DISTINCT key FROM standing ORDER BY key LIMIT ?4) ORDER BY key, n`
)

// Policy reads the newest version.
func (db *DB) Policy(ctx context.Context, org store.OrgID) (p store.Policy, err error) {
	var key hash
	var version sql.NullInt64
	var user, token, document sql.NullString
	err = db.reader.QueryRowContext(ctx, selectPolicy, int64(org)).Scan(&key, &version, (*moment)(&p.At), &user, &token, &document, &p.Redacted)
	if err != nil {
		return p, fail(ctx, "policy", err)
	}
	p.FingerprintKey, p.Version, p.User, p.TokenUID = key, api.Version(version.Int64), user.String, token.String
	if document.Valid {
		p.Document = []byte(document.String)
	}
	return p, nil
}

// writePolicy adds a version. [store.ErrExists].
func (w administration) writePolicy(p *store.Policy) error {
	if p == nil {
		return nil
	}
	return w.exec(insertPolicy, int64(w.org), int64(p.Version), p.At.UnixMilli(), p.User, p.TokenUID, string(p.Document))
}

// Findings lists what was found in the live entries.
func (db *DB) Findings(ctx context.Context, ref store.RepoRef, after api.Key, limit int) (all []store.Finding, err error) {
	err = db.reads(ctx, "findings in "+string(ref.Slug), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectFindings, int64(ref.Org), string(ref.Slug), string(after), limit)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (f store.Finding, err error) {
			err = row.Scan(&f.Key, &f.Version, &f.Rule, &f.Class, &f.Line, &f.Fingerprint)
			return f, err
		})
		return err
	})
	return all, err
}

// writeFindings writes what was found in the writes.
func (db *DB) writeFindings(ctx context.Context, tx *sql.Tx, head *store.Head, findings []store.Finding) error {
	for n, f := range findings {
		_, err := tx.ExecContext(ctx, insertFinding, int64(head.ID), string(f.Key), int64(head.Version), n, f.Rule, string(f.Class), f.Line, f.Fingerprint)
		if err != nil {
			return err
		}
	}
	return nil
}
