package claudemd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Load gathers the files.
func Load(o Options) Result {
	l := &loader{Options: o, tree: tree{fsys: o.FS, seen: map[string]spot{}}, loaded: map[string]string{}}
	l.read.name = path.Clean(o.Read)
	if o.Read == "" {
		l.read.name = ""
	} else if s := l.look(o.Read); s.err == nil {
		l.read.real = s.real
	}
	l.managed()
	l.user()
	for _, dir := range ancestors(o.Dir) {
		l.level(dir, dir, "")
	}
	for _, dir := range o.Added {
		l.level(dir, dir, "added directory")
	}
	l.below()
	return l.result
}

// loader is one run.
type loader struct {
	Options
	tree
	read   struct{ name, real string } // Options.Read
	loaded map[string]string           // by real path: how it was named
	result Result
}

// origin is where a file comes from, for what it may import and what is said of it.
type origin struct {
	layer    Layer
	base     string // the folder of the level it belongs to
	why      string
	importer string
	line     int
	depth    int
	rule     bool
}

// ancestors lists the folders from the root down to a directory.
func ancestors(dir string) []string {
	all := []string{dir}
	for dir != "/" && dir != "." {
		dir = path.Dir(dir)
		all = append(all, dir)
	}
	slices.Reverse(all)
	return all
}

func (l *loader) managed() {
	if l.ManagedDir != "" {
		l.file(path.Join(l.ManagedDir, "CLAUDE.md"), origin{layer: Managed, base: l.ManagedDir, why: "managed"})
	}
}

func (l *loader) user() {
	if l.UserDir == "" {
		return
	}
	l.file(path.Join(l.UserDir, "CLAUDE.md"), origin{layer: User, base: l.UserDir, why: "the user's"})
	for _, name := range l.rules(path.Join(l.UserDir, "rules")) {
		l.file(name, origin{layer: User, base: l.Root, why: "a rule of the user's", rule: true})
	}
}

// level takes the files of one directory. base is what they may import from without
// asking.
func (l *loader) level(dir, base, why string) {
	if why == "" {
		why = "a level above the working directory"
		if dir == l.Dir {
			why = "the working directory"
		}
	}
	for _, name := range []string{"CLAUDE.md", ".claude/CLAUDE.md"} {
		l.file(path.Join(dir, name), origin{layer: Project, base: base, why: why})
	}
	for _, name := range l.rules(path.Join(dir, ".claude", "rules")) {
		l.file(name, origin{layer: Project, base: base, why: "a rule; " + why, rule: true})
	}
	l.file(path.Join(dir, "CLAUDE.local.md"), origin{layer: Local, base: base, why: why})
}

// below takes the levels between where the agent works and the file that it reads.
func (l *loader) below() {
	for _, top := range append([]string{l.Dir}, l.Added...) {
		name := l.read.name
		if name == "" || !within(name, top) {
			if name = l.read.real; name == "" || !within(name, top) {
				continue
			}
		}
		for _, dir := range ancestors(path.Dir(name)) {
			if dir != top && within(dir, top) {
				l.level(dir, dir, "on the way to the file that is read")
			}
		}
		return
	}
}

// file looks at one file and at what it imports.
func (l *loader) file(name string, from origin) {
	s := l.look(name)
	if errors.Is(s.err, fs.ErrNotExist) {
		return
	}
	f := File{Path: path.Clean(name), Layer: from.layer, Why: from.why, Importer: from.importer, Line: from.line, Depth: from.depth}
	if s.err == nil {
		f.Size = s.info.Size()
		if s.real != f.Path {
			f.Real = s.real
		}
	}
	state, why := l.judge(f.Path, s, from)
	if state != "" {
		f.State, f.Why = state, why
		l.add(f)
		return
	}
	content, err := l.tree.read(s, MaxBytes)
	switch {
	case err != nil:
		l.skip(f, "it cannot be read: "+cause(err))
	case len(content) > MaxBytes:
		l.skip(f, tooLarge)
	case bytes.IndexByte(content, 0) >= 0:
		l.skip(f, "it is not text")
	default:
		l.take(f, s, content, from)
	}
}

const tooLarge = "it is larger than 4 MiB"

// judge says why a file is not read; an empty state when nothing speaks against it.
func (l *loader) judge(name string, s spot, from origin) (State, string) {
	if s.err != nil {
		l.warn(name, 0, "it cannot be read: "+cause(s.err))
		return Skipped, "it cannot be read: " + cause(s.err)
	}
	switch first, before := l.loaded[s.real]; {
	case slices.Contains(l.Without, from.layer) && from.layer != Managed:
		return Skipped, "the layer " + string(from.layer) + " is switched off"
	case from.layer == Project && from.depth == 0 && l.isShadowed(name):
		return Skipped, "the work tree has a copy of its own"
	case from.layer != Managed && l.isExcluded(name, s.real, from.layer):
		return Skipped, "claudeMdExcludes names it"
	case s.info.IsDir():
		return Skipped, "it is a directory"
	case !s.info.Mode().IsRegular():
		l.warn(name, 0, "it is no regular file and was not opened")
		return Skipped, "it is no regular file"
	case s.info.Size() > MaxBytes:
		l.warn(name, 0, "it was skipped: "+tooLarge)
		return Skipped, tooLarge
	case from.depth > 0 && !isText(s.real):
		return Skipped, "it is not text, by its name"
	case before && first == name:
		return Skipped, "loaded already"
	case before:
		return Skipped, "loaded already, as " + first
	case !l.isInside(s.real, from):
		l.warn(name, 0, "it lies outside the project and waits for approval: client context approve "+s.real)
		return Waiting, "outside the project; client context approve " + s.real
	}
	return "", ""
}

// isShadowed knows the files of the main checkout round a work tree that lies in it,
// of which the work tree has its own, as its branch has them.
func (l *loader) isShadowed(name string) bool {
	if l.Main == "" || l.Main == l.Root || !within(l.Root, l.Main) || !within(name, l.Main) || within(name, l.Root) {
		return false
	}
	return l.look(path.Join(l.Root, strings.TrimPrefix(name, l.Main))).err == nil
}

// isInside decides whether a file may be loaded without asking: the one place where
// that is decided, on the real path.
func (l *loader) isInside(real string, from origin) bool {
	if from.layer == Managed || from.layer == User {
		return true
	}
	for _, folder := range []string{l.Root, l.Main, from.base} {
		if s := l.look(folder); folder != "" && folder != "/" && s.err == nil && s.real != "/" && within(real, s.real) {
			return true
		}
	}
	if from.depth == 0 && from.base == "/" && path.Dir(real) == "/" {
		return true
	}
	return slices.ContainsFunc(l.Approved, func(approved string) bool { return within(real, approved) })
}

func (l *loader) isExcluded(name, real string, layer Layer) bool {
	for _, e := range l.Excludes {
		if e.Committed && layer == User {
			continue
		}
		pattern := e.Pattern
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok && l.Home != "" {
			pattern = path.Join(l.Home, rest)
		}
		if glob(pattern, name) || glob(pattern, real) {
			return true
		}
	}
	return false
}

// take loads a file's text, then what it imports.
func (l *loader) take(f File, s spot, content []byte, from origin) {
	if from.rule {
		if patterns := patternsOf(content); len(patterns) > 0 {
			all := strings.Join(patterns, ", ")
			if !matches(patterns, from.base, l.Home, l.read.name, l.read.real) {
				f.State, f.Why = Skipped, "applies when a file is read that matches "+all
				l.add(f)
				return
			}
			f.Why = "a rule for " + all
		}
	}
	l.loaded[s.real] = f.Path
	text, skipped := body(content, from.rule)
	if runes := utf8.RuneCount(text); runes > WarnRunes {
		f.Warning = fmt.Sprintf("it has %d characters, more than %d", runes, WarnRunes)
		l.warn(f.Path, 0, f.Warning+": the agent follows shorter instructions better")
	}
	shape := shapeOf(text)
	if shape.open >= 0 {
		l.warn(f.Path, skipped+1+bytes.Count(text[:shape.open], []byte("\n")), "a comment begins here that nothing closes")
	}
	f.State = Loaded
	f.Text = strings.TrimSpace(strings.ToValidUTF8(string(shape.withoutComments(text)), "\uFFFD"))
	l.add(f)
	l.imports(f, s, references(text, shape.dead), skipped, from)
}

// body is the text behind a BOM and, in a rule, behind its front matter, with the
// lines that are skipped so.
func body(content []byte, rule bool) (text []byte, lines int) {
	text = bytes.TrimPrefix(content, []byte("\uFEFF"))
	if !rule {
		return text, 0
	}
	at := headOf(content)
	return content[at:], bytes.Count(content[:at], []byte("\n"))
}

func (l *loader) imports(f File, s spot, found []reference, skipped int, from origin) {
	if len(found) > maxImports {
		l.warn(f.Path, 0, fmt.Sprintf("it has more than %d references; the rest is not looked at", maxImports))
		found = found[:maxImports]
	}
	told := map[string]bool{}
	for _, ref := range found {
		next := origin{layer: from.layer, base: from.base, why: "imported", importer: f.Path, line: skipped + ref.line, depth: from.depth + 1}
		name, ok := l.find(ref, path.Dir(f.Path), path.Dir(s.real))
		switch {
		case told[ref.raw]:
		case !ok && ref.meant():
			l.warn(f.Path, next.line, "@"+ref.name()+" leads to no file"+spaceHint(ref))
		case !ok:
		case next.depth >= MaxDepth:
			l.warn(f.Path, next.line, fmt.Sprintf("@%s is not loaded: imports go %d files deep", ref.name(), MaxDepth))
			l.add(File{Path: name, Layer: from.layer, State: Skipped, Why: "too deep", Importer: f.Path, Line: next.line, Depth: next.depth})
		default:
			l.file(name, next)
		}
		told[ref.raw] = true
	}
}

// spaceHint is for a path that was cut at a space.
func spaceHint(ref reference) string {
	if name := ref.name(); isText(name) && extension(name) != "" {
		return ""
	}
	return `; a space in a path is written "\ "`
}

// find gives the first meaning that leads to something other than a directory, below
// the folder that the importing file was found in, else where it lies.
func (l *loader) find(ref reference, folders ...string) (string, bool) {
	for _, meaning := range ref.paths {
		for _, name := range l.places(meaning, folders) {
			if s := l.look(name); s.err == nil && !s.info.IsDir() {
				return path.Clean(name), true
			}
		}
	}
	return "", false
}

func (l *loader) places(meaning string, folders []string) []string {
	rest, home := strings.CutPrefix(meaning, "~/")
	switch {
	case home && l.Home == "":
		return nil
	case home:
		return []string{path.Join(l.Home, rest)}
	case strings.HasPrefix(meaning, "/"):
		return []string{meaning}
	}
	var all []string
	for _, folder := range folders {
		all = append(all, path.Join(folder, meaning))
	}
	return slices.Compact(all)
}

func (l *loader) skip(f File, why string) {
	l.warn(f.Path, 0, "it was skipped: "+why)
	f.State, f.Why = Skipped, why
	l.add(f)
}

func (l *loader) add(f File) {
	f.Bytes, f.Tokens = len(f.Text), Tokens(utf8.RuneCountInString(f.Text))
	l.result.Files = append(l.result.Files, f)
}

func (l *loader) warn(name string, line int, text string) {
	w := Warning{Path: name, Line: line, Text: text}
	if !slices.Contains(l.result.Warnings, w) {
		l.result.Warnings = append(l.result.Warnings, w)
	}
}

// cause is an error without the path, which stands beside it.
func cause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}
