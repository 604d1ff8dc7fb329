package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	selectSearchLags = `SELECT r.slug, r.version, coalesce(s.version, 0), coalesce(s.key, '')
FROM repos r LEFT JOIN search_repos s ON s.repo_id = r.id
WHERE r.org_id = $1 AND r.version > 0 AND coalesce(s.version, 0) <= r.version ORDER BY r.slug`

	// placeSearch makes the row that the next statement moves, where there is none.
	placeSearch = `INSERT INTO search_repos (repo_id, version, key)
SELECT id, 0, '' FROM repos WHERE org_id = $1 AND slug = $2 ON CONFLICT DO NOTHING`

	moveSearch = `UPDATE search_repos SET version = $5, key = $6
WHERE repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2) AND version = $3 AND key = $4 RETURNING repo_id`

	// insertSearchDocs leaves out what was withdrawn. The caller shares the lock that
	// withdrawing holds alone.
	insertSearchDocs = `WITH given AS (
	SELECT * FROM unnest($3::text[], $4::bigint[], $5::bytea[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
		AS g (key, version, checksum, type, name, description, head, words, lexemes)
), added AS (
	INSERT INTO search_docs (repo_id, key, version, checksum, type, name, description)
	SELECT $1::bigint, key, version, checksum, type, name, description FROM given g
	WHERE NOT EXISTS (SELECT FROM redactions x WHERE x.org_id = $2 AND x.checksum = g.checksum)
	ON CONFLICT DO NOTHING RETURNING id, key, version
)
INSERT INTO search_words (id, head, words, lexemes)
SELECT a.id, g.head, g.words, array_to_tsvector(string_to_array(g.lexemes, ' ')) FROM added a JOIN given g ON g.key = a.key AND g.version = a.version`

	// What a search looks through, with and without words.
	amongWords = ` FROM search_words f JOIN search_docs d ON d.id = f.id`
	amongDocs  = ` FROM search_docs d`

	// The phrases of $8 stand in the head, or where $9 is false in the text.
	holdsWords = ` AND f.lexemes @@ $2::text::tsquery
AND NOT EXISTS (SELECT FROM unnest($8::text[]) p WHERE strpos(f.head, p) = 0 AND ($9::boolean OR strpos(f.words, p) = 0))`
	holdsNone = ` AND $2::text IS NOT NULL AND $8::text[] IS NOT NULL AND $9::boolean IS NOT NULL`

	searchJoins = ` JOIN repos r ON r.id = d.repo_id
JOIN versions v ON v.repo_id = d.repo_id AND v.version = d.version
LEFT JOIN entries e ON e.repo_id = d.repo_id AND e.key = d.key AND e.version = d.version AND NOT e.deleted
WHERE r.org_id = $1 AND r.slug = ANY ($3::text[]) AND ($10::boolean OR e.version IS NOT NULL)
AND ($4::text[] IS NULL OR d.type = ANY ($4)) AND ($5::bigint[] IS NULL OR v.user_id = ANY ($5))
AND ($6::timestamptz IS NULL OR v.at >= $6) AND ($7::timestamptz IS NULL OR v.at < $7)`

	// searchColumns are read of those only that the limit leaves.
	searchColumns = `SELECT x.slug, d.key, d.version, d.checksum, d.type, d.name, d.description, x.at, coalesce(m.name, ''), x.client, x.live,
	$6::timestamptz IS NOT NULL AND coalesce((SELECT NOT h.deleted FROM history h JOIN versions w ON w.repo_id = h.repo_id AND w.version = h.version
		WHERE h.repo_id = d.repo_id AND h.key = d.key AND w.at < $6 ORDER BY h.version DESC LIMIT 1), false)`
)

// SearchLags lists the repos of which the index lacks something.
func (db *DB) SearchLags(ctx context.Context, org store.OrgID) (all []store.SearchLag, err error) {
	err = db.read(ctx, "looking how far the index is", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) (l store.SearchLag, err error) {
			return l, row.Scan((*string)(&l.Slug), (*int64)(&l.Head), (*int64)(&l.Place.Version), (*string)(&l.Place.Key))
		}, selectSearchLags, int64(org))
		return err
	})
	return all, err
}

// AddSearchDocs adds to a repo's index. [store.ErrExists].
func (db *DB) AddSearchDocs(ctx context.Context, ref store.RepoRef, from, to store.SearchPlace, docs []store.SearchDoc) error {
	org, slug := int64(ref.Org), string(ref.Slug)
	return db.read(ctx, "adding to the index of "+slug, func(conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, setWrite, strconv.FormatInt(db.lockWait.Milliseconds(), 10), withdrawLock, int32(ref.Org)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, placeSearch, org, slug); err != nil {
				return err
			}
			var repo int64
			err := tx.QueryRow(ctx, moveSearch, org, slug, int64(from.Version), string(from.Key), int64(to.Version), string(to.Key)).Scan(&repo)
			if errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("from version %d: %w", from.Version, store.ErrExists)
			}
			if err != nil || len(docs) == 0 {
				return err
			}
			_, err = tx.Exec(ctx, insertSearchDocs, append([]any{repo, org}, searchColumnsOf(ref.Org, docs)...)...)
			return err
		})
	})
}

// searchColumnsOf turns documents into columns.
func searchColumnsOf(org store.OrgID, docs []store.SearchDoc) []any {
	n := len(docs)
	keys, versions, sums := make([]string, n), make([]int64, n), make([][]byte, n)
	types, names, descriptions := make([]string, n), make([]string, n), make([]string, n)
	heads, words, lexemes := make([]string, n), make([]string, n), make([]string, n)
	for i := range docs {
		d := &docs[i]
		keys[i], versions[i], sums[i] = string(d.Key), int64(d.Version), raw(d.Checksum)
		types[i], names[i], descriptions[i] = d.Type, d.Name, d.Description
		heads[i], words[i], lexemes[i] = d.Head, d.Words, lexemesOf(org, d)
	}
	return []any{keys, versions, sums, types, names, descriptions, heads, words, lexemes}
}

// lexemesOf lists a document's words, each once.
func lexemesOf(org store.OrgID, d *store.SearchDoc) string {
	var b strings.Builder
	b.WriteString(orgLexeme(org))
	seen := map[string]bool{}
	add := func(lexeme string) {
		if !seen[lexeme] {
			seen[lexeme] = true
			b.WriteByte(' ')
			b.WriteString(lexeme)
		}
	}
	for word := range strings.FieldsSeq(d.Head) {
		add(word)
		add("@" + word)
	}
	for word := range strings.FieldsSeq(d.Words) {
		add(word)
	}
	return b.String()
}

// orgLexeme is what keeps one organization's words apart from another's.
func orgLexeme(org store.OrgID) string { return fmt.Sprintf("=%d", org) }

var quoteLexeme = strings.NewReplacer(`'`, `''`, `\`, `\\`)

// matchOf is a query as the database reads one. Every word stands in quotes, so that
// none is read as anything but a word.
func matchOf(org store.OrgID, q store.SearchQuery) string {
	var b strings.Builder
	fmt.Fprintf(&b, "'%s'", orgLexeme(org))
	mark := ""
	if q.Head {
		mark = "@"
	}
	for _, term := range q.Terms {
		for _, word := range term.Words {
			fmt.Fprintf(&b, " & '%s%s'", mark, quoteLexeme.Replace(word))
		}
		if term.Prefix {
			b.WriteString(":*")
		}
	}
	return b.String()
}

// searchOf is the inner part of a search, up to the conditions, and its arguments.
func searchOf(org store.OrgID, q store.SearchQuery) (string, []any) {
	inner := amongDocs + searchJoins + holdsNone
	if len(q.Terms) > 0 {
		inner = amongWords + searchJoins + holdsWords
	}
	phrases := []string{}
	for _, term := range q.Terms {
		if len(term.Words) > 1 {
			phrases = append(phrases, " "+strings.Join(term.Words, " ")+" ")
		}
	}
	repos := make([]string, len(q.Repos))
	for i, slug := range q.Repos {
		repos[i] = string(slug)
	}
	var authors []int64
	if q.Authors != nil {
		authors = make([]int64, len(q.Authors))
		for i, user := range q.Authors {
			authors[i] = int64(user)
		}
	}
	return inner, []any{
		int64(org), matchOf(org, q), repos, q.Types, authors, instant(q.After), instant(q.Before), phrases, q.Head, q.Past, int64(q.Limit),
	}
}

// searches runs one query as of one instant, by the indexes.
func (db *DB) searches(ctx context.Context, operation string, fn func(tx pgx.Tx) error) error {
	return db.read(ctx, operation, func(conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, setSearch); err != nil {
				return err
			}
			return fn(tx)
		})
	})
}

// setSearch has each search planned for what it asks: whether a word is rare decides.
const setSearch = `SELECT set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`

// Search finds the newest versions that a query asks for.
func (db *DB) Search(ctx context.Context, org store.OrgID, q store.SearchQuery) (all []store.SearchHit, err error) {
	if !q.Plain() {
		return nil, nil
	}
	inner, arguments := searchOf(org, q)
	words, outer := ", '', ''", ""
	if !q.Bare {
		words, outer = ", f.head, f.words", " JOIN search_words f ON f.id = d.id"
	}
	query := searchColumns + words + " FROM (SELECT d.id, r.slug, v.at, v.user_id, v.client, e.version IS NOT NULL AS live" + inner +
		" ORDER BY v.at DESC, r.slug, d.key, d.version DESC LIMIT $11) x JOIN search_docs d ON d.id = x.id" + outer +
		" LEFT JOIN memberships m ON m.org_id = $1 AND m.user_id = x.user_id ORDER BY x.at DESC, x.slug, d.key, d.version DESC"
	err = db.searches(ctx, "searching", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, arguments...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanSearchHit)
		return err
	})
	return all, err
}

func scanSearchHit(row pgx.CollectableRow) (h store.SearchHit, err error) {
	err = row.Scan((*string)(&h.Repo), (*string)(&h.Key), (*int64)(&h.Version), (*checksum)(&h.Checksum), &h.Type, &h.Name, &h.Description, &h.At,
		&h.UserName, &h.Client, &h.Live, &h.Existed, &h.Head, &h.Words)
	h.At = h.At.UTC()
	return h, err
}

// CountSearch counts what a query finds, up to its limit.
func (db *DB) CountSearch(ctx context.Context, org store.OrgID, q store.SearchQuery) (n int, err error) {
	if !q.Plain() {
		return 0, nil
	}
	inner, arguments := searchOf(org, q)
	err = db.searches(ctx, "counting what is found", func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1"+inner+" LIMIT $11) found", arguments...).Scan(&n)
	})
	return n, err
}
