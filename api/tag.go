package api

import (
	"slices"
	"strings"
)

// Tags is an If-Match or If-None-Match header, read. The zero value means that
// the header was not sent.
type Tags struct {
	Sent bool
	Any  bool       // "*"
	List []Checksum // the tags that can be ours; strangers' tags are left out
}

// Match reports whether the tags name the state with this checksum.
func (t Tags) Match(current Checksum) bool {
	return t.Sent && (t.Any || slices.Contains(t.List, current))
}

// ParseTags reads the values of one header, all lines of it. It takes our
// checksum however a proxy has damaged it: quoted or bare, weak outside or inside
// the quotes, with or without "sha256:", with a suffix such as -gzip, in a list.
// A well-formed tag that cannot be ours never matches; what cannot be read as an
// entity tag at all is an error, never a match.
func ParseTags(lines []string) (Tags, error) {
	if len(lines) == 0 {
		return Tags{}, nil
	}
	tags := Tags{Sent: true}
	items := splitTags(strings.Join(lines, ","))
	for _, item := range items {
		if item == "*" {
			tags.Any = true
			continue
		}
		sum, ok := readTag(item)
		if !ok {
			return Tags{}, &Error{
				Code:    InvalidRequest,
				Message: "the precondition cannot be read as an entity tag: send the ETag of an earlier answer, with its quotes",
				Details: Details{ErrorCode: ErrorCodeBadPrecond},
			}
		}
		if sum != "" {
			tags.List = append(tags.List, sum)
		}
	}
	if tags.Any && len(items) > 1 {
		return Tags{}, &Error{
			Code:    InvalidRequest,
			Message: "the precondition mixes * with entity tags: send one or the other",
			Details: Details{ErrorCode: ErrorCodeBadPrecond},
		}
	}
	return tags, nil
}

// splitTags splits at the commas outside of quotes.
func splitTags(s string) []string {
	var items []string
	quoted, from := false, 0
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			items = append(items, strings.Trim(s[from:i], " \t"))
			from = i + 1
		}
	}
	return append(items, strings.Trim(s[from:], " \t"))
}

// readTag reads one tag; sum is empty when the tag is well formed and not ours.
func readTag(item string) (sum Checksum, ok bool) {
	body := trimWeak(item)
	opaque, quoted := strings.CutPrefix(body, `"`)
	if quoted {
		end := strings.IndexByte(opaque, '"')
		if end < 0 || !isCodingSuffix(opaque[end+1:]) || !isOpaque(opaque[:end]) {
			return "", false
		}
		opaque = opaque[:end]
	}
	sum = ourTag(opaque)
	return sum, quoted || sum != ""
}

// ourTag finds our checksum in a tag's text.
func ourTag(s string) Checksum {
	digits := strings.TrimPrefix(strings.ToLower(trimWeak(s)), ChecksumPrefix)
	const n = ChecksumLen - len(ChecksumPrefix)
	if len(digits) < n || !isLowerHex(digits[:n]) || !isCodingSuffix(digits[n:]) {
		return ""
	}
	return Checksum(ChecksumPrefix + digits[:n])
}

func trimWeak(s string) string {
	if len(s) >= 2 && (s[0] == 'W' || s[0] == 'w') && s[1] == '/' {
		return s[2:]
	}
	return s
}

// isCodingSuffix knows what compressing proxies append to a tag: nothing, or a
// coding behind one of their separators.
func isCodingSuffix(s string) bool {
	if s == "" {
		return true
	}
	coding := strings.TrimLeft(s, "-;")
	return len(coding) < len(s) && slices.Contains([]string{"gzip", "br", "zstd", "deflate"}, strings.ToLower(coding))
}

// isOpaque reports whether s may stand between the quotes of an entity tag
// (RFC 9110, section 8.8.3).
func isOpaque(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x21 || c == '"' || c == 0x7F {
			return false
		}
	}
	return true
}
