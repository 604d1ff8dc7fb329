package provider

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Claims are what a verified token says of a person.
type Claims struct {
	Issuer  string
	Subject string
	// Name is what the person is called; it is no identity.
	Name     string
	Email    string
	Verified bool // the provider vouches for the address
	Groups   []string
	// Grouped says that the groups are known, be they none.
	Grouped bool
	Issued  time.Time
	Expires time.Time
	Nonce   string
}

const (
	// maxGroups is how many groups of a person are looked at.
	maxGroups = 500
	// maxName bounds names, addresses and groups, in bytes.
	maxName = 128
)

// describe reads of claims what is wanted of a person, by the names that are
// configured.
func (cfg *Config) describe(c *Claims, claims members) {
	names := []string{"preferred_username", cfg.EmailClaim, "name"}
	if cfg.NameClaim != "" {
		names = append([]string{cfg.NameClaim}, names...)
	}
	for _, name := range names {
		if c.Name == "" {
			c.Name = clean(text(find(claims, name)))
		}
	}
	if email := clean(text(find(claims, cfg.EmailClaim))); email != "" && c.Email == "" {
		c.Email = strings.ToLower(email)
		c.Verified = isTrue(claims["email_verified"])
	}
	if raw := find(claims, cfg.GroupsClaim); raw != nil && !c.Grouped {
		c.Groups, c.Grouped = groups(raw), true
	}
}

// find finds a claim by its name, or by a path of names with dots between them.
func find(claims members, name string) json.RawMessage {
	if raw, ok := claims[name]; ok {
		return raw
	}
	first, rest, ok := strings.Cut(name, ".")
	if !ok {
		return nil
	}
	var inner members
	if json.Unmarshal(claims[first], &inner) != nil {
		return nil
	}
	return find(inner, rest)
}

func text(raw json.RawMessage) string {
	var s string
	if raw == nil || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isTrue takes the word as well: some providers write it so.
func isTrue(raw json.RawMessage) bool {
	var b bool
	return json.Unmarshal(raw, &b) == nil && b || text(raw) == "true"
}

func groups(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		if list = nil; text(raw) != "" {
			list = []string{text(raw)}
		}
	}
	var good []string
	for _, group := range list {
		if group = clean(group); group != "" && len(good) < maxGroups {
			good = append(good, group)
		}
	}
	slices.Sort(good)
	return slices.Compact(good)
}

// clean takes of a name what can be shown and stored, and nothing of one that is
// too long: half a group is another group.
func clean(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxName || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return s
}
