package recall

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDevbench holds the ranking against the public set of developers' memories, on
// which a plain BM25 finds .708 of the relevant among five and .750 among ten.
func TestDevbench(t *testing.T) {
	root := os.Getenv("TEAMMEM_CORPUS")
	if root == "" {
		root = "../../../shared/corpus"
	}
	content, err := os.ReadFile(filepath.Join(root, "recall", "devbench.json"))
	if err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	var set struct {
		Memories []struct {
			ID, Content string
			Tags        []string
		}
		Queries []struct {
			ID, Question string
			Expected     []string `json:"expected_tags"`
		}
	}
	if err := json.Unmarshal(content, &set); err != nil {
		t.Fatal(err)
	}
	x := NewIndex()
	for _, m := range set.Memories {
		x.Set(Note{Path: strings.ReplaceAll(m.ID, ":", "_") + ".md", Body: m.Content})
	}
	x.Ready()
	var five, ten float64
	answerable, silent := 0, 0
	for _, q := range set.Queries {
		matches := x.Search(Query{Text: q.Question, Limit: 10})
		if len(q.Expected) == 0 {
			if len(matches) == 0 {
				silent++
			} else {
				t.Logf("%s has no answer, found %s: %s", q.ID, matches[0].Path, matches[0].Reason)
			}
			continue
		}
		answerable++
		hits := func(most int) (share float64) {
			for _, m := range matches[:min(most, len(matches))] {
				if slices.Contains(q.Expected, strings.ReplaceAll(strings.TrimSuffix(m.Path, ".md"), "_", ":")) {
					share += 1 / float64(len(q.Expected))
				}
			}
			return share
		}
		five, ten = five+hits(5), ten+hits(10)
		if hits(5) < 1 {
			t.Logf("%s: %.2f of 5, %.2f of 10: %v", q.ID, hits(5), hits(10), len(matches))
		}
	}
	five, ten = five/float64(answerable), ten/float64(answerable)
	t.Logf("R@5 %.3f, R@10 %.3f, silent on %d of %d without an answer", five, ten, silent, len(set.Queries)-answerable)
	if five < 0.708 || ten < 0.750 {
		t.Errorf("R@5 %.3f and R@10 %.3f, plain BM25 finds .708 and .750", five, ten)
	}
}
