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

// NoRole is what somebody is on repos that are taken away from them.
const NoRole Role = "none"

// Lesser gives the lower of two roles. What is no role is lower than all.
func (r Role) Lesser(other Role) Role {
	if r.rank() < other.rank() {
		return r
	}
	return other
}

// Greater gives the higher of two roles.
func (r Role) Greater(other Role) Role {
	if r.rank() > other.rank() {
		return r
	}
	return other
}

func (r Role) rank() int { return slices.Index(Roles, r) }

// Scope narrows what a token may do of what its role holds.
type Scope string

// The scopes.
const (
	FullScope  Scope = ""      // all that the role holds
	ReadScope  Scope = "read"  // reading
	WriteScope Scope = "write" // reading and writing
)

// ParseScope reads a scope's name; "all" and nothing are the full one.
func ParseScope(s string) (Scope, error) {
	switch s {
	case "", "all":
		return FullScope, nil
	case string(ReadScope), string(WriteScope):
		return Scope(s), nil
	}
	return "", fmt.Errorf("no scope %q: want one of read, write, all", clip(s))
}

// Admits reports whether the scope leaves the right.
func (s Scope) Admits(right Right) bool {
	switch s {
	case FullScope:
		return true
	case ReadScope:
		return right == Public || right == Known || right == Read
	case WriteScope:
		return right == Public || right == Known || right == Read || right == Write
	}
	return false
}

// Right is what a route asks of its caller.
type Right string

// The rights. Public needs no token at all.
const (
	Public Right = "public"
	Known  Right = "known" // any valid token
	Read   Right = "read"
	Write  Right = "write" // or propose, where a review rule of the policy names the role
	// Review is approving and rejecting what is proposed to a repo.
	Review Right = "review"
	// Accept is letting through, in the whole organization, what the scan found.
	Accept Right = "accept findings"
	// Administer is members, groups, tokens of others, limits, names, policy, audit.
	Administer Right = "administer"
)

// leastRole is the table of rights: the least role that holds each.
var leastRole = map[Right]Role{
	Known: Viewer,
	Read:  Viewer,
	Write: Member,

	Review:     Maintainer,
	Accept:     Maintainer,
	Administer: Admin,
}

// OfRepo reports whether a right is held on single repos, so that a route's repo
// decides about it.
func (r Right) OfRepo() bool { return r == Read || r == Write || r == Review }

// May reports whether the role holds the right. An unknown role or right holds
// nothing.
func (r Role) May(right Right) bool {
	if right == Public {
		return true
	}
	least, ok := leastRole[right]
	return ok && r.rank() >= 0 && r.rank() >= least.rank()
}
