package api

import (
	"fmt"
	"strings"
)

// RepoSlug names one memory set the way its repository is named: owner/repo, or
// host/owner/repo and deeper groups. It is always in canonical form: lower case,
// no trailing ".git". Build one with [ParseRepoSlug].
type RepoSlug string

// Bounds of a repo slug.
const (
	MaxRepoSlugBytes    = 256
	MaxRepoSlugSegments = 16
)

// ParseRepoSlug reads a slug as people and git remotes write it. Slugs compare
// without regard to case and a trailing ".git" is dropped. Segments are letters,
// digits, dot, dash and underscore; the host may carry a port.
func ParseRepoSlug(s string) (RepoSlug, error) {
	bad := func(why string) (RepoSlug, error) {
		return "", &Error{Code: InvalidRequest, Message: fmt.Sprintf("repo %q: %s; want owner/repo", clip(s), why), Details: Details{ErrorCode: ErrorCodeBadRepo}}
	}
	if s == "" {
		return bad("empty")
	}
	if len(s) > MaxRepoSlugBytes {
		return bad(fmt.Sprintf("longer than %d bytes", MaxRepoSlugBytes))
	}
	if !isASCII(s) {
		// Before letters are made small: the Kelvin sign would become a k.
		return bad("a character that is not ASCII")
	}
	slug := strings.ToLower(s)
	// All of them, so that a slug read again is the same slug.
	for strings.HasSuffix(slug, ".git") {
		slug = strings.TrimSuffix(slug, ".git")
	}
	if slug == "" {
		return bad("empty")
	}
	segments := strings.Split(slug, "/")
	if len(segments) < 2 {
		return bad("no slash")
	}
	if len(segments) > MaxRepoSlugSegments {
		return bad(fmt.Sprintf("more than %d segments", MaxRepoSlugSegments))
	}
	for i, segment := range segments {
		host := i == 0 && len(segments) > 2
		switch {
		case segment == "":
			return bad("an empty segment")
		case strings.Trim(segment, ".") == "":
			return bad("a segment of dots")
		}
		for _, r := range segment {
			ok := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' || r == '~' || r == '+' || host && r == ':'
			if !ok {
				return bad(fmt.Sprintf("the character %q is not allowed", r))
			}
		}
	}
	return RepoSlug(slug), nil
}

// clip shortens a stranger's text for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
