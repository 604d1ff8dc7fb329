package dashboard

import (
	"bytes"
	"html/template"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown renders what agents wrote. Raw HTML is shown as the text that it is: what a
// browser would hide, an agent reads. Pictures are not loaded but named. Headings stand
// one below those of the page.
type markdown struct {
	policy *bluemonday.Policy
}

// linkTo finds where a link of an entry leads: the address of another entry, or ""
// for one that leads nowhere. known is false for what is no link between entries.
type linkTo func(target string, wiki bool) (address string, known bool)

func newMarkdown() *markdown {
	p := bluemonday.NewPolicy()
	p.AllowElements("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del", "table", "thead", "tbody", "tr", "th", "td", "span")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(dangles|raw|picture)$`)).OnElements("span", "code")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return &markdown{policy: p}
}

// render gives the HTML of a text without its front matter.
func (m *markdown) render(source []byte, to linkTo) template.HTML {
	shaped := &shaping{to: to}
	md := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough, extension.Linkify),
		goldmark.WithParserOptions(
			parser.WithInlineParsers(util.Prioritized(wikiParser{to}, 150)),
			parser.WithASTTransformers(util.Prioritized(shaped, 999)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(plainRenderer{}, 100)), html.WithHardWraps()),
	)
	var out bytes.Buffer
	if err := md.Convert(source, &out); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(string(source)) + "</pre>")
	}
	return template.HTML(m.policy.SanitizeBytes(out.Bytes())) // it was sanitised here and now
}

// shaping changes what was parsed before it is rendered.
type shaping struct{ to linkTo }

// Transform lowers headings, leads links to entries, and drops links of other schemes.
func (s *shaping) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(6, n.Level+1)
		case *ast.Link:
			n.Title = nil
			n.Destination = s.lead(n.Destination)
			if len(n.Destination) == 0 {
				n.SetAttributeString("class", []byte("dangles"))
			}
		}
		return ast.WalkContinue, nil
	})
}

// lead is where a link's destination leads; nothing for nowhere.
func (s *shaping) lead(destination []byte) []byte {
	target := string(destination)
	if address, known := s.to(target, false); known {
		return []byte(address)
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return nil
	}
	return destination
}

// wikiParser reads [[links]] that lead to an entry.
type wikiParser struct{ to linkTo }

// Trigger is what such a link begins with.
func (wikiParser) Trigger() []byte { return []byte{'['} }

// Parse reads one.
func (w wikiParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if !bytes.HasPrefix(line, []byte("[[")) {
		return nil
	}
	end := bytes.Index(line, []byte("]]"))
	if end < 0 {
		return nil
	}
	target, label, labelled := strings.Cut(string(line[2:end]), "|")
	target, _, _ = strings.Cut(target, "#")
	target = strings.TrimSpace(target)
	if !labelled {
		label = string(line[2:end])
	}
	address, known := w.to(target, true)
	if !known {
		return nil
	}
	block.Advance(end + 2)
	link := &wikiLink{Link: ast.NewLink(), address: address}
	link.AppendChild(link, ast.NewString([]byte(label)))
	return link
}

// wikiLink is a link whose address is known already.
type wikiLink struct {
	*ast.Link
	address string
}

var kindWiki = ast.NewNodeKind("WikiLink")

// Kind sets it apart from links that are yet to be led.
func (*wikiLink) Kind() ast.NodeKind { return kindWiki }

// plainRenderer renders what is not to be rendered as Markdown says.
type plainRenderer struct{}

// RegisterFuncs says what it renders.
func (plainRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, renderRawHTML)
	r.Register(ast.KindHTMLBlock, renderHTMLBlock)
	r.Register(ast.KindImage, renderImage)
	r.Register(ast.KindLink, renderLink)
	r.Register(kindWiki, renderWiki)
}

func escape(w util.BufWriter, b []byte) { template.HTMLEscape(w, b) }

func renderRawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<code class="raw">`)
		segments := node.(*ast.RawHTML).Segments
		for i := range segments.Len() {
			segment := segments.At(i)
			escape(w, segment.Value(source))
		}
		_, _ = w.WriteString(`</code>`)
	}
	return ast.WalkSkipChildren, nil
}

func renderHTMLBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		block := node.(*ast.HTMLBlock)
		_, _ = w.WriteString(`<pre><code class="raw">`)
		for i := range block.Lines().Len() {
			line := block.Lines().At(i)
			escape(w, line.Value(source))
		}
		if block.HasClosure() {
			closure := block.ClosureLine
			escape(w, closure.Value(source))
		}
		_, _ = w.WriteString("</code></pre>\n")
	}
	return ast.WalkSkipChildren, nil
}

func renderImage(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		image := node.(*ast.Image)
		_, _ = w.WriteString(`<span class="picture">[picture `)
		escape(w, []byte(altOf(image, source)))
		_, _ = w.WriteString(` at `)
		escape(w, image.Destination)
		_, _ = w.WriteString(`, not loaded]</span>`)
	}
	return ast.WalkSkipChildren, nil
}

func altOf(n ast.Node, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			_, _ = b.Write(t.Value(source))
		} else {
			b.WriteString(altOf(child, source))
		}
	}
	return b.String()
}

func renderLink(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	return writeLink(w, string(node.(*ast.Link).Destination), entering)
}

func renderWiki(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	return writeLink(w, node.(*wikiLink).address, entering)
}

// writeLink writes a link, or where it leads nowhere its text.
func writeLink(w util.BufWriter, address string, entering bool) (ast.WalkStatus, error) {
	switch {
	case address == "" && entering:
		_, _ = w.WriteString(`<span class="dangles">`)
	case address == "":
		_, _ = w.WriteString(`</span>`)
	case entering:
		_, _ = w.WriteString(`<a href="`)
		escape(w, []byte(address))
		_, _ = w.WriteString(`">`)
	default:
		_, _ = w.WriteString(`</a>`)
	}
	return ast.WalkContinue, nil
}

// joined is where a relative link of an entry leads, below the root.
func joined(folder, target string) string {
	if decoded, err := url.PathUnescape(target); err == nil {
		target = decoded
	}
	target, _, _ = strings.Cut(target, "#")
	if target == "" || strings.HasPrefix(target, "/") {
		return ""
	}
	return path.Join(folder, target)
}
