package teammem

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is the path every import of ours begins with.
const module = "github.com/teammem/teammem/"

// source is one Go file, as far as the rules look at it. Files for other systems
// are read as well: nothing here asks the build.
type source struct {
	path    string // from the root
	pkg     string // its directory
	test    bool
	imports []string
	uses    []string // of other packages, as path.Name
	hasInit bool
}

// readTree reads all Go files below a root but those of modules within it.
func readTree(root fs.FS) ([]source, error) {
	var all []source
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipDirectory(root, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		src, err := readSource(name, text)
		all = append(all, src)
		return err
	})
	return all, err
}

func skipDirectory(root fs.FS, name string) error {
	if name == "." {
		return nil
	}
	base := path.Base(name)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func readSource(name string, text []byte) (source, error) {
	src := source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go")}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return src, err
	}
	names := map[string]string{} // what an import is called in this file
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return src, err
		}
		src.imports = append(src.imports, imported)
		local := path.Base(imported)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		names[local] = imported
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			src.hasInit = src.hasInit || n.Recv == nil && n.Name.Name == "init"
		case *ast.SelectorExpr:
			if ident, ok := n.X.(*ast.Ident); ok && names[ident.Name] != "" {
				src.uses = append(src.uses, names[ident.Name]+"."+n.Sel.Name)
			}
		}
		return true
	})
	return src, nil
}

// violations holds the tree against the tables. Each line says what is wrong,
// where, and for which reason the rule is there.
func violations(tree []source) []string {
	var bad []string
	seen := map[string]bool{}
	for _, src := range tree {
		seen[src.pkg] = true
		for _, imported := range src.imports {
			if ours, ok := strings.CutPrefix(imported, module); ok {
				bad = append(bad, checkWall(src, ours)...)
			} else if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
				bad = append(bad, checkDoor(src, imported)...)
			}
		}
		bad = append(bad, checkQuiet(src)...)
	}
	for pkg := range seen {
		if pkg != "." && wallOf(pkg) == nil {
			bad = append(bad, fmt.Sprintf("%s stands in no row of walls: say there what it may import, and why", pkg))
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func wallOf(pkg string) *wall {
	if i := slices.IndexFunc(walls, func(w wall) bool { return w.pkg == pkg }); i >= 0 {
		return &walls[i]
	}
	return nil
}

// checkWall: may this file import that package of ours?
func checkWall(src source, imported string) []string {
	w := wallOf(src.pkg)
	switch {
	case src.pkg == imported, w == nil && src.pkg != ".":
		return nil // an external test of a package; and the missing row is told by itself
	case w != nil && covers(w.imports, imported):
		return nil
	}
	if src.test {
		for _, t := range testWalls {
			if covers(t.pkg, src.pkg) && covers(t.imports, imported) {
				return nil
			}
		}
		return []string{fmt.Sprintf("%s imports %s: no row of testWalls lets the tests of %s do that", src.path, imported, src.pkg)}
	}
	return []string{fmt.Sprintf("%s imports %s, but %s may import only [%s]: %s", src.path, imported, src.pkg, w.imports, w.reason)}
}

// checkDoor: may this foreign library stand here?
func checkDoor(src source, imported string) []string {
	switch found := doorOf(imported); {
	case found == nil:
		return []string{fmt.Sprintf("%s imports %s, a library without a row in doors: choose its one door, and say why it is needed", src.path, imported)}
	case covers(found.at, src.pkg), src.test && covers(found.tests, src.pkg):
		return nil
	default:
		return []string{fmt.Sprintf("%s imports %s, whose door is [%s]: %s", src.path, imported, strings.TrimSpace(found.at+" "+found.tests), found.reason)}
	}
}

// doorOf is the row for what is imported, the most exact one.
func doorOf(imported string) (found *door) {
	for i := range doors {
		d := &doors[i]
		if (imported == d.library || strings.HasPrefix(imported, d.library+"/")) && (found == nil || len(d.library) > len(found.library)) {
			found = d
		}
	}
	return found
}

// checkQuiet: does this file stay away from what its room may not use?
func checkQuiet(src source) []string {
	var bad []string
	for _, q := range quiet {
		if src.test || !covers(q.room, src.pkg) && !covers(q.room, src.path) || covers(q.but, src.pkg) {
			continue
		}
		for _, what := range strings.Fields(q.not) {
			if slices.Contains(src.imports, what) || slices.Contains(src.uses, what) || what == "init" && src.hasInit {
				bad = append(bad, fmt.Sprintf("%s uses %s: %s", src.path, what, q.reason))
			}
		}
	}
	return bad
}

// covers reports whether one of the patterns is the name, or ends in /... and is
// above it. A lone ... covers everything.
func covers(patterns, name string) bool {
	for _, p := range strings.Fields(patterns) {
		if above, ok := strings.CutSuffix(p, "..."); ok {
			above = strings.TrimSuffix(above, "/")
			if above == "" || name == above || strings.HasPrefix(name, above+"/") {
				return true
			}
		} else if p == name {
			return true
		}
	}
	return false
}
