package api

import (
	"fmt"
	"maps"
	"slices"
)

// Precondition is what a PUT says of the state it was made from.
type Precondition struct {
	IfMatch Tags
	Base    map[Key]*Checksum // nil: must not exist
}

// Precondition gives the precondition that the body carries, together with the
// header.
func (p *Push) Precondition(ifMatch Tags) Precondition {
	return Precondition{IfMatch: ifMatch, Base: p.BaseChecksums}
}

// Holds decides the table of protocol.md, section 1.3, for a PUT that would
// change something; a PUT whose contents already stand needs no precondition and
// must not be asked about here. version and checksum are the repo's current
// ones, version 0 meaning that it has no memory; standing gives the live checksum
// of a key, or the empty string; pending are the keys that the PUT would change.
// A nil answer means apply; otherwise it is the 412 to send.
func (p Precondition) Holds(version Version, checksum Checksum, standing func(Key) Checksum, pending []Key) *Error {
	refuse := func(why string, conflicts []Standing) *Error {
		return ConflictError(why, version, checksum, conflicts)
	}
	if p.IfMatch.Sent {
		switch {
		case p.IfMatch.Any && version == 0:
			return refuse("If-Match is *, and this repo has no memory yet", nil)
		case !p.IfMatch.Match(checksum):
			return refuse("the repo has changed since the state that If-Match names", nil)
		}
	}
	var conflicts []Standing
	var unnamed []Key
	for _, key := range pending {
		base, named := p.Base[key]
		switch now := standing(key); {
		case !named:
			unnamed = append(unnamed, key)
		case base == nil && now != "":
			conflicts = append(conflicts, Standing{Key: key, Checksum: &now})
		case base != nil && now == "":
			conflicts = append(conflicts, Standing{Key: key})
		case base != nil && *base != now:
			conflicts = append(conflicts, Standing{Key: key, Checksum: &now})
		}
	}
	if len(conflicts) > 0 {
		return refuse(fmt.Sprintf("%s changed since the state this push is based on", keysText(conflicts)), conflicts)
	}
	if p.IfMatch.Sent || len(unnamed) == 0 {
		return nil
	}
	if len(p.Base) == 0 && version == 0 {
		return nil
	}
	if len(p.Base) == 0 {
		return refuse("the repo has memory: name the state this push is based on, in If-Match or baseChecksums", nil)
	}
	return refuse(fmt.Sprintf("baseChecksums does not name %q, and there is no If-Match", unnamed[0]), nil)
}

// ConflictError is the 412 of a repo at version with checksum.
func ConflictError(why string, version Version, checksum Checksum, conflicts []Standing) *Error {
	if conflicts == nil {
		conflicts = []Standing{}
	}
	return &Error{Code: Conflict, Message: why, Details: Details{
		ErrorCode: ErrorCodeConflict, Conflicts: conflicts, Version: &version, Checksum: checksum,
	}}
}

func keysText(conflicts []Standing) string {
	if len(conflicts) == 1 {
		return fmt.Sprintf("%q", conflicts[0].Key)
	}
	return fmt.Sprintf("%d keys", len(conflicts))
}

// SortedKeys gives a map's keys in byte order.
func SortedKeys[V any](m map[Key]V) []Key { return slices.Sorted(maps.Keys(m)) }
