package dashboard_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// checkHTML holds a page against what a browser would otherwise mend in silence: what
// the standard's parser makes of it must be what was written. It also refuses what the
// content policy would, names that stand twice, and labels of nothing.
func checkHTML(t *testing.T, name, text string) {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var again bytes.Buffer
	if err := html.Render(&again, tree); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	wrote, read := tags(text), tags(again.String())
	for i := range max(len(wrote), len(read)) {
		if i >= len(wrote) || i >= len(read) || wrote[i] != read[i] {
			t.Errorf("%s: the page has %q where a parser reads %q", name, around(wrote, i), around(read, i))
			break
		}
	}
	ids := map[string]bool{}
	var labels []string
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "id" && (ids[a.Val] || a.Val == ""):
				t.Errorf("%s: the id %q stands twice or is empty", name, a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "for":
				labels = append(labels, a.Val)
			case strings.HasPrefix(a.Key, "on"), a.Key == "style":
				t.Errorf("%s: <%s> has %s", name, n.Data, a.Key)
			case (a.Key == "href" || a.Key == "action" || a.Key == "src" || a.Key == "formaction") && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:"):
				t.Errorf("%s: <%s> leads to %s", name, n.Data, a.Val)
			}
		}
		if n.Data == "style" || n.Data == "script" && n.FirstChild != nil {
			t.Errorf("%s: there is <%s> in the page", name, n.Data)
		}
	}
	for _, l := range labels {
		if !ids[l] {
			t.Errorf("%s: there is a label for %q, which is not there", name, l)
		}
	}
}

// tags are the tags of a page, in order.
func tags(text string) (all []string) {
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return all
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			var names []string
			for _, a := range token.Attr {
				names = append(names, a.Key)
			}
			if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
				all = append(all, "an attribute twice")
			}
			all = append(all, fmt.Sprintf("<%s %v>", token.Data, names))
		case html.EndTagToken:
			all = append(all, "</"+z.Token().Data+">")
		}
	}
}

func around(all []string, i int) []string { return all[max(0, min(i-3, len(all))):min(i+3, len(all))] }
