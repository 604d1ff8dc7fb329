package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	selectPolicy = `SELECT o.fingerprint_key, coalesce(p.version, 0), p.at, coalesce(p.user_name, ''), coalesce(p.token_uid, ''), coalesce(p.document, ''),
	EXISTS (SELECT 1 FROM redactions r WHERE r.org_id = o.id)
FROM organizations o LEFT JOIN policies p ON p.org_id = o.id WHERE o.id = $1 ORDER BY p.version DESC LIMIT 1`

	insertPolicy = `INSERT INTO policies (org_id, version, at, user_name, token_uid, document) VALUES ($1, $2, $3, $4, $5, $6)`

	insertFindings = `INSERT INTO findings (repo_id, version, key, n, rule, class, line, fingerprint)
SELECT $1, $2, f.* FROM unnest($3::text[], $4::integer[], $5::text[], $6::text[], $7::integer[], $8::text[]) AS f`

	// selectFindings takes whole keys: the first ones that have any.
	selectFindings = `WITH standing AS (
	SELECT f.key, f.version, f.n, f.rule, f.class, f.line, f.fingerprint FROM findings f
	JOIN entries e ON e.repo_id = f.repo_id AND e.key = f.key AND e.version = f.version AND NOT e.deleted
	WHERE f.repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2) AND f.key > $3)
SELECT key, version, rule, class, line, fingerprint FROM standing
WHERE key IN (SELECT DISTINCT key FROM standing ORDER BY key LIMIT $4) ORDER BY key, n`
)

// Policy reads the newest version.
func (db *DB) Policy(ctx context.Context, org store.OrgID) (p store.Policy, err error) {
	err = db.read(ctx, "policy", func(conn *pgxpool.Conn) error {
		var at *time.Time
		var document string
		row := conn.QueryRow(ctx, selectPolicy, int64(org))
		err := row.Scan((*hash)(&p.FingerprintKey), (*int64)(&p.Version), &at, &p.User, &p.TokenUID, &document, &p.Redacted)
		if document != "" {
			p.Document = []byte(document)
		}
		p.At = moment(at)
		return absent(err)
	})
	return p, err
}

// writePolicy adds a version. [store.ErrExists].
func (w administration) writePolicy(p *store.Policy) error {
	if p == nil {
		return nil
	}
	return w.exec(insertPolicy, int64(w.org), int64(p.Version), millis(p.At), p.User, p.TokenUID, string(p.Document))
}

// Findings lists what was found in the live entries.
func (db *DB) Findings(ctx context.Context, ref store.RepoRef, after api.Key, limit int) (all []store.Finding, err error) {
	err = db.read(ctx, "findings in "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, selectFindings, int64(ref.Org), string(ref.Slug), string(after), int64(limit))
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (f store.Finding, err error) {
			err = row.Scan((*string)(&f.Key), (*int64)(&f.Version), &f.Rule, (*string)(&f.Class), &f.Line, &f.Fingerprint)
			return f, err
		})
		return err
	})
	return all, err
}

// queueFindings queues what was found in the writes, as one array a column.
func queueFindings(batch *pgx.Batch, repo int64, version api.Version, findings []store.Finding) {
	if len(findings) == 0 {
		return
	}
	var keys, rules, classes, fingerprints []string
	var numbers, lines []int32
	for n, f := range findings {
		keys, rules, classes = append(keys, string(f.Key)), append(rules, f.Rule), append(classes, string(f.Class))
		fingerprints = append(fingerprints, f.Fingerprint)
		numbers, lines = append(numbers, int32(n)), append(lines, int32(f.Line))
	}
	batch.Queue(insertFindings, repo, int64(version), keys, numbers, rules, classes, lines, fingerprints)
}
