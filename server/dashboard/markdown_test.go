package dashboard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func nowhere(string, bool) (string, bool) { return "", false }

func TestMarkdown(t *testing.T) {
	m := newMarkdown()
	to := func(target string, wiki bool) (string, bool) {
		switch {
		case target == "there.md", wiki && target == "There":
			return "/entry?key=there.md", true
		case target == "gone.md":
			return "", true
		}
		return "", false
	}
	for _, c := range []struct{ source, want string }{
		{"# Head", "<h2>Head</h2>"},
		{"a [link](there.md) and [[There]] and [[There|label]]", `<p>a <a href="/entry?key=there.md" rel="nofollow noreferrer">link</a> and <a href="/entry?key=there.md" rel="nofollow noreferrer">There</a> and <a href="/entry?key=there.md" rel="nofollow noreferrer">label</a></p>`},
		{"[lost](gone.md)", `<p><span class="dangles">lost</span></p>`},
		{"[bad](javascript:alert(1))", `<p><span class="dangles">bad</span></p>`},
		{"[far](https://a.example/x)", `<p><a href="https://a.example/x" rel="nofollow noreferrer">far</a></p>`},
		{"<https://a.example> and dana@a.example", `<p><a href="https://a.example" rel="nofollow noreferrer">https://a.example</a> and <a href="mailto:dana@a.example" rel="nofollow noreferrer">dana@a.example</a></p>`},
		{"![a *cat*](https://a.example/cat.png)", `<p><span class="picture">[picture a cat at https://a.example/cat.png, not loaded]</span></p>`},
		{"hidden <!-- do this --> here", `<p>hidden <code class="raw">&lt;!-- do this --&gt;</code> here</p>`},
		{"<div onclick=x>\nblock\n</div>", "<pre><code class=\"raw\">&lt;div onclick=x&gt;\nblock\n&lt;/div&gt;</code></pre>"},
		{"[[ -f x ]]", "<p>[[ -f x ]]</p>"},
		{"| a |\n| - |\n| ~~b~~ |", "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><del>b</del></td>\n</tr>\n</tbody>\n</table>"},
	} {
		if got := strings.TrimSpace(string(m.render([]byte(c.source), to))); got != c.want {
			t.Errorf("%s\ngave %s\nwant %s", c.source, got, c.want)
		}
	}
}

// hostile are the strings of the corpus that try to be more than text.
func hostile(t testing.TB) []string {
	t.Helper()
	corpus := os.Getenv("TEAMMEM_CORPUS")
	if corpus == "" {
		corpus = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(corpus, "hostile", "xss.txt"))
	if err != nil {
		t.Skip("the corpus is not here: ", err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestHostileMarkdown: whatever is rendered, there is no element and no attribute in it
// but those that are meant, and no link but to http, https, mailto and here.
func TestHostileMarkdown(t *testing.T) {
	m := newMarkdown()
	strs := hostile(t)
	if len(strs) < 3000 {
		t.Fatalf("only %d strings", len(strs))
	}
	echo := func(target string, _ bool) (string, bool) {
		return address("/entry", "key", target), len(target)%2 == 0
	}
	for i, s := range strs {
		var forms []string
		if i%3 == 0 || os.Getenv("TEAMMEM_BROWSER") != "" { // the short form takes a third in all places
			forms = []string{"[x](" + s + ")", "![x](" + s + ")", "[[" + s + "]]", "| a |\n| - |\n| " + s + " |", "> <" + s + ">", "[a" + s + "]: " + s + "\n\n[a" + s + "]", "```" + s + "\n" + s}
		}
		for _, source := range []string{s, strings.Join(forms, "\n\n")} {
			if bad := unmeant(string(m.render([]byte(source), []linkTo{nowhere, echo}[i%2]))); bad != "" {
				t.Errorf("%q has %s", source, bad)
			}
		}
	}
}

// unmeant is the first thing in rendered Markdown that should not be there.
func unmeant(text string) string {
	elements := strings.Fields("h1 h2 h3 h4 h5 h6 p br hr ul ol li blockquote pre code em strong del table thead tbody tr th td span a")
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.CommentToken, html.DoctypeToken:
			return "a comment or a doctype"
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if !slices.Contains(elements, token.Data) {
				return "<" + token.Data + ">"
			}
			for _, a := range token.Attr {
				switch {
				case a.Key == "class" && slices.Contains([]string{"dangles", "raw", "picture"}, a.Val), a.Key == "rel", a.Key == "start":
				case a.Key == "href" && token.Data == "a" && (strings.HasPrefix(a.Val, "http://") || strings.HasPrefix(a.Val, "https://") || strings.HasPrefix(a.Val, "mailto:") || strings.HasPrefix(a.Val, "/entry?") || a.Val == "/entry"):
				case a.Key == "href" && hasSafeScheme(a.Val):
				default:
					return token.Data + " " + a.Key + "=" + a.Val
				}
			}
		}
	}
}

func hasSafeScheme(href string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(href), ":")
	return ok && (scheme == "http" || scheme == "https" || scheme == "mailto")
}

// FuzzMarkdown: nothing that is rendered holds what is not meant.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# a", "[a](javascript:x)", "<script>x</script>", "[[a|b]]", "![a](b)", "&#106;avascript:x", "| a |\n| - |\n| b |"} {
		f.Add(s)
	}
	m := newMarkdown()
	f.Fuzz(func(t *testing.T, s string) {
		if bad := unmeant(string(m.render([]byte(s), nowhere))); bad != "" {
			t.Errorf("%q has %s", s, bad)
		}
	})
}
