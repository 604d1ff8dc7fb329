package api

import (
	"fmt"
	"slices"
)

// Role is what a person or a machine is in one organization. Roles are ordered:
// each may do all that the one before may.
type Role string

// The roles, from least to most.
const (
	Viewer     Role = "viewer"     // reads
	Member     Role = "member"     // reads, writes, deletes by tombstone, restores
	Maintainer Role = "maintainer" // approves, sets policy of a repo
	Admin      Role = "admin"      // members, tokens, policy, redaction
)

// Roles lists them in order.
var Roles = []Role{Viewer, Member, Maintainer, Admin}

// ParseRole reads a role's name.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains(Roles, r) {
		return r, nil
	}
	return "", fmt.Errorf("no role %q: want one of viewer, member, maintainer, admin", clip(s))
}

// Right is what a route asks of its caller.
type Right string

// The rights. Public needs no token at all.
const (
	Public Right = "public"
	Known  Right = "known" // any valid token
	Read   Right = "read"
	Write  Right = "write"
)

// leastRole is the table of rights: the least role that holds each.
var leastRole = map[Right]Role{
	Known: Viewer,
	Read:  Viewer,
	Write: Member,
}

// May reports whether the role holds the right. An unknown role or right holds
// nothing.
func (r Role) May(right Right) bool {
	if right == Public {
		return true
	}
	least, ok := leastRole[right]
	return ok && slices.Contains(Roles, r) && slices.Index(Roles, r) >= slices.Index(Roles, least)
}
