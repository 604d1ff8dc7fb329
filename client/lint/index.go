package lint

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/curate"
)

// longEntry is the length of a line, in characters, above which an index soon is too
// long.
const longEntry = 200

// indexFile looks at an index: its size, its lines, what stands in it twice.
func (l *linter) indexFile(f *file) {
	if memory.Parse(f.text).Lines > 0 {
		l.find(f, "index-front-matter", Warning, 1, "an index has front matter, which an agent is told as text", "take it out; an index is a list of links")
	}
	cut := memory.CutIndex(f.text)
	if cut.Over() && (cut.Kept < cut.Lines || len(cut.Text) < len(f.text)) {
		l.find(f, "index-over-budget", Error, cut.Kept+1,
			fmt.Sprintf("an agent is told %d of %d lines (%d of %d bytes); it does not hear of %s", cut.Kept, cut.Lines, len(cut.Text), cut.Bytes, fallsOut(f, cut)),
			fmt.Sprintf("shorten entries to a line under %d characters, and let go of what is stale; the limits are %d lines and %d bytes", longEntry, memory.IndexLines, memory.IndexBytes))
	}
	seen := map[string]memory.Link{}
	number := 0
	for line := range strings.Lines(string(f.text)) {
		if number++; utf8.RuneCountInString(line) > longEntry {
			l.find(f, "index-entry-long", Note, number, fmt.Sprintf("the line has %d characters", utf8.RuneCountInString(line)), "keep a hook, and move the detail into the topic file")
		}
	}
	for _, link := range memory.Links(f.text) {
		at := link.Path(path.Dir(string(f.Key)))
		if !link.Entry || at == "" || strings.Contains(link.Target, "#") {
			continue
		}
		first, twice := seen[at]
		if !twice {
			seen[at] = link
			continue
		}
		var edits []edit
		begin, end := f.lineAround(link.Offset)
		firstBegin, firstEnd := f.lineAround(first.Offset)
		if strings.TrimRight(string(f.text[begin:end]), "\r\n") == strings.TrimRight(string(f.text[firstBegin:firstEnd]), "\r\n") {
			edits = []edit{{offset: begin, length: end - begin}}
		}
		l.find(f, "entry-twice", Warning, link.Line, fmt.Sprintf("%s is listed on line %d already", at, first.Line), "keep one of the two lines", edits...)
	}
}

// fallsOut names the entries that are not loaded, the first few.
func fallsOut(f *file, cut memory.Cut) string {
	var names []string
	for _, link := range memory.Links(f.text) {
		if link.Entry && link.Line > cut.Kept {
			names = append(names, link.Target)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("what stands behind line %d", cut.Kept)
	}
	if more := len(names) - 10; more > 0 {
		return strings.Join(names[:10], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// lineAround is the line that holds an offset, with its end.
func (f *file) lineAround(offset int) (begin, end int) {
	line := f.lineOf(offset)
	if line == len(f.lines) {
		return f.lines[line-1], len(f.text)
	}
	return f.lines[line-1], f.lines[line]
}

// links looks for links that lead nowhere.
func (l *linter) links(f *file) {
	folder := path.Dir(string(f.Key))
	for _, link := range memory.Links(f.text) {
		at := link.Path(folder)
		switch {
		case at == "" || !strings.HasSuffix(at, ".md") && !link.Entry || l.there(at):
			continue
		case link.Bare && strings.Contains(link.Target, "/"):
			continue // a path of the project rather than a memory
		}
		severity, cure := Warning, "put it right, or take the link out"
		if f.index && link.Entry {
			severity, cure = Error, "take the line out, or bring the file back: client trash list"
		}
		var edits []edit
		if near, ok := l.near(at); ok && !link.Bare {
			cure = fmt.Sprintf("did it mean %s?", near)
			if f.index {
				edits = []edit{{offset: link.Offset, length: len(link.Target), text: curate.Relative(folder, near)}}
			}
		}
		l.find(f, "link-dangling", severity, link.Line, fmt.Sprintf("%s leads to no file", link.Target), cure, edits...)
	}
	for _, w := range memory.WikiLinks(f.text) {
		to, _, ok := l.names.Resolve(w.Target, f.Key)
		switch {
		case !ok && !l.there(path.Join(folder, w.Target)):
			l.find(f, "link-dangling", Warning, w.Line, fmt.Sprintf("[[%s]] names no memory", w.Target), "write the name of a file without its ending, or take the link out")
		case ok && f.Scope == memory.Team && l.Library.ScopeOf(to) == memory.Private:
			l.find(f, "link-private", Warning, w.Line, fmt.Sprintf("[[%s]] leads to a private memory, which the team does not have", w.Target), "promote that one too, or take the link out")
		}
	}
}

// there reports whether a path is one of the files.
func (l *linter) there(at string) bool {
	return l.keys[api.Key(at)] != nil || l.missed[api.Key(at)]
}

// near is the one file whose name is the same but for case, dashes and underscores.
func (l *linter) near(at string) (api.Key, bool) {
	found := l.folded[memory.Fold(at)]
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// orphans are memories that no index lists. Where there is no index, nothing is one.
func (l *linter) orphans() {
	listed, indexes := map[string]bool{}, map[memory.Scope]bool{}
	for _, f := range l.files {
		if !f.index {
			continue
		}
		indexes[f.Scope] = true
		for _, link := range memory.Links(f.text) {
			listed[link.Path(path.Dir(string(f.Key)))] = true
		}
		for _, w := range memory.WikiLinks(f.text) {
			if to, _, ok := l.names.Resolve(w.Target, f.Key); ok {
				listed[string(to)] = true
			}
		}
	}
	added := map[api.Key][]byte{}
	for _, f := range l.files {
		if f.index || isLog(f) || listed[string(f.Key)] || !indexes[f.Scope] {
			continue
		}
		l.find(f, "orphan", Warning, 0, "no index lists it: an agent learns of it by recall alone, or never", "add a line to the index", l.listing(f, added)...)
	}
}

// listing adds the line for a memory behind the index's last entry.
func (l *linter) listing(f *file, texts map[api.Key][]byte) []edit {
	index := l.Library.IndexFor(f.Key)
	text, ok := texts[index]
	if !ok {
		into := l.keys[index]
		if into == nil {
			return nil
		}
		text = into.text
		texts[index] = text
	}
	offset, line := curate.Insertion(text, curate.Line(f.Title(), curate.Relative(path.Dir(string(index)), f.Key), f.Description))
	return []edit{{key: index, offset: offset, text: line}}
}
