package lint

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
)

// Two memories are near duplicates when they share so much of their runs of words, or
// when both have one name or one description.
const (
	runWords   = 4
	alike      = 0.6
	fewestRuns = 8
	commonRun  = 20 // a run that more memories share is a form, not a content
)

// twins looks for near duplicates. The later one in the list, which is the older file, is
// named.
func (l *linter) twins() {
	holders := map[uint64][]int{}
	runs := make([]map[uint64]bool, len(l.files))
	said := map[string]int{}
	for i, f := range l.files {
		if f.index || isLog(f) {
			continue
		}
		runs[i] = runsOf(f)
		for run := range runs[i] {
			holders[run] = append(holders[run], i)
		}
	}
	for i, f := range l.files {
		if f.index || isLog(f) {
			continue
		}
		if other, score := l.nearest(i, runs, holders); score >= alike {
			l.twin(f, l.files[other], fmt.Sprintf("%d %% of it stands in %s as well", int(100*score), l.files[other].Key))
			continue
		}
		if other, ok := said[sayingOf(f)]; ok && sayingOf(f) != "" {
			l.twin(f, l.files[other], fmt.Sprintf("it has the name and description of %s", l.files[other].Key))
		} else {
			said[sayingOf(f)] = i
		}
	}
}

func (l *linter) twin(f, other *file, message string) {
	l.find(f, "near-duplicate", Warning, 0, message, fmt.Sprintf("put what is new into %s and delete this one, or say in the descriptions how they differ", other.Key))
}

// nearest is the file before the i-th that shares most of the smaller one's runs.
func (l *linter) nearest(i int, runs []map[uint64]bool, holders map[uint64][]int) (other int, score float64) {
	if len(runs[i]) < fewestRuns {
		return 0, 0
	}
	shared := map[int]int{}
	for run := range runs[i] {
		if with := holders[run]; len(with) <= commonRun {
			for _, j := range with {
				if j < i && len(runs[j]) >= fewestRuns {
					shared[j]++
				}
			}
		}
	}
	for j, n := range shared {
		s := float64(n) / float64(len(runs[i])+len(runs[j])-n)
		if s > score || s == score && j < other {
			other, score = j, s
		}
	}
	return other, score
}

// runsOf hashes every run of words of a memory's text.
func runsOf(f *file) map[uint64]bool {
	head := memory.Parse(f.text)
	words := strings.FieldsFunc(api.Key(f.text[head.Body:]).Fold(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	runs := map[uint64]bool{}
	for i := 0; i+runWords <= len(words); i++ {
		h := fnv.New64a()
		for _, word := range words[i : i+runWords] {
			_, _ = h.Write([]byte(word + " "))
		}
		runs[h.Sum64()] = true
	}
	return runs
}

// sayingOf is name and description, folded; empty where either is missing.
func sayingOf(f *file) string {
	if f.Name == "" || f.Description == "" {
		return ""
	}
	return memory.Fold(f.Name) + "\n" + memory.Fold(f.Description)
}
