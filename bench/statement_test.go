package bench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// statements are the text constants of one of the product's stores, by name.
type statements map[string]string

// readStatements reads them from the store's source.
func readStatements(store string) (statements, error) {
	files, err := filepath.Glob(filepath.Join("..", "server", "store", store, "*.go"))
	if err != nil {
		return nil, err
	}
	values := map[string]ast.Expr{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok && group.Tok == token.CONST {
				for _, spec := range group.Specs {
					constant := spec.(*ast.ValueSpec)
					for i, value := range constant.Values {
						values[constant.Names[i].Name] = value
					}
				}
			}
		}
	}
	texts := statements{}
	for name, value := range values {
		if text, ok := textOf(value, values); ok {
			texts[name] = text
		}
	}
	return texts, nil
}

// textOf works out a constant that is a text or a sum of texts.
func textOf(value ast.Expr, constants map[string]ast.Expr) (string, bool) {
	switch v := value.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(v.Value)
		return text, v.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := textOf(v.X, constants)
		right, also := textOf(v.Y, constants)
		return left + right, ok && also && v.Op == token.ADD
	case *ast.Ident:
		named, ok := constants[v.Name]
		if !ok {
			return "", false
		}
		return textOf(named, constants)
	}
	return "", false
}

var placeholder = regexp.MustCompile(`\$\d+`)

// with puts SQL expressions in the place of a statement's parameters.
func (s statements) with(name string, values ...string) string {
	return placeholder.ReplaceAllStringFunc(s[name], func(p string) string {
		n, _ := strconv.Atoi(p[1:])
		return values[n-1]
	})
}

// The statements that the peers run are found, whole.
func TestStatementsAreReadFromTheStores(t *testing.T) {
	for _, store := range []string{"postgres", "sqlite"} {
		found, err := readStatements(store)
		if err != nil {
			t.Fatal(err)
		}
		for name, begins := range map[string]string{
			"lockHead": "SELECT id, ", "selectState": "", "insertHistory": "INSERT INTO history ", "insertVersion": "INSERT INTO versions ",
			"insertAudit": "INSERT INTO audit ", "updateHead": "UPDATE repos ",
		} {
			if found[name] == "" || !strings.HasPrefix(found[name], begins) {
				t.Errorf("%s: %s is %q", store, name, found[name])
			}
		}
	}
	made := statements{"one": "SELECT $2, $1, $10"}.with("one", "a", "b", "", "", "", "", "", "", "", "j")
	if made != "SELECT b, a, j" {
		t.Errorf("with gives %s", made)
	}
}
