package tui

import (
	"fmt"
	"strconv"
	"strings"
)

// picksShown is how many of the things to pick from are listed at once; a word narrows
// them down.
const picksShown = 20

// Pick lets a person pick one of several lines: by its number, or by a word that only one
// of all holds; a word that several hold narrows the list down. It reports false where
// nobody can be asked, and when nothing was picked.
func (t *Terminal) Pick(question string, lines []string) (picked int, ok bool) {
	if t.opts.In == nil {
		return 0, false
	}
	listed := make([]int, len(lines))
	for i := range lines {
		listed[i] = i
	}
	for range 20 {
		for n, i := range listed[:min(len(listed), picksShown)] {
			t.writeErr(fmt.Sprintf("%3d  %s\n", n+1, Escape(lines[i])))
		}
		if more := len(listed) - picksShown; more > 0 {
			t.writeErr(fmt.Sprintf("     and %d more\n", more))
		}
		t.writeErr(Escape(question) + " A number, or a word to narrow down: ")
		answer, err := t.line()
		answer = strings.TrimSpace(answer)
		n, wrong := strconv.Atoi(answer)
		switch {
		case wrong == nil && n >= 1 && n <= min(len(listed), picksShown):
			return listed[n-1], true
		case answer == "" || err != nil:
			return 0, false
		case wrong == nil:
			t.writeErr("there is no number " + strconv.Itoa(n) + " here\n")
			continue // a number is never a word: it would pick what nobody meant
		}
		if near := holding(lines, answer); len(near) == 1 {
			return near[0], true
		} else if len(near) > 0 {
			listed = near
		} else {
			t.writeErr("nothing like that\n")
		}
	}
	return 0, false
}

// holding gives the lines that hold a word, whatever its case.
func holding(lines []string, word string) []int {
	var found []int
	for i, line := range lines {
		if strings.Contains(strings.ToLower(line), strings.ToLower(word)) {
			found = append(found, i)
		}
	}
	return found
}
