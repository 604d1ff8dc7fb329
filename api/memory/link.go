package memory

import (
	"bytes"
	"net/url"
	"path"
	"strings"
)

// Wiki is one [[link]] in a text.
type Wiki struct {
	Target string // without label and heading
	Line   int    // from 1
	Offset int    // of Target in the text
}

// maxPart bounds the label, the target and the title of a link, in bytes. Without a
// bound one long line of brackets would cost its length squared.
const maxPart = 1000

// maxDepth bounds the parentheses in a target, as Markdown does.
const maxDepth = 32

// attributes of C and C++ look like links and stand in prose now and then.
const attributes = " nodiscard maybe_unused noreturn likely unlikely fallthrough deprecated no_unique_address assume carries_dependency gnu::always_inline clang::fallthrough "

// WikiLinks finds the links [[stem]], [[name]], [[stem|label]] and [[stem#heading]] of
// a text, front matter and code left out. [[ -f x ]] is a shell's test and
// [[nodiscard]] a compiler's word, not links.
func WikiLinks(text []byte) []Wiki {
	if !bytes.Contains(text, []byte("[[")) {
		return nil
	}
	prose := Prose(text)
	var all []Wiki
	number, counted := 1, 0
	for at := 0; ; {
		n := bytes.Index(prose[at:], []byte("[["))
		if n < 0 {
			return all
		}
		at += n + 2
		if at < len(prose) && prose[at] == '[' {
			at-- // of three brackets the last two open
			continue
		}
		// A bracket that opens ends the look as well, or brackets that nothing closes
		// would each cost a look at all that follow.
		end := bytes.IndexAny(prose[at:min(at+maxPart, len(prose))], "[]\n")
		if end < 0 {
			continue
		}
		inner := string(text[at : at+end])
		if !bytes.HasPrefix(prose[at+end:], []byte("]]")) || strings.Contains(inner, "[") {
			continue
		}
		if target := wikiTarget(inner); target != "" {
			number, counted = number+bytes.Count(text[counted:at], []byte("\n")), at
			all = append(all, Wiki{Target: target, Line: number, Offset: at})
		}
		at += end + 2
	}
}

func wikiTarget(inner string) string {
	if inner != strings.TrimSpace(inner) || strings.Contains(attributes, " "+inner+" ") {
		return ""
	}
	target, _, _ := strings.Cut(inner, "|")
	target, _, _ = strings.Cut(target, "#")
	return strings.TrimRight(target, " ")
}

// Link is a Markdown link, or a bare file name, that leads to a file of the directory.
type Link struct {
	Title  string
	Target string // as it stands
	Hook   string // what follows an entry's link and its dash
	Line   int    // from 1
	Offset int    // of Target in the text
	Entry  bool   // it begins a line, after a list mark and emphasis: an entry of an index
	Bare   bool   // a file name without a link
}

// Path is where the link leads from the folder that the text lies in, below the root;
// empty when it leads outside. Percent signs are decoded, a heading is dropped.
func (l Link) Path(folder string) string {
	target, _, _ := strings.Cut(l.Target, "#")
	if decoded, err := url.PathUnescape(target); err == nil {
		target = decoded
	}
	if target == "" || strings.HasPrefix(target, "/") {
		return ""
	}
	at := path.Join(folder, target)
	if at == ".." || strings.HasPrefix(at, "../") || at == "." {
		return ""
	}
	return at
}

// Links finds the links to files of a text, front matter and code left out: links with
// a scheme or to a heading of the same text are none, and neither are pictures. In a
// list, a file name that begins an item counts as an entry.
func Links(text []byte) []Link {
	prose := Prose(text)
	var all []Link
	for at, number := 0, 1; at < len(prose); number++ {
		line, next := lineAt(prose, at)
		for _, l := range lineLinks(line, text[at:at+len(line)]) {
			l.Line, l.Offset = number, l.Offset+at
			all = append(all, l)
		}
		at = next
	}
	return all
}

// lineLinks finds the links of one line; offsets are within it. prose is for finding,
// text for reading: a label may hold code.
func lineLinks(prose, text []byte) []Link {
	begin := entryBegin(prose)
	var all []Link
	for at := 0; ; {
		n := bytes.Index(prose[at:], []byte("]("))
		if n < 0 {
			break
		}
		closing := at + n
		floor := at
		from, to, end, ok := destination(prose[:min(len(prose), closing+2*maxPart)], closing+2)
		at = closing + 2
		if !ok {
			continue
		}
		at = end
		open := labelBegin(prose, closing, floor)
		target := string(text[from:to])
		if open < 0 || open > 0 && prose[open-1] == '!' || !isLocal(target) {
			continue
		}
		l := Link{Title: string(text[open+1 : closing]), Target: target, Offset: from, Entry: open == begin}
		if l.Entry {
			l.Hook = hookOf(string(text[end:]))
		}
		all = append(all, l)
	}
	if len(all) == 0 {
		return bareEntry(text, prose)
	}
	return all
}

// entryBegin is where a line's text begins, after a list mark and emphasis.
func entryBegin(line []byte) int {
	at := len(line) - len(bytes.TrimLeft(line, " \t"))
	if mark := listMark(line[at:]); mark > 0 {
		at += mark
	}
	for at < len(line) && strings.IndexByte(" \t*_", line[at]) >= 0 {
		at++
	}
	return at
}

// listMark is the length of "- ", "* ", "+ ", "1. " or "1) " with a task's box behind
// it; 0 for none.
func listMark(line []byte) int {
	n := 0
	switch {
	case len(line) > 0 && strings.IndexByte("-*+", line[0]) >= 0:
		n = 1
	default:
		for n < len(line) && n < 9 && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		if n == 0 || n == len(line) || line[n] != '.' && line[n] != ')' {
			return 0
		}
		n++
	}
	if n == len(line) || line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	for _, box := range []string{" [ ] ", " [x] ", " [X] "} {
		if bytes.HasPrefix(line[n:], []byte(box)) {
			return n + len(box)
		}
	}
	return n + 1
}

// labelBegin is the bracket that belongs to the one at closing: a label may hold
// brackets itself. It is looked for behind the last link; -1 when there is none.
func labelBegin(line []byte, closing, floor int) int {
	depth := 0
	for i := closing; i >= max(floor, closing-maxPart); i-- {
		switch {
		case i > 0 && line[i-1] == '\\':
		case line[i] == ']':
			depth++
		case line[i] == '[':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// destination reads what stands between the parentheses of a link: a target, which may
// be in angle brackets and may hold parentheses in pairs, then perhaps a title. end is
// behind the closing one.
func destination(line []byte, at int) (from, to, end int, ok bool) {
	if at < len(line) && line[at] == '<' {
		n := bytes.IndexByte(line[at:], '>')
		if n < 0 {
			return 0, 0, 0, false
		}
		from, to = at+1, at+n
		at = to + 1
	} else {
		from = at
		for depth := 0; at < len(line); at++ {
			c := line[at]
			if c == '(' {
				depth++
			}
			if c == ' ' || c == '\t' || c == ')' && depth == 0 || depth > maxDepth {
				break
			}
			if c == ')' {
				depth--
			}
		}
		to = at
	}
	n := bytes.IndexByte(line[at:], ')')
	if n < 0 || to == from {
		return 0, 0, 0, false
	}
	title := bytes.TrimSpace(line[at : at+n])
	if len(title) > 0 && title[0] != '"' && title[0] != '\'' {
		return 0, 0, 0, false
	}
	return from, to, at + n + 1, true
}

// isLocal reports whether a target may be a file of the directory.
func isLocal(target string) bool {
	before, _, colon := strings.Cut(target, ":")
	return target != "" && target[0] != '#' && (!colon || strings.Contains(before, "/"))
}

// separators stand between an entry's link and its hook.
var separators = []string{"—", "--", "–", "-", ":"}

// hookOf is what follows the link of an entry.
func hookOf(rest string) string {
	rest = strings.TrimSpace(strings.TrimLeft(rest, "*_"))
	for _, s := range separators {
		if after, ok := strings.CutPrefix(rest, s); ok {
			return strings.TrimSpace(after)
		}
	}
	return rest
}

// bareEntry reads an item of a list that begins with a file name in place of a link:
// "- project_x.md — hook".
func bareEntry(text, prose []byte) []Link {
	at := len(prose) - len(bytes.TrimLeft(prose, " \t"))
	if at == len(prose) || listMark(prose[at:]) == 0 {
		return nil
	}
	at = entryBegin(text) // the name may stand in backticks, which prose has blanked
	for at < len(text) && strings.IndexByte(" \t*_`", text[at]) >= 0 {
		at++
	}
	end := at
	for end < len(text) && strings.IndexByte(" \t*`:,;()[]<>\"'", text[end]) < 0 {
		end++
	}
	name := strings.TrimSuffix(string(text[at:end]), "\r")
	if !strings.HasSuffix(name, ".md") || name == ".md" {
		return nil
	}
	rest := strings.TrimLeft(string(text[at+len(name):]), "`*_")
	return []Link{{Title: name, Target: name, Hook: hookOf(rest), Offset: at, Entry: true, Bare: true}}
}
