package scan

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

// wrapping is one way in which a secret stands in a memory.
type wrapping struct {
	name string
	wrap func(secret string) (key, content string)
	// breaks: the value goes over the end of a line.
	breaks bool
}

func inText(format string) func(string) (string, string) {
	return func(s string) (string, string) { return "notes.md", strings.ReplaceAll(format, "%s", s) }
}

func inTextOf(format string, spell func(string) string) func(string) (string, string) {
	return func(s string) (string, string) { return "notes.md", strings.ReplaceAll(format, "%s", spell(s)) }
}

// broken puts gap in the middle of the value at the end of the secret.
func brokenBy(gap string) func(string) string {
	return func(s string) string {
		at := len(s) - longestTail(s)/2
		return s[:at] + gap + s[at:]
	}
}

// longestTail is the length of the run of token characters at the end.
func longestTail(s string) int {
	s = strings.TrimRight(s, "'\"`;)>, \n")
	n := 0
	for n < len(s) && (isWord(s[len(s)-1-n]) || strings.IndexByte("-+/=.", s[len(s)-1-n]) >= 0) {
		n++
	}
	return n
}

func everyByte(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
}

func escapeOnly(set, format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			if strings.IndexByte(set, c) >= 0 {
				fmt.Fprintf(&b, format, c)
			} else {
				b.WriteByte(c)
			}
		}
		return b.String()
	}
}

func encoded(enc *base64.Encoding) func(string) string {
	return func(s string) string { return enc.EncodeToString([]byte("value: " + s + "\n")) }
}

func twice(f func(string) string) func(string) string {
	return func(s string) string { return f(f(s)) }
}

func folded(width int, indent string, f func(string) string) func(string) string {
	return func(s string) string {
		s = f(s)
		var lines []string
		for len(s) > width {
			lines, s = append(lines, s[:width]), s[width:]
		}
		return strings.Join(append(lines, s), "\n"+indent)
	}
}

// softBroken is quoted-printable in lines of that width.
func softBroken(width int, gap string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		column := 0
		for _, c := range []byte(s) {
			switch {
			case c == '\n':
				column = 0
			case column >= width:
				b.WriteString(gap)
				column = 0
			}
			if c == '=' {
				b.WriteString("=3D")
			} else {
				b.WriteByte(c)
			}
			column++
		}
		return b.String()
	}
}

func jsonString(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "/", `\/`, "<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(s)
}

func quotedLines(prefix string) func(string) string {
	return func(s string) string { return prefix + strings.ReplaceAll(s, "\n", "\n"+prefix) }
}

// wrappings is the table. Every rule must be found in every one of them.
var wrappings = []wrapping{
	{"plain", inText("%s\n"), false},
	{"at the very end", inText("see\n%s"), false},
	{"in prose", inText("It is %s.\nNo more.\n"), false},
	{"backquotes", inText("use `%s` here\n"), false},
	{"bold", inText("use **%s** here\n"), false},
	{"bold underscores", inText("use __%s__ here\n"), false},
	{"italic underscores", inText("use _%s_ here\n"), false},
	{"struck through", inText("not ~~%s~~ any more\n"), false},
	{"parentheses", inText("the old one (%s) is dead\n"), false},
	{"brackets", inText("[%s]\n"), false},
	{"comma behind", inText("%s, and so on\n"), false},
	{"colon before", inText("value:%s\n"), false},
	{"table", inText("| name | value |\n| --- | --- |\n| prod | %s |\n"), false},
	{"tight table", inText("|prod|%s|\n"), false},
	{"list", inText("- one\n- %s\n- three\n"), false},
	{"quote", inTextOf("%s\n", quotedLines("> ")), false},
	{"indented", inTextOf("code:\n\n%s\n", quotedLines("    ")), false},
	{"fence", inText("```\n%s\n```\n"), false},
	{"HTML comment", inText("<!-- %s -->\n"), false},
	{"front matter", inText("---\nname: x\ndescription: uses %s\n---\n"), false},
	{"JSON", inTextOf("```json\n{\"value\": \"%s\"}\n```\n", jsonString), false},
	{"JSON in JSON", inTextOf(`{"value": "{\"inner\": \"%s\"}"}`, twice(jsonString)), false},
	{"escaped break before", inText(`first\n%s`), false},
	{"escaped break behind", inText(`%s\nnext`), false},
	{"escaped breaks", inText(`echo "a\n%s\nb"`), false},
	{"u-escapes", inTextOf(`"%s"`, everyByte(`\u%04x`)), false},
	{"x-escapes", inTextOf(`"%s"`, everyByte(`\x%02x`)), false},
	{"Markdown escapes", inTextOf("use %s here\n", escapeOnly("_*-.+=~|", `\%c`)), false},
	{"entities", inTextOf("<td>%s</td>\n", everyByte("&#%d;")), false},
	{"hex entities", inTextOf("<td>%s</td>\n", everyByte("&#x%x;")), false},
	{"query escaped", inTextOf("https://x.example/?q=%s&b=1\n", url.PathEscape), false},
	{"percent", inTextOf("%s\n", everyByte("%%%02X")), false},
	{"percent twice", inTextOf("%s\n", twice(everyByte("%%%02x"))), false},
	{"base64", inTextOf("data: %s\n", encoded(base64.StdEncoding)), false},
	{"base64 for URLs", inTextOf("data: %s\n", encoded(base64.RawURLEncoding)), false},
	{"base64 twice", inTextOf("data: %s\n", twice(encoded(base64.StdEncoding))), false},
	{"base64 in lines", inTextOf("data:\n  %s\n", folded(60, "  ", encoded(base64.StdEncoding))), false},
	{"base64 in a quote", inTextOf("> %s\n", folded(76, "> ", encoded(base64.StdEncoding))), false},
	{"base64 of percent", inTextOf("data: %s\n", func(s string) string { return encoded(base64.StdEncoding)(everyByte("%%%02X")(s)) }), false},
	{"percent of base64", inTextOf("data: %s\n", func(s string) string { return everyByte("%%%02X")(encoded(base64.StdEncoding)(s)) }), false},
	{"broken", inTextOf("%s\n", brokenBy("\n")), true},
	{"broken, with CRLF", inTextOf("%s\r\n", brokenBy("\r\n")), true},
	{"broken and indented", inTextOf("%s\nand more words here\n", brokenBy("\n    ")), true},
	{"broken in a quote", inTextOf("> %s\n> and more words here\n", brokenBy("\n> ")), true},
	{"broken in a shell", inTextOf("%s\n", brokenBy("\\\n  ")), true},
	{"broken in a comment", inTextOf("# %s\n", brokenBy("\n# ")), true},
	{"broken by an escape", inTextOf("%s\n", brokenBy(`\n`)), true},
	{"zero width before", inText("x \u200b%s\n"), false},
	{"zero width behind", inText("%s\u200b\n"), false},
	{"zero width about", inText("a\u200b%s\u200bb\n"), false},
	{"zero width inside", inTextOf("%s\n", brokenBy("\u200b")), false},
	{"soft hyphen inside", inTextOf("%s\n", brokenBy("\u00ad")), false},
	{"emphasis inside", inTextOf("%s\n", brokenBy("**")), false},
	{"tag inside", inTextOf("| a | %s |\n", brokenBy("<br>")), false},
	{"tag about and inside", inTextOf("<b>%s</b>\n", brokenBy(`</b><span class="x">`)), false},
	{"comment inside", inTextOf("%s\n", brokenBy("<!-- x -->")), false},
	{"U-escapes", inTextOf(`"%s"`, everyByte(`\U%08x`)), false},
	{"braced escapes", inTextOf(`"%s"`, everyByte(`\u{%x}`)), false},
	{"octal", inTextOf(`$'%s'`, everyByte(`\%03o`)), false},
	{"octal of a shell", inTextOf(`echo -e "%s"`, everyByte(`\0%03o`)), false},
	{"put together", inTextOf(`x = ("%s")`+"\n", brokenBy(`" + "`)), false},
	{"put together tightly", inTextOf("x = '%s';\n", brokenBy(`'+'`)), false},
	{"put together by a dot", inTextOf("$x = '%s';\n", brokenBy(`' . "`)), false},
	{"put together over lines", inTextOf("x = \"%s\"\n", brokenBy("\" ..\n    \"")), false},
	{"put together in JSON", inTextOf("{\"code\": \"x = \\\"%s\\\"\"}", brokenBy(`\" + \"`)), false},
	{"quoted-printable", inTextOf("%s\n", everyByte("=%02X")), false},
	{"quoted-printable as mail has it", inTextOf("Dear all, it is %s\n", softBroken(30, "=\r\n")), false},
	{"quoted-printable in a quote", inTextOf("> it is %s\n> and that is all\n", softBroken(20, "=\n> ")), false},
	{"byte order mark", inText("\ufeff%s\n"), false},
}

// TestEveryRuleInEveryWrapping is the recall of the scanner: all of it. Under the race
// detector each wrapping has its share of the rules.
func TestEveryRuleInEveryWrapping(t *testing.T) {
	s := newScanner(t)
	all := samples(t)
	for i, w := range wrappings {
		t.Run(w.name, func(t *testing.T) {
			missed := 0
			for j := i % under; j < len(all); j += under {
				sample := all[j]
				if w.breaks && s.ruleNamed(sample.rule).loose && !digitsInBoth(sample.text) {
					continue // see rule.loose
				}
				key, content := w.wrap(sample.text)
				if !finds(t, s, sample.rule, key, content) {
					missed++
					t.Logf("%s missed %q", sample.rule, content)
				}
			}
			if missed > 0 {
				t.Errorf("%d of %d missed", missed, len(all))
			}
		})
	}
}

func (s *Scanner) ruleNamed(id string) *rule {
	for _, r := range s.rules {
		if r.id == id {
			return r
		}
	}
	return &rule{}
}

// digitsInBoth reports whether both halves of the value hold a digit.
func digitsInBoth(secret string) bool {
	tail := longestTail(secret)
	at := len(secret) - tail/2
	return strings.ContainsAny(secret[len(secret)-tail:at], "0123456789") && strings.ContainsAny(secret[at:], "0123456789")
}

func newScanner(t testing.TB) *Scanner {
	t.Helper()
	s, err := New(Options{FingerprintKey: []byte("a key for tests")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustScan(t testing.TB, s *Scanner, key, content string) []Finding {
	t.Helper()
	found, err := s.Scan(api.Key(key), []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// finds reports whether the rule, or one of ours for the same thing, or another
// secret at the same place, is reported.
func finds(t testing.TB, s *Scanner, rule, key, content string) bool {
	t.Helper()
	for _, f := range mustScan(t, s, key, content) {
		if f.Rule == rule || f.Class == Secret {
			return true
		}
	}
	return false
}
