// Package syncer brings one memory directory and one repo at a server to agree.
//
// It has two halves. [Plan] is pure: from what stands in the directory, what both
// sides last agreed on, and what the server has now, it makes a list of actions
// that one can print. [Syncer] is the loop that looks, plans and carries out; it
// is dull on purpose.
//
// What it promises (promises.md, section 2): no byte sequence that stood in the
// directory at a quiet moment is ever lost; a key is written at the server only on
// the base it was edited from; nothing is deleted but by an explicit tombstone of
// exactly the bytes that stand there; the state on disk lags what was done and
// never leads it; with nothing to do, nothing is written on either side.
package syncer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/teammem/teammem/api"
)

// Input is everything a plan depends on. Absent keys have empty checksums.
type Input struct {
	Local   map[api.Key]Local
	Base    map[api.Key]api.Checksum // last agreed by both sides
	Remote  map[api.Key]api.Checksum // live at the server
	Deleted map[api.Key]api.Checksum // tombstones at the server: what was deleted
	Applied map[api.Key]api.Checksum // tombstones that were carried out here before

	// Propagate makes the deletion of a file delete its entry. By default the
	// file comes back, as with the stock client.
	Propagate bool
	// Offer is for a server that was restored from a backup, once a person has
	// agreed: what we have is newer, so nothing is overwritten here, and what
	// differs is pushed.
	Offer bool
	// Redacted are contents that an administrator withdrew.
	Redacted map[api.Checksum]bool
	// Seen reports whether a text was ever here. It is asked with Offer only.
	Seen func(api.Checksum) bool
}

// Local is one file of the directory.
type Local struct {
	Checksum api.Checksum
	// Blocked is a file that is there but was left out: unreadable, too large, a
	// link. It is neither pushed nor replaced nor removed.
	Blocked bool
}

// Kind is what an action does.
type Kind string

// The kinds. The first three change nothing but the state.
const (
	Agree  Kind = "agree"  // both sides hold the same
	Forget Kind = "forget" // both sides have dropped it
	Settle Kind = "settle" // a deletion at the server that needs nothing here

	Pull     Kind = "pull"     // write the server's text
	Remove   Kind = "remove"   // remove the file, its bytes are the deleted ones
	Redact   Kind = "redact"   // remove the file without a trace, its bytes were withdrawn
	Rename   Kind = "rename"   // the server changed the spelling of the key From
	Conflict Kind = "conflict" // both sides changed: merge, or keep ours aside

	Push    Kind = "push"    // write at the server, on Base
	Delete  Kind = "delete"  // delete at the server, on Base
	Respell Kind = "respell" // change the spelling of the key From at the server, on Base

	Hold    Kind = "hold"    // cannot be pushed under this name
	Blocked Kind = "blocked" // the server has news for a file that cannot be touched
	Missing Kind = "missing" // the server lacks it and does not say it was deleted
)

// Action is one line of a plan.
type Action struct {
	Kind   Kind
	Key    api.Key
	From   api.Key      // of a Rename or Respell: the old spelling
	Local  api.Checksum // what stands in the directory, and must still stand there
	Base   api.Checksum // what the push is based on; empty: must not exist
	Remote api.Checksum // the server's
	Why    string       // of a Hold
}

// String is the action for a log or a test.
func (a Action) String() string {
	s := fmt.Sprintf("%s %s", a.Kind, a.Key)
	if a.From != "" {
		s += " from " + string(a.From)
	}
	if a.Why != "" {
		s += ": " + a.Why
	}
	return s
}

// Plan decides, key by key and in key order. It is pure and total: equal inputs
// give equal plans, and whatever the input, carrying the plan out and planning
// again comes to an end.
func Plan(in Input) []Action {
	p := planner{Input: in}
	keys := map[api.Key]struct{}{}
	for key, local := range in.Local {
		// Where all three hold the same, which is most keys of most rounds, there is
		// nothing to decide.
		if local.Blocked || local.Checksum == "" || local.Checksum != in.Base[key] || local.Checksum != in.Remote[key] {
			keys[key] = struct{}{}
		}
	}
	for _, m := range []map[api.Key]api.Checksum{in.Base, in.Remote, in.Deleted} {
		for key := range m {
			if _, seen := in.Local[key]; !seen {
				keys[key] = struct{}{}
			}
		}
	}
	var plan []Action
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if action, ok := p.decide(key); ok {
			action.Key = key
			switch action.Kind {
			case Rename:
				action.Key, action.From = p.remoteTwin(key), key
				action.Remote = in.Remote[action.Key]
			case Respell:
				action.From = p.remoteTwin(key)
				action.Base = in.Remote[action.From]
			}
			plan = append(plan, action)
		}
	}
	return plan
}

type planner struct {
	Input
	names *names // made when first asked for
}

// decide is the whole table: local, base, remote. ok is false for nothing to do.
func (p *planner) decide(key api.Key) (a Action, ok bool) {
	local, base, remote, deleted := p.Local[key], p.Base[key], p.Remote[key], p.Deleted[key]
	at := func(kind Kind, base api.Checksum) (Action, bool) {
		return Action{Kind: kind, Local: local.Checksum, Base: base, Remote: remote}, true
	}
	switch {
	case local.Blocked:
		if remote != base {
			return at(Blocked, base)
		}
		return Action{}, false
	case local.Checksum != remote && p.Redacted[local.Checksum]:
		return at(Redact, base)
	case local.Checksum == remote && remote != "":
		if base != remote {
			return at(Agree, base)
		}
		return Action{}, false
	case local.Checksum == "" && remote == "":
		switch {
		case deleted != "" && p.Applied[key] != deleted:
			return at(Settle, base)
		case base != "":
			return at(Forget, base)
		}
		return Action{}, false
	case local.Checksum == "":
		if p.otherSpelling(key) {
			return Action{}, false // its action covers this one
		}
		if p.Propagate && base == remote {
			return at(Delete, remote)
		}
		return at(Pull, base)
	case remote == "":
		return p.decideGone(key, at)
	case base == remote, p.Offer && p.Seen(remote):
		return at(Push, remote)
	case p.Offer:
		// Not an old text that came back but one that was never here: another
		// client has offered it. What was agreed before tells nothing of it.
		return at(Conflict, "")
	case base == local.Checksum:
		return at(Pull, base)
	}
	return at(Conflict, base)
}

// decideGone is the part of the table for a file whose key is not live at the
// server.
func (p *planner) decideGone(key api.Key, at func(Kind, api.Checksum) (Action, bool)) (Action, bool) {
	local, base, deleted := p.Local[key].Checksum, p.Base[key], p.Deleted[key]
	switch {
	case p.renamedThere(key):
		return at(Rename, base)
	case p.respelledHere(key):
		return at(Respell, base)
	case p.Applied[key] != deleted && !p.Offer && deleted != "" && (deleted == local || base == local):
		// What was deleted is what is here, or an older text that nobody touched here:
		// this client slept through an edit and the deletion after it.
		return at(Remove, base)
	}
	if why := p.nameClash(key); why != "" {
		action, _ := at(Hold, base)
		action.Why = why
		return action, true
	}
	if deleted == "" && base != "" && !p.Offer {
		return at(Missing, base)
	}
	// New; or changed since it was deleted, and then the edit wins; or put back
	// by hand after the deletion was carried out, which is a wish to restore.
	return at(Push, "")
}

// renamedThere reports whether the server replaced this spelling of the key by
// another one that we do not have: a rename, which is never carried out by half.
func (p *planner) renamedThere(key api.Key) bool {
	twin := p.remoteTwin(key)
	return twin != "" && p.Base[key] != "" && p.Local[twin].Checksum == "" && !p.Local[twin].Blocked
}

// respelledHere reports whether the file's name was changed in its spelling only,
// since the server's spelling was last agreed on. That is a wish to rename, where
// a file that is merely gone is none to delete.
func (p *planner) respelledHere(key api.Key) bool {
	twin := p.remoteTwin(key)
	if twin == "" || p.Base[twin] != p.Remote[twin] || p.Base[key] != "" || len(p.index().local[key.Fold()]) != 1 {
		return false
	}
	_, err := api.ParseKey(string(key))
	return err == nil
}

// otherSpelling reports whether the one file that differs from key in spelling
// only has an action that covers both.
func (p *planner) otherSpelling(key api.Key) bool {
	for _, twin := range p.index().local[key.Fold()] {
		file := p.Local[twin]
		if twin != key && file.Checksum != "" && p.Remote[twin] == "" && (p.renamedThere(twin) || p.respelledHere(twin)) {
			return true
		}
	}
	return false
}

// remoteTwin is the live key at the server that differs from key in spelling
// only.
func (p *planner) remoteTwin(key api.Key) api.Key {
	if twin := p.index().remote[key.Fold()]; twin != key {
		return twin
	}
	return ""
}

// nameClash says why a new key cannot stand beside the others, or nothing.
func (p *planner) nameClash(key api.Key) string {
	if _, err := api.ParseKey(string(key)); err != nil {
		return err.Error()
	}
	if twin := p.remoteTwin(key); twin != "" {
		return fmt.Sprintf("differs from %s at the server only in letter case or Unicode form; rename or remove one", twin)
	}
	n := p.index()
	for _, twin := range n.local[key.Fold()] {
		if twin != key && (p.Base[twin] != "" || p.Base[key] == "" && twin < key) {
			return fmt.Sprintf("differs from %s only in letter case or Unicode form; rename or remove one", twin)
		}
	}
	for _, dir := range key.Ancestors() {
		if file := n.remote[dir.Fold()]; file != "" {
			return fmt.Sprintf("lies below %s, which is a file at the server; rename one of the two", file)
		}
	}
	if inside := n.below[key.Fold()]; inside != "" {
		return fmt.Sprintf("is a directory of another key at the server: %s; rename one of the two", inside)
	}
	return ""
}

// names finds keys by what their spellings have in common.
type names struct {
	remote map[string]api.Key   // live keys at the server
	below  map[string]api.Key   // for each of their directories, one key inside
	local  map[string][]api.Key // files here
}

func (p *planner) index() *names {
	if p.names != nil {
		return p.names
	}
	p.names = &names{
		remote: make(map[string]api.Key, len(p.Remote)),
		below:  map[string]api.Key{},
		local:  make(map[string][]api.Key, len(p.Local)),
	}
	for _, key := range api.SortedKeys(p.Remote) {
		if p.Remote[key] == "" {
			continue
		}
		p.names.remote[key.Fold()] = key
		for _, dir := range key.Ancestors() {
			p.names.below[dir.Fold()] = key
		}
	}
	for _, key := range api.SortedKeys(p.Local) {
		fold := key.Fold()
		p.names.local[fold] = append(p.names.local[fold], key)
	}
	return p.names
}
