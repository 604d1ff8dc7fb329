package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/teammem/teammem/server/store"
)

const (
	selectSearchLags = `SELECT r.slug, r.version, coalesce(s.version, 0), coalesce(s.key, '')
FROM repos r LEFT JOIN search_repos s ON s.repo_id = r.id
WHERE r.org_id = ? AND r.version > 0 AND coalesce(s.version, 0) <= r.version ORDER BY r.slug`

	selectSearchPlace = `SELECT r.id, coalesce(s.version, 0), coalesce(s.key, '')
FROM repos r LEFT JOIN search_repos s ON s.repo_id = r.id WHERE r.org_id = ? AND r.slug = ?`

	upsertSearchPlace = `INSERT INTO search_repos (repo_id, version, key) VALUES (?, ?, ?)
ON CONFLICT (repo_id) DO UPDATE SET version = excluded.version, key = excluded.key`

	// insertSearchDoc leaves out what was withdrawn. An id is the time of the version in
	// milliseconds, and the place among those of that time in its low 20 bits: a search
	// for the newest reads from the highest id down, and stops when it has enough.
	insertSearchDoc = `INSERT INTO search_docs (id, repo_id, key, version, checksum, type, name, description)
SELECT coalesce((SELECT x.id + 1 FROM search_docs x WHERE x.id BETWEEN v.at << 20 AND (v.at << 20) + 1048575 ORDER BY x.id DESC LIMIT 1), v.at << 20),
	?1, ?3, ?4, ?5, ?6, ?7, ?8 FROM versions v
WHERE v.repo_id = ?1 AND v.version = ?4 AND NOT EXISTS (SELECT 1 FROM redactions WHERE org_id = ?2 AND checksum = ?5)
ON CONFLICT DO NOTHING RETURNING id`

	insertSearchWords = `INSERT INTO search_words (rowid, org, head, words) VALUES (?, ?, ?, ?)`

	// What a search looks through, with and without words. ?1 is the organization, ?2
	// the expression for FTS5. The joins are crossed so that they are done in this order:
	// by id, and no further than needed.
	amongWords = ` FROM search_words f CROSS JOIN search_docs d ON d.id = f.rowid`
	amongDocs  = ` FROM search_docs d`

	// The phrases of ?8 stand in the head, or with ?9 = 0 in the text. The texts are read
	// from the table in which FTS5 keeps them, which is quicker than through FTS5: c1 is
	// the head, c2 the words.
	holdsPhrases = ` AND NOT EXISTS (SELECT 1 FROM json_each(?8) p WHERE instr(c.c1, p.value) = 0 AND (?9 OR instr(c.c2, p.value) = 0))`

	searchJoins = ` CROSS JOIN repos r ON r.id = d.repo_id
LEFT JOIN entries e ON e.repo_id = d.repo_id AND e.key = d.key AND e.version = d.version AND e.deleted = 0`
	// joinVersions is for what is asked of authors only: the times are in the ids.
	joinVersions = ` CROSS JOIN versions v ON v.repo_id = d.repo_id AND v.version = d.version AND v.user_id IN (SELECT value FROM json_each(?5))`

	searchFilters = ` WHERE r.org_id = ?1 AND r.slug IN (SELECT value FROM json_each(?3)) AND (?10 OR e.version IS NOT NULL)
AND (?4 IS NULL OR d.type IN (SELECT value FROM json_each(?4)))`

	// sortFound sorts the ids found, and leaves as many as are wanted.
	sortFound = ` FROM (SELECT d.id, r.slug, v.at, v.user_id, v.client, e.version IS NOT NULL AS live
	FROM found CROSS JOIN search_docs d ON d.id = found.id CROSS JOIN repos r ON r.id = d.repo_id
	CROSS JOIN versions v ON v.repo_id = d.repo_id AND v.version = d.version
	LEFT JOIN entries e ON e.repo_id = d.repo_id AND e.key = d.key AND e.version = d.version AND e.deleted = 0
	ORDER BY v.at DESC, r.slug, d.key, d.version DESC LIMIT ?11) x JOIN search_docs d ON d.id = x.id`

	// searchColumns are read of those only that the limit leaves. The index is named: left
	// to itself SQLite goes back through the whole repo for each of them.
	searchColumns = `SELECT x.slug, d.key, d.version, d.checksum, d.type, d.name, d.description, x.at, coalesce(m.name, ''), x.client, x.live,
	?6 IS NOT NULL AND coalesce((SELECT h.deleted = 0 FROM history h INDEXED BY history_of_key JOIN versions w ON w.repo_id = h.repo_id AND w.version = h.version
		WHERE h.repo_id = d.repo_id AND h.key = d.key AND w.at < ?6 ORDER BY h.version DESC LIMIT 1), 0)`
)

// SearchLags lists the repos of which the index lacks something.
func (db *DB) SearchLags(ctx context.Context, org store.OrgID) (all []store.SearchLag, err error) {
	err = db.reads(ctx, "looking how far the index is", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectSearchLags, int64(org))
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (l store.SearchLag, err error) {
			return l, row.Scan(&l.Slug, &l.Head, &l.Place.Version, &l.Place.Key)
		})
		return err
	})
	return all, err
}

// AddSearchDocs adds to a repo's index. [store.ErrExists].
func (db *DB) AddSearchDocs(ctx context.Context, ref store.RepoRef, from, to store.SearchPlace, docs []store.SearchDoc) error {
	return db.change(ctx, "adding to the index of "+string(ref.Slug), func(ctx context.Context, tx *sql.Tx) error {
		var repo int64
		var stands store.SearchPlace
		if err := tx.QueryRowContext(ctx, selectSearchPlace, int64(ref.Org), string(ref.Slug)).Scan(&repo, &stands.Version, &stands.Key); err != nil {
			return err
		}
		if stands != from {
			return fmt.Errorf("from version %d: %w", from.Version, store.ErrExists)
		}
		if _, err := tx.ExecContext(ctx, upsertSearchPlace, repo, int64(to.Version), string(to.Key)); err != nil {
			return err
		}
		return addSearchDocs(ctx, tx, ref.Org, repo, docs)
	})
}

func addSearchDocs(ctx context.Context, tx *sql.Tx, org store.OrgID, repo int64, docs []store.SearchDoc) error {
	doc, err := tx.PrepareContext(ctx, insertSearchDoc)
	if err != nil {
		return err
	}
	defer func() { _ = doc.Close() }()
	words, err := tx.PrepareContext(ctx, insertSearchWords)
	if err != nil {
		return err
	}
	defer func() { _ = words.Close() }()
	for i := range docs {
		d := &docs[i]
		var id int64
		err := doc.QueryRowContext(ctx, repo, int64(org), string(d.Key), int64(d.Version), raw(d.Checksum), d.Type, d.Name, d.Description).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := words.ExecContext(ctx, id, orgWord(org), d.Head, d.Words); err != nil {
			return err
		}
	}
	return nil
}

// orgWord is what keeps one organization's words apart from another's.
func orgWord(org store.OrgID) string { return fmt.Sprintf("o%d", org) }

// matchOf is a query for FTS5. Every word stands in quotes, so that none is read as
// anything but a word.
func matchOf(org store.OrgID, q store.SearchQuery) string {
	var b strings.Builder
	columns := "{head words}"
	if q.Head {
		columns = "{head}"
	}
	fmt.Fprintf(&b, `org : "%s"`, orgWord(org))
	for _, term := range q.Terms {
		for _, word := range term.Words {
			fmt.Fprintf(&b, ` AND %s : "%s"`, columns, strings.ReplaceAll(word, `"`, `""`))
		}
		if term.Prefix {
			b.WriteString(" *")
		}
	}
	return b.String()
}

// phrasesOf are the terms of several words, as they stand in a text.
func phrasesOf(terms []store.SearchTerm) []string {
	phrases := []string{}
	for _, term := range terms {
		if len(term.Words) > 1 {
			phrases = append(phrases, " "+strings.Join(term.Words, " ")+" ")
		}
	}
	return phrases
}

// jsonOf is a list on its way into a statement; nil is NULL.
func jsonOf[T any](list []T) any {
	if list == nil {
		return nil
	}
	text, _ := json.Marshal(list) // strings and numbers: it cannot fail
	return string(text)
}

// searchOf is the inner part of a search, up to the conditions, its arguments, and the
// id that it goes by.
func searchOf(org store.OrgID, q store.SearchQuery) (inner string, arguments []any, id string) {
	from, where, match := amongDocs, searchFilters, any(nil)
	id = "d.id"
	if len(q.Terms) > 0 {
		from, match = amongWords, matchOf(org, q)
		where += " AND search_words MATCH ?2"
		id = "f.rowid"
	}
	joins := searchJoins
	if q.Authors != nil {
		joins += joinVersions
	}
	phrases := phrasesOf(q.Terms)
	if len(phrases) > 0 {
		joins += " CROSS JOIN search_words_content c ON c.id = d.id"
		where += holdsPhrases
	}
	if !q.After.IsZero() {
		where += " AND " + id + " >= ?6 << 20"
	}
	if !q.Before.IsZero() {
		where += " AND " + id + " < ?7 << 20"
	}
	repos := make([]string, len(q.Repos))
	for i, slug := range q.Repos {
		repos[i] = string(slug)
	}
	return from + joins + where, []any{
		int64(org), match, jsonOf(repos), jsonOf(q.Types), jsonOf(q.Authors), instant(q.After), instant(q.Before),
		jsonOf(phrases), q.Head, q.Past, q.Limit,
	}, id
}

// searchFor is the statement of a search. The newest are found by their ids, and with
// the last of them those of its time, of which the sorting decides.
func searchFor(org store.OrgID, q store.SearchQuery) (string, []any) {
	inner, arguments, id := searchOf(org, q)
	with := "WITH newest AS MATERIALIZED (SELECT " + id + " AS id" + inner + " ORDER BY " + id + " DESC LIMIT ?11), " +
		"found AS MATERIALIZED (SELECT id FROM newest UNION ALL SELECT " + id + inner + " AND " + id + " < (SELECT min(id) FROM newest) AND " +
		id + " >= (SELECT CASE count(*) WHEN ?11 THEN min(id) >> 20 << 20 ELSE min(id) END FROM newest)) "
	words, outer := ", '', ''", ""
	if !q.Bare {
		words, outer = ", c.c1, c.c2", " JOIN search_words_content c ON c.id = d.id"
	}
	return with + searchColumns + words + sortFound + outer +
		" LEFT JOIN memberships m ON m.org_id = ?1 AND m.user_id = x.user_id ORDER BY x.at DESC, x.slug, d.key, d.version DESC", arguments
}

// Search finds the newest versions that a query asks for.
func (db *DB) Search(ctx context.Context, org store.OrgID, q store.SearchQuery) (all []store.SearchHit, err error) {
	if !q.Plain() {
		return nil, nil
	}
	query, arguments := searchFor(org, q)
	err = db.reads(ctx, "searching", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, arguments...)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (h store.SearchHit, err error) {
			err = row.Scan(&h.Repo, &h.Key, &h.Version, (*checksum)(&h.Checksum), &h.Type, &h.Name, &h.Description, (*moment)(&h.At),
				&h.UserName, &h.Client, &h.Live, &h.Existed, &h.Head, &h.Words)
			return h, err
		})
		return err
	})
	return all, err
}

// CountSearch counts what a query finds, up to its limit.
func (db *DB) CountSearch(ctx context.Context, org store.OrgID, q store.SearchQuery) (n int, err error) {
	if !q.Plain() {
		return 0, nil
	}
	inner, arguments, _ := searchOf(org, q)
	err = db.reads(ctx, "counting what is found", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1"+inner+" LIMIT ?11)", arguments...).Scan(&n)
	})
	return n, err
}
