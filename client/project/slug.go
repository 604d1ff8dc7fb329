package project

import (
	"strings"
	"unicode/utf16"
)

// SlugOf is the name of a project's folder, byte for byte as the agent makes it:
// every character of the root that is not an ASCII letter or digit becomes a dash.
// The agent counts characters in UTF-16, so one outside the basic plane becomes two.
// Different roots can share a slug; [Registry] finds that out.
func SlugOf(root string) string {
	var b strings.Builder
	b.Grow(len(root))
	for _, r := range root {
		switch {
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		default:
			for range utf16.RuneLen(r) {
				b.WriteByte('-')
			}
		}
	}
	return b.String()
}
