package merge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/merge"
)

// corpus is the directory of real memories, or skips the test.
func corpus(t testing.TB, below string) string {
	root := os.Getenv("TEAMMEM_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	dir := filepath.Join(root, below)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus of real memories here (%v); TEAMMEM_CORPUS names one", err)
	}
	return dir
}

// tally counts how merges of one kind of file end.
type tally struct{ cases, right, wrong, conflict int }

// Every real merge comes out right: the result holds the lines that history went
// on to hold. Additions at one place may stand in either order.
func TestRealMerges(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus(t, "merge"), "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	table := map[string]*tally{"index": {}, "topic": {}}
	for _, file := range files {
		kind, _, _ := strings.Cut(filepath.Base(file), "-")
		key := api.Key("topic.md")
		if kind == "index" {
			key = api.IndexKey
		}
		base, mine, theirs, want := parts(t, file)
		checkAlways(t, key, base, mine, theirs)
		sum := table[kind]
		sum.cases++
		for _, got := range []merge.Result{merge.Merge(key, base, mine, theirs), merge.Merge(key, base, theirs, mine)} {
			switch {
			case !got.Clean:
				sum.conflict++
				t.Errorf("%s: %s", filepath.Base(file), got.Reason)
			case !sameLines(got.Text, want):
				sum.wrong++
				t.Errorf("%s: wrong lines\n%s", filepath.Base(file), got.Text)
			default:
				sum.right++
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d real merges, each both ways about\n%-8s %8s %8s %8s %8s\n", len(files), "merge of", "cases", "right", "wrong", "conflict")
	for _, kind := range []string{"index", "topic"} {
		sum := table[kind]
		fmt.Fprintf(&b, "%-8s %8d %8d %8d %8d\n", kind, sum.cases, sum.right, sum.wrong, sum.conflict)
		if sum.cases == 0 || sum.right != 2*sum.cases {
			t.Errorf("%s: %d of %d right", kind, sum.right, 2*sum.cases)
		}
	}
	t.Log(b.String())
}

func parts(t *testing.T, file string) (base, mine, theirs, want []byte) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, f := range archive.Files {
		found[f.Name] = f.Data
	}
	for _, name := range []string{"base", "mine", "theirs", "want"} {
		if found[name] == nil {
			t.Fatalf("%s has no section %s", file, name)
		}
	}
	return found["base"], found["mine"], found["theirs"], found["want"]
}

// sameLines compares the multisets of the lines that are not blank.
func sameLines(a, b []byte) bool { return slices.Equal(sortedLines(a), sortedLines(b)) }

func sortedLines(text []byte) []string {
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return strings.TrimSpace(line) == ""
	})
	slices.Sort(lines)
	return lines
}
