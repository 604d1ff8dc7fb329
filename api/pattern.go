package api

import (
	"fmt"
	"path"
	"strings"
)

// Pattern names keys: a path in which * stands for any part of a segment, ? for one
// character, […] for one of several, and a segment ** for any number of segments,
// none included. Letter case and Unicode form make no difference, as twins would
// otherwise be a way around it.
type Pattern string

// ParsePattern checks a pattern.
func ParsePattern(s string) (Pattern, error) {
	switch {
	case s == "":
		return "", fmt.Errorf("a pattern is empty: ** means every key")
	case len(s) > MaxKeyBytes:
		return "", fmt.Errorf("a pattern is longer than %d bytes", MaxKeyBytes)
	case strings.ContainsAny(s, `{}\`):
		return "", fmt.Errorf("the pattern %q has braces or a backslash: write one rule for each alternative", clip(s))
	case strings.HasPrefix(s, "/"):
		return "", fmt.Errorf("the pattern %q begins with a slash: keys do not", clip(s))
	}
	stars := 0
	for segment := range strings.SplitSeq(s, "/") {
		if segment == "" {
			return "", fmt.Errorf("the pattern %q has an empty segment", clip(s))
		}
		if segment == "**" {
			stars++
		}
		if _, err := path.Match(segment, ""); err != nil {
			return "", fmt.Errorf("the pattern %q cannot be read: a bracket is not closed", clip(s))
		}
	}
	if stars > maxDoubleStars {
		return "", fmt.Errorf("the pattern %q has more than %d segments **", clip(s), maxDoubleStars)
	}
	return Pattern(s), nil
}

// maxDoubleStars bounds the work of a match, which grows with each of them.
const maxDoubleStars = 4

// Match reports whether the pattern names the key. A pattern that cannot be read
// names every key: it was meant to protect something.
func (p Pattern) Match(key Key) bool {
	if _, err := ParsePattern(string(p)); err != nil {
		return true
	}
	return matchSegments(strings.Split(Key(p).Fold(), "/"), strings.Split(key.Fold(), "/"))
}

func matchSegments(pattern, key []string) bool {
	for i, segment := range pattern {
		if segment == "**" {
			for skip := i; skip <= len(key); skip++ {
				if matchSegments(pattern[i+1:], key[skip:]) {
					return true
				}
			}
			return false
		}
		if i == len(key) {
			return false
		}
		if ok, _ := path.Match(segment, key[i]); !ok {
			return false
		}
	}
	return len(pattern) == len(key)
}
