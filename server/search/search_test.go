package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                              " ",
		"Feedback_testing.md":           " feedback testing md ",
		"don't 1.27.3":                  " don t 1 27 3 ",
		"ＦＵＬＬ ｶﾞ":                       " full ガ ",
		"Straße ﬁne ½":                  " strasse fine 1 2 ",
		"cafe\u0301 caf\u00e9":          " café café ",
		"東京都":                           " 東京 京都 都 ",
		"Go言語で":                         " go 言語 語で で ",
		"서울에":                           " 서울 울에 에 ",
		"ภาษา":                          " ภา าษ ษา า ",
		"❤\ufe0f \u0301 ok":             " ok ",
		"a\u202eb\x00c":                 " a b c ",
		strings.Repeat("x", 99):         " " + strings.Repeat("x", 64) + " ",
		"\xff\xfe bad":                  " bad ",
		"ÀÉ МОСКВА Ωμέγα":               " àé москва ωμέγα ",
		"key: `a-b` [link](x/y.md) OR*": " key a b link x y md or ",
	} {
		if got := spaced(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// However a text is written, its words are plain for every database, and each stands
// where it says it does.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"a 東京 ﷺ½ ①", "İstanbul ǅ ŉ", "\u1100\u1161\u11a8", "\xf0\x28"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		split(text, func(w word) bool {
			if w.start < 0 || w.end > len(text) || w.start >= w.end || w.end < end || len(w.text) > maxWord || !utf8.ValidString(w.text) {
				t.Fatalf("%q: %+v behind %d", text, w, end)
			}
			if !(store.SearchQuery{Terms: []store.SearchTerm{{Words: []string{w.text}}}}).Plain() {
				t.Fatalf("%q: the word %q is not plain", text, w.text)
			}
			end = w.end
			return true
		})
		s := Snippet([]store.SearchTerm{{Words: []string{"a"}, Prefix: true}}, text)
		for _, m := range s.Marks {
			if m.Start < 0 || m.End > len(s.Text) || m.Start >= m.End {
				t.Fatalf("%q: mark %+v", text, m)
			}
		}
		if utf8.ValidString(text) && !utf8.ValidString(s.Text) {
			t.Fatalf("%q: the snippet %q is cut within a character", text, s.Text)
		}
	})
}

func TestParse(t *testing.T) {
	show := func(q Query) string {
		var parts []string
		for _, term := range q.Terms {
			s := strings.Join(term.Words, "+")
			if term.Prefix {
				s += "*"
			}
			parts = append(parts, s)
		}
		for name, list := range map[string][]string{"type": q.Types, "author": q.Authors, "repo": q.Repos} {
			if list != nil {
				parts = append(parts, name+"="+strings.Join(list, ","))
			}
		}
		if !q.After.IsZero() {
			parts = append(parts, "after="+api.NewTime(q.After).String())
		}
		if !q.Before.IsZero() {
			parts = append(parts, "before="+api.NewTime(q.Before).String())
		}
		slices.Sort(parts)
		return strings.Join(parts, " ")
	}
	for text, want := range map[string]string{
		"":                                 "",
		"Release by  hand":                 "by hand release",
		"rel*":                             "rel*",
		`"by hand*"`:                       "by+hand",
		`"not closed`:                      "not+closed",
		`a"b c"d`:                          "a b+c d",
		"feedback_testing.md":              "feedback+testing+md",
		"feedback_te*":                     "feedback te*",
		"東京都":                              "東京+京都",
		"東京*":                              "東京",
		"都":                                "都*",
		"Go言":                              "go 言*",
		"type:Feedback type:user x":        "type=feedback,user x",
		`author:"Dana Smith"`:              "author=Dana Smith",
		"repo:Acme/* REPO:web":             "repo=acme/*,web",
		"after:2026-11-01":                 "after=2026-11-01T00:00:00.000Z",
		"before:2026-11-30T18:00:00+01:00": "before=2026-11-30T17:00:00.000Z",
		"colour:red":                       "colour+red",
		"* - ( ) ^":                        "",
	} {
		q, err := Parse(text)
		if got := show(q); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"type:", `author:""`, "repo:[", "before:tomorrow", "after:0000-01-01", strings.Repeat("a ", 33), strings.Repeat("a", 1001), "\xff"} {
		_, err := Parse(text)
		if e, ok := api.AsError(err); !ok || e.Code != api.InvalidRequest || !strings.Contains(e.Message, "the question cannot be read: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAdmits(t *testing.T) {
	for _, c := range []struct {
		pattern, repo string
		want          bool
	}{
		{"acme/web", "acme/web", true},
		{"acme/web", "acme/webs", false},
		{"web", "acme/web", true},
		{"web", "acme/sub/web", true},
		{"acme", "acme/web", false},
		{"acme/*", "acme/web", true},
		{"acme/*", "acme/sub/web", false},
		{"acme/**", "acme/sub/web", true},
		{"**", "acme/web", true},
		{"w*", "acme/web", true},
		{"ac*/**", "acme/web", true},
		{"ac*/**", "acme/sub/web", false},
	} {
		if got := (Query{Repos: []string{c.pattern}}).Admits(api.RepoSlug(c.repo)); got != c.want {
			t.Errorf("%s admits %s: %v", c.pattern, c.repo, got)
		}
	}
	if !(Query{}).Admits("acme/web") {
		t.Error("without a pattern all are admitted")
	}
}

func TestRank(t *testing.T) {
	hit := func(key api.Key, head, words string) store.SearchHit {
		return store.SearchHit{SearchDoc: store.SearchDoc{Key: key, Head: spaced(head), Words: spaced(words)}}
	}
	terms := []store.SearchTerm{{Words: []string{"release"}}, {Words: []string{"ha"}, Prefix: true}}
	hits := []store.SearchHit{
		hit("once", "", "release hand and very many other words that are of no matter to anybody who asks"),
		hit("short", "", "release hand"),
		hit("again", "", "release hand"),
		hit("name", "release by hand", "release hand and very many other words that are of no matter to anybody who asks"),
		hit("often", "", "release release hand hand hand"),
	}
	Rank(terms, nil, hits)
	var got []string
	for _, h := range hits {
		got = append(got, string(h.Key))
	}
	if want := []string{"name", "often", "short", "again", "once"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if Weight(1, 100) <= Weight(50, 100) || Weight(0, 100) != Weight(1, 100) {
		t.Error("the rarer a word, the more it counts")
	}
	if n := count(" a a b a ", " a "); n != 3 {
		t.Errorf("words in a row that share a space: %d", n)
	}
}

func TestSnippet(t *testing.T) {
	long := "---\nname: x\ndescription: y\n---\n" + strings.Repeat("filler of no matter. ", 40) + "\nWe Ｒelease here; <i>by hand</i>, releases too.\n" + strings.Repeat("more filler. ", 40)
	for _, c := range []struct {
		question, content, text string
		marks                   []string
	}{
		{"release", "plain Release text", "plain Release text", []string{"Release"}},
		{"nothing", "---\nname: x\n---\n\n the beginning", "the beginning", nil},
		{"release hand", long, "We Ｒelease here; <i>by hand</i>, releases too.\n", []string{"Ｒelease", "hand"}},
		{"rel* hand", long, "We Ｒelease here; <i>by hand</i>, releases too.\n", []string{"Ｒelease", "hand", "releases"}},
		{`"by hand"`, long, "We Ｒelease here; <i>by hand</i>, releases too.\n", []string{"by hand"}},
		{"京都の", "東京都の天気", "東京都の天気", []string{"京都の"}},
		{"x", "", "", nil},
	} {
		q, err := Parse(c.question)
		if err != nil {
			t.Fatal(err)
		}
		s := Snippet(q.Terms, c.content)
		var marks []string
		for _, m := range s.Marks {
			marks = append(marks, s.Text[m.Start:m.End])
		}
		if !strings.HasPrefix(s.Text, c.text) || !slices.Equal(marks, c.marks) || len(s.Text) > snippetBytes {
			t.Errorf("%s: %q with %q, want %q with %q", c.question, s.Text, marks, c.text, c.marks)
		}
		if c.content == long && (!s.Before || !s.After) {
			t.Errorf("%s: %+v does not say that there is more", c.question, s)
		}
	}
}

func TestDocument(t *testing.T) {
	content := "---\nname: \"A \\t name\"\ndescription: D\ntype: Feedback\n---\nBody.\n"
	d := Document("team/a-b.md", 3, "sum", []byte(content))
	if d.Type != "feedback" || d.Description != "D" || !strings.HasPrefix(d.Head, " team a b md a ") || !strings.HasSuffix(d.Words, " body ") || d.Version != 3 {
		t.Errorf("%+v", d)
	}
	d = Document("k", 1, "sum", []byte("---\ndescription: a\x00b\x1b[31m"+strings.Repeat("é", 900)+"\n---\n"))
	if len(d.Description) > maxLine || strings.ContainsAny(d.Description, "\x00\x1b") || !utf8.ValidString(d.Description) {
		t.Errorf("%q", d.Description)
	}
	if d := Document("k", 1, "sum", []byte(strings.Repeat("word ", 200_000))); len(d.Words) > maxWords+maxWord+1 {
		t.Errorf("%d bytes of words are kept", len(d.Words))
	}
}

// A term that was made of a part of a text is found in that text, and marked there.
func TestWhatIsQuotedIsFound(t *testing.T) {
	letters := rapid.SampledFrom([]string{"a", "B", "é", "東", "京", "ガ", "서", " ", "-", "\n", "1", "ß"})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(letters, 1, 20).Draw(t, "parts")
		text := strings.Join(parts, "")
		from := rapid.IntRange(0, len(parts)-1).Draw(t, "from")
		// A part that begins and ends with a word: the words around it are left whole.
		if from > 0 && parts[from-1] != " " {
			return
		}
		to := from
		for to < len(parts) && parts[to] != " " {
			to++
		}
		q, err := Parse(`"` + strings.Join(parts[from:to], "") + `"`)
		if err != nil {
			t.Fatal(err)
		}
		words := spaced(text)
		for _, term := range q.Terms {
			if !strings.Contains(words, textOf(term)) {
				t.Fatalf("%q: %q holds no %q", text, words, textOf(term))
			}
		}
		if len(q.Terms) > 0 && len(Snippet(q.Terms, text).Marks) == 0 {
			t.Fatalf("%q: no mark for %+v", text, q.Terms)
		}
	})
}
