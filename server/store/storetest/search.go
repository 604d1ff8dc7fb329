package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// spaced is a text as the index keeps one: the suite's texts are words already.
func spaced(text string) string { return " " + strings.Join(strings.Fields(text), " ") + " " }

// index adds what edits of a version wrote to the index of the world's repo.
func (w *world) index(t *testing.T, from, to store.SearchPlace, docs ...store.SearchDoc) {
	t.Helper()
	if err := w.store.AddSearchDocs(t.Context(), w.ref, from, to, docs); err != nil {
		t.Fatalf("AddSearchDocs from %v: %v", from, err)
	}
}

func doc(key api.Key, version api.Version, text string) store.SearchDoc {
	return store.SearchDoc{
		Key: key, Version: version, Checksum: api.ChecksumOfString(text), Type: "project", Name: "name of " + string(key), Description: "says " + text,
		Head: spaced(strings.NewReplacer("/", " ", ".", " ").Replace(string(key))), Words: spaced(text),
	}
}

// filled commits each text as a version of its own, and indexes all of them.
func (w *world) filled(t *testing.T, edits ...edit) []store.SearchDoc {
	t.Helper()
	var docs []store.SearchDoc
	for _, e := range edits {
		head := w.commit(t, e)
		if !e.deleted {
			docs = append(docs, doc(e.key, head.Version, e.content))
		}
	}
	w.index(t, store.SearchPlace{}, store.SearchPlace{Version: w.head(t).Version + 1}, docs...)
	return docs
}

// terms reads the suite's own notation: words in a row, and a star for a beginning.
func terms(texts ...string) (all []store.SearchTerm) {
	for _, text := range texts {
		text, prefix := strings.CutSuffix(text, "*")
		all = append(all, store.SearchTerm{Words: strings.Fields(text), Prefix: prefix})
	}
	return all
}

// found lists what a query finds, as key@version.
func (w *world) found(t *testing.T, q store.SearchQuery) []string {
	t.Helper()
	if q.Repos == nil {
		q.Repos = []api.RepoSlug{w.ref.Slug}
	}
	if q.Limit == 0 {
		q.Limit = 99
	}
	hits, err := w.store.Search(t.Context(), w.ref.Org, q)
	if err != nil {
		t.Fatalf("Search %+v: %v", q, err)
	}
	n, err := w.store.CountSearch(t.Context(), w.ref.Org, q)
	if err != nil || n != len(hits) {
		t.Errorf("CountSearch %+v: %d, %v; Search finds %d", q, n, err, len(hits))
	}
	list := []string{}
	for _, h := range hits {
		list = append(list, fmt.Sprintf("%s@%d", h.Key, h.Version))
	}
	return list
}

func (w *world) wantFound(t *testing.T, what string, q store.SearchQuery, want ...string) {
	t.Helper()
	if got := w.found(t, q); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// testSearchIndex: the index says how far it goes, and goes on from there once.
func testSearchIndex(t *testing.T, w *world) {
	ctx := t.Context()
	lags := func(want ...store.SearchLag) {
		t.Helper()
		if got, err := w.store.SearchLags(ctx, w.org.ID); err != nil || !slices.Equal(got, want) {
			t.Errorf("SearchLags: %+v, %v; want %+v", got, err, want)
		}
	}
	lags()
	w.commit(t, write("a", "alpha"), write("b", "beta"))
	lags(store.SearchLag{Slug: w.ref.Slug, Head: 1})
	middle, end := store.SearchPlace{Version: 1, Key: "a"}, store.SearchPlace{Version: 2}
	w.index(t, store.SearchPlace{}, middle, doc("a", 1, "alpha"))
	lags(store.SearchLag{Slug: w.ref.Slug, Head: 1, Place: middle})
	for _, from := range []store.SearchPlace{{}, {Version: 1}, end} {
		if err := w.store.AddSearchDocs(ctx, w.ref, from, end, []store.SearchDoc{doc("b", 1, "beta")}); !errors.Is(err, store.ErrExists) {
			t.Errorf("AddSearchDocs from %+v: %v, want ErrExists", from, err)
		}
	}
	w.wantFound(t, "what was not added", store.SearchQuery{Terms: terms("beta")})
	w.index(t, middle, end, doc("b", 1, "beta"))
	lags()
	w.wantFound(t, "what was added", store.SearchQuery{Terms: terms("beta")}, "b@1")
	w.commit(t, remove("a"))
	lags(store.SearchLag{Slug: w.ref.Slug, Head: 2, Place: end})
	w.index(t, end, store.SearchPlace{Version: 3}) // a deletion has no words
	lags()
	w.index(t, store.SearchPlace{Version: 3}, store.SearchPlace{Version: 4}, doc("b", 1, "beta")) // a second time
	w.wantFound(t, "what was added twice", store.SearchQuery{Terms: terms("beta")}, "b@1")
}

// testSearch: words, beginnings and words in a row, in the head and in the text, of
// what stands and of what stood.
func testSearch(t *testing.T, w *world) {
	docs := w.filled(t,
		write("deploy/rollback.md", "release by hand then watch"),
		write("notes.md", "the release was rolled back by hand"),
		write("tokyo.md", "東京 京都 都 release"),
		write("notes.md", "nothing of it"),
		write("gone.md", "release of the kraken"), remove("gone.md"))
	hits, err := w.store.Search(t.Context(), w.org.ID, store.SearchQuery{Repos: []api.RepoSlug{w.ref.Slug}, Terms: terms("watch"), Limit: 9})
	want := store.SearchHit{SearchDoc: docs[0], Repo: w.ref.Slug, At: at(1), UserName: "dana", Client: w.author.Client, Live: true}
	if err != nil || len(hits) != 1 || !reflect.DeepEqual(hits[0], want) {
		t.Errorf("a hit: %+v, %v; want %+v", hits, err, want)
	}
	for _, c := range []struct {
		terms []store.SearchTerm
		now   []string
		ever  []string // nil: as now
	}{
		{terms("release"), []string{"tokyo.md@3", "deploy/rollback.md@1"}, []string{"gone.md@5", "tokyo.md@3", "notes.md@2", "deploy/rollback.md@1"}},
		{terms("rel*"), []string{"tokyo.md@3", "deploy/rollback.md@1"}, []string{"gone.md@5", "tokyo.md@3", "notes.md@2", "deploy/rollback.md@1"}},
		{terms("release", "hand"), []string{"deploy/rollback.md@1"}, []string{"notes.md@2", "deploy/rollback.md@1"}},
		{terms("by hand"), []string{"deploy/rollback.md@1"}, []string{"notes.md@2", "deploy/rollback.md@1"}},
		{terms("hand by"), nil, nil},
		{terms("releas"), nil, nil},
		{terms("rollback"), []string{"deploy/rollback.md@1"}, nil}, // of the key
		{terms("rollback", "watch"), []string{"deploy/rollback.md@1"}, nil},
		{terms("rollback watch"), nil, nil}, // not in a row: one is in the head
		{terms("東京 京都"), []string{"tokyo.md@3"}, nil},
		{terms("京*"), []string{"tokyo.md@3"}, nil},
		{terms("kraken"), nil, []string{"gone.md@5"}},
		{nil, []string{"notes.md@4", "tokyo.md@3", "deploy/rollback.md@1"}, []string{"gone.md@5", "notes.md@4", "tokyo.md@3", "notes.md@2", "deploy/rollback.md@1"}},
	} {
		w.wantFound(t, fmt.Sprint(c.terms), store.SearchQuery{Terms: c.terms}, c.now...)
		if c.ever == nil {
			c.ever = c.now
		}
		w.wantFound(t, fmt.Sprint("ever ", c.terms), store.SearchQuery{Terms: c.terms, Past: true}, c.ever...)
	}
	w.wantFound(t, "in the head", store.SearchQuery{Terms: terms("release"), Head: true})
	w.wantFound(t, "in the head", store.SearchQuery{Terms: terms("roll*"), Head: true}, "deploy/rollback.md@1")
	w.wantFound(t, "the newest", store.SearchQuery{Terms: terms("release"), Limit: 1}, "tokyo.md@3")
	hits, err = w.store.Search(t.Context(), w.org.ID, store.SearchQuery{Repos: []api.RepoSlug{w.ref.Slug}, Terms: terms("watch"), Bare: true, Limit: 9})
	if err != nil || len(hits) != 1 || hits[0].Words != "" || hits[0].Head != "" || hits[0].Name != docs[0].Name {
		t.Errorf("without words: %+v, %v", hits, err)
	}
}

// testSearchFilters: types, authors, times and repos, and what stood before a time.
func testSearchFilters(t *testing.T, w *world) {
	ctx := t.Context()
	token, err := w.store.CreateToken(ctx, newToken(w.org.ID, "ada"))
	if err != nil {
		t.Fatalf("CreateToken: %v", err)
	}
	w.commit(t, write("a", "word"))
	w.commit(t, write("b", "word"))
	w.author.User = token.User
	w.commit(t, write("a", "word again"))
	docs := []store.SearchDoc{doc("a", 1, "word"), doc("b", 2, "word"), doc("a", 3, "word again")}
	docs[1].Type = "feedback"
	w.index(t, store.SearchPlace{}, store.SearchPlace{Version: 4}, docs...)
	other := *w
	other.ref.Slug = "acme/other"
	other.filled(t, write("c", "word"))
	both := []api.RepoSlug{"acme/widgets", "acme/other", "acme/none"}
	for _, q := range []struct {
		query store.SearchQuery
		want  []string
	}{
		{store.SearchQuery{Repos: both}, []string{"a@3", "b@2", "c@1"}},
		{store.SearchQuery{Repos: []api.RepoSlug{}}, nil},
		{store.SearchQuery{Types: []string{"feedback", "user"}}, []string{"b@2"}},
		{store.SearchQuery{Types: []string{}}, nil},
		{store.SearchQuery{Authors: []store.UserID{w.token.User}}, []string{"b@2"}},
		{store.SearchQuery{Authors: []store.UserID{token.User}}, []string{"a@3"}},
		{store.SearchQuery{Authors: []store.UserID{}}, nil},
		{store.SearchQuery{After: at(2)}, []string{"a@3", "b@2"}},
		{store.SearchQuery{Before: at(3)}, []string{"b@2"}},
		{store.SearchQuery{Before: at(3), Past: true}, []string{"b@2", "a@1"}},
	} {
		w.wantFound(t, fmt.Sprintf("%+v", q.query), q.query, q.want...)
		q.query.Terms = terms("word")
		w.wantFound(t, fmt.Sprintf("%+v", q.query), q.query, q.want...)
	}
	hits, err := w.store.Search(ctx, w.org.ID, store.SearchQuery{Repos: both[:1], After: at(2), Limit: 9})
	if err != nil || len(hits) != 2 || !hits[0].Existed || hits[1].Existed {
		t.Errorf("what is new: %+v, %v", hits, err)
	}
}

// testSearchHostile: whatever a word holds, it is a word.
func testSearchHostile(t *testing.T, w *world) {
	strange := []string{`"`, `'`, `\`, `*`, `a:b`, `{words}`, `head:x`, `-x`, `^x`, `(`, `)`, `&`, `|`, `!`, `<->`, `:*`, `%`, `_`, `''; drop`, "=1", "@x", "a b", ""}
	w.filled(t, write("a", "plain words a b o1 or not near head x"))
	for _, word := range []string{"or", "not", "near", "head", "o1"} {
		w.wantFound(t, word, store.SearchQuery{Terms: terms(word)}, "a@1")
	}
	for _, word := range strange {
		for _, prefix := range []bool{false, true} {
			w.wantFound(t, word, store.SearchQuery{Terms: []store.SearchTerm{{Words: []string{word}, Prefix: prefix}}})
			w.wantFound(t, "x "+word, store.SearchQuery{Terms: []store.SearchTerm{{Words: []string{"x", word}}}})
		}
	}
}

// testSearchRedaction: with what is withdrawn go its words, in the same transaction,
// and they do not come back.
func testSearchRedaction(t *testing.T, w *world) {
	ctx := t.Context()
	docs := w.filled(t, write("a", "secret word"), write("b", "secret other"), write("a", "clean word"))
	sum := docs[0].Checksum
	ever := store.SearchQuery{Terms: terms("secret"), Past: true}
	if err := w.store.Withdraw(ctx, w.org.ID, []store.Redaction{{Checksum: sum, At: at(4), User: "ada", Reason: "leaked"}}); err != nil {
		t.Fatalf("Withdraw: %v", err)
	}
	w.wantFound(t, "before the redaction", ever, "b@2", "a@1")
	w.redact(t, sum)
	w.wantFound(t, "after the redaction", ever, "b@2")
	place := store.SearchPlace{Version: 4}
	w.index(t, place, store.SearchPlace{Version: 5}, docs[0])
	w.wantFound(t, "added once more", ever, "b@2")

	if err := w.store.Withdraw(ctx, w.org.ID, []store.Redaction{{Checksum: docs[1].Checksum, At: at(5), User: "ada", Reason: "leaked"}}); err != nil {
		t.Fatalf("Withdraw: %v", err)
	}
	if err := w.store.Erase(ctx, w.org.ID, []api.Checksum{docs[1].Checksum}); err != nil {
		t.Fatalf("Erase: %v", err)
	}
	w.wantFound(t, "erased", ever)
	w.wantFound(t, "the others", store.SearchQuery{Terms: terms("word")}, "a@3")
}

// testSearchTenancy: nothing of another organization is found, whatever is asked for.
func testSearchTenancy(t *testing.T, w *world) {
	w.filled(t, write("a", "ours alone"))
	other := newWorld(t, w.store)
	other.filled(t, write("b", "theirs alone"))
	for _, q := range []store.SearchQuery{{Terms: terms("alone")}, {Terms: terms("al*"), Past: true}, {Past: true}} {
		w.wantFound(t, "of ours", q, "a@1")
		other.wantFound(t, "of theirs", q, "b@1")
	}
}

// testSearchModel compares with a search through all texts, one after another.
func testSearchModel(t *testing.T, w *world) {
	vocabulary := []string{"a", "ab", "abc", "b", "ba", "京都", "都", "é", "straße"}
	word := rapid.SampledFrom(vocabulary)
	random := rand.New(rand.NewPCG(6, 6))
	var edits []edit
	for range 40 {
		words := make([]string, 1+random.IntN(5))
		for i := range words {
			words[i] = vocabulary[random.IntN(len(vocabulary))]
		}
		key := []api.Key{"a.md", "abc/b.md", "都.md", "ba/é.md", "ab.md"}[random.IntN(5)]
		edits = append(edits, write(key, strings.Join(words, " ")))
	}
	docs := w.filled(t, edits...)
	live := map[api.Key]api.Version{}
	for _, d := range docs {
		live[d.Key] = d.Version
	}
	rapid.Check(t, func(rt *rapid.T) {
		q := store.SearchQuery{Past: rapid.Bool().Draw(rt, "past"), Head: rapid.Bool().Draw(rt, "head"), Limit: rapid.IntRange(1, 50).Draw(rt, "limit")}
		for range rapid.IntRange(0, 3).Draw(rt, "terms") {
			term := store.SearchTerm{Words: rapid.SliceOfN(word, 1, 2).Draw(rt, "words")}
			term.Prefix = len(term.Words) == 1 && rapid.Bool().Draw(rt, "prefix")
			q.Terms = append(q.Terms, term)
		}
		if got, want := w.found(t, q), naiveSearch(docs, live, q); !slices.Equal(got, want) {
			rt.Fatalf("%+v: %v, want %v", q, got, want)
		}
	})
}

func naiveSearch(docs []store.SearchDoc, live map[api.Key]api.Version, q store.SearchQuery) []string {
	var hits []store.SearchDoc
	for _, d := range docs {
		ok := q.Past || live[d.Key] == d.Version
		for _, term := range q.Terms {
			ok = ok && (holdsTerm(strings.Fields(d.Head), term) || !q.Head && holdsTerm(strings.Fields(d.Words), term))
		}
		if ok {
			hits = append(hits, d)
		}
	}
	slices.SortFunc(hits, func(a, b store.SearchDoc) int { return cmp.Compare(b.Version, a.Version) })
	list := []string{}
	for _, d := range hits[:min(len(hits), q.Limit)] {
		list = append(list, fmt.Sprintf("%s@%d", d.Key, d.Version))
	}
	return list
}

func holdsTerm(words []string, term store.SearchTerm) bool {
	for i := range words {
		rest := words[i:]
		if term.Prefix && strings.HasPrefix(rest[0], term.Words[0]) {
			return true
		}
		if !term.Prefix && len(rest) >= len(term.Words) && slices.Equal(rest[:len(term.Words)], term.Words) {
			return true
		}
	}
	return false
}
