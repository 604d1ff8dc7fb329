package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Checkout is the project that memories make claims about.
type Checkout interface {
	// Path says whether a path below the root exists, and how many lines it has, 0 for
	// a folder.
	Path(path string) (lines int, exists bool)
	// Base says whether a file of this name exists anywhere.
	Base(name string) bool
	// Symbols says which of the names occur as a whole word in a file.
	Symbols(names []string) (map[string]bool, error)
	// Commits says which of the ids name a commit of the history. ok is false where
	// that cannot be told, for instance in a shallow clone.
	Commits(ids []string) (found map[string]bool, ok bool)
}

// claim is something a memory says about the project.
type claim struct {
	file *file
	line int
	name string
}

// Patterns are compiled when a run first needs them: a program that never lints should
// not pay for them at its start.
var (
	codeSpan = late("`([^`\n]{2,200})`")
	// prosePath is a path with a folder and an ending, in plain text.
	prosePath = late(`(?:^|[\s("'])((?:[A-Za-z0-9_.@-]+/)+[A-Za-z0-9_.@-]+\.[A-Za-z]{1,5}(?::\d+)?)(?:[\s)"',;.:]|$)`)
	pathShape = late(`^(?:\./)?(?:[A-Za-z0-9_.@+-]+/)*[A-Za-z0-9_.@+-]+/?(?::\d+(?:-\d+|:\d+)?)?$`)
	hasEnding = late(`\.[A-Za-z][A-Za-z0-9]{0,4}$`)
	symbol    = late(`^(?:[A-Za-z_][A-Za-z0-9_]*(?:\.|::|->))*([A-Za-z_][A-Za-z0-9_]{2,})(\(\))?$`)
	humps     = late(`^[A-Za-z]?[a-z0-9]+(?:[A-Z][a-z0-9]+)+$|^[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+$|^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+$`)
	commitID  = late(`(?i)(?:\bcommits? \x60?|\bsha \x60?|\x60)([0-9a-f]{7,40})\b`)
)

const codeEnding = " .go .ts .tsx .js .jsx .mjs .py .rs .java .kt .rb .php .c .h .cc .cpp .hpp .cs .swift .sh .sql .proto .toml .yaml .yml .json .css .scss .vue .svelte .tf .mod .sum .lock "

func late(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// claims holds what memories say of the project against its checkout. What they say of
// paths, symbols and commits may have been true once.
func (l *linter) claims() error {
	if l.Checkout == nil {
		return nil
	}
	var symbols, commits []claim
	for _, f := range l.files {
		if isLog(f) {
			continue
		}
		l.pathClaims(f)
		symbols = append(symbols, l.symbolClaims(f)...)
		commits = append(commits, commitClaims(f)...)
	}
	found, err := l.Checkout.Symbols(namesOf(symbols))
	if err != nil {
		return fmt.Errorf("lint: %w", err)
	}
	for _, c := range symbols {
		if !found[c.name] {
			l.find(c.file, "stale-symbol", Warning, c.line, fmt.Sprintf("%s occurs nowhere in the checkout", c.name), "look for what it is called now, or let the claim go")
		}
	}
	if found, ok := l.Checkout.Commits(namesOf(commits)); ok {
		for _, c := range commits {
			if !found[c.name] {
				l.find(c.file, "stale-commit", Warning, c.line, fmt.Sprintf("%s is no commit of this history", c.name), "name one that is, or a date")
			}
		}
	}
	return nil
}

func namesOf(claims []claim) []string {
	var names []string
	for _, c := range claims {
		names = append(names, c.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// spans calls fn with each code span outside blocks of code, and the line it stands on.
func (f *file) spans(fn func(line int, text string)) {
	inBlock := false
	number := 0
	for line := range strings.Lines(string(f.text)) {
		number++
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			inBlock = !inBlock
			continue
		}
		if !inBlock {
			for _, span := range codeSpan().FindAllStringSubmatch(line, -1) {
				fn(number, strings.TrimSpace(span[1]))
			}
		}
	}
}

// pathClaims looks up every path that is cited, in code spans and in plain text.
func (l *linter) pathClaims(f *file) {
	said := map[string]bool{}
	claim := func(line int, text string) {
		text = strings.TrimPrefix(text, "./")
		if !said[text] && pathShape().MatchString(text) {
			said[text] = true
			l.pathClaim(f, line, text)
		}
	}
	f.spans(claim)
	for _, place := range prosePath().FindAllSubmatchIndex(f.prose, -1) {
		claim(f.lineOf(place[2]), string(f.prose[place[2]:place[3]]))
	}
}

func (l *linter) pathClaim(f *file, line int, text string) {
	name, number, _ := strings.Cut(text, ":")
	number, _, _ = strings.Cut(strings.ReplaceAll(number, "-", ":"), ":")
	first, _, deep := strings.Cut(name, "/")
	ending := hasEnding().FindString(name)
	if l.there(path.Join(path.Dir(string(f.Key)), name)) || l.there(name) || notAPath(first, name, ending) {
		return
	}
	lines, exists := l.Checkout.Path(strings.TrimSuffix(name, "/"))
	switch {
	case exists:
		if n, err := strconv.Atoi(number); err == nil && lines > 0 && n > lines {
			l.find(f, "stale-line", Warning, line, fmt.Sprintf("%s has %d lines, not %d", name, lines, n), "name the function rather than the line")
		}
		return
	case !deep && !strings.Contains(codeEnding, " "+ending+" "), !deep && l.Checkout.Base(name):
		return // a word, or a file's name without its folder
	case deep && ending == "":
		// owner/repo and either/or look like paths; a known first folder tells.
		if _, known := l.Checkout.Path(first); !known {
			return
		}
	}
	l.find(f, "stale-path", Warning, line, fmt.Sprintf("%s is not in the checkout", name), "look where it is now, or let the claim go")
}

// notAPath knows what only looks like a path: a host, a form to be filled in, an ending.
func notAPath(first, name, ending string) bool {
	return strings.Contains(first, ".com") || strings.Contains(name, "...") || strings.Contains(name, "YYYY") || strings.Contains(name, "XX") || name == ending
}

// symbolClaims are the names of code in spans: what is called, and words that nobody
// writes but in code.
func (l *linter) symbolClaims(f *file) []claim {
	var claims []claim
	f.spans(func(line int, text string) {
		m := symbol().FindStringSubmatch(text)
		if m == nil || strings.HasSuffix(text, ".md") || hasEnding().MatchString(text) && strings.Contains(codeEnding, " "+hasEnding().FindString(text)+" ") {
			return
		}
		if m[2] == "()" || len(m[1]) >= 6 && humps().MatchString(m[1]) {
			claims = append(claims, claim{f, line, m[1]})
		}
	})
	return slices.DeleteFunc(claims, func(c claim) bool {
		_, _, memory := l.names.Resolve(c.name, f.Key) // the name of a memory is no claim
		return memory
	})
}

// commitClaims are ids of commits: with the word before them, or in a code span, of
// digits and letters both.
func commitClaims(f *file) []claim {
	head := f.Body
	var claims []claim
	for _, place := range commitID().FindAllSubmatchIndex(f.text, -1) {
		id := strings.ToLower(string(f.text[place[2]:place[3]]))
		if place[2] >= head && strings.ContainsAny(id, "0123456789") && strings.ContainsAny(id, "abcdef") {
			claims = append(claims, claim{f, f.lineOf(place[2]), id})
		}
	}
	return claims
}
