package curate

import (
	"fmt"
	"path"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
)

// Promotion is what promoting a memory comes to.
type Promotion struct {
	Key     api.Key // in the team's directory
	Changes []Change
	// Stay are links of the memory that lead to what stays private: nobody else can
	// follow them.
	Stay []string
}

// Promote moves a private memory into the team's directory, and its line from the
// private index to the team's. Nothing of it is done until the caller carries out the
// changes; that it is scanned and asked about is the caller's duty.
func (l Library) Promote(m memory.Memory) (Promotion, error) {
	var p Promotion
	switch {
	case l.TeamPrefix == "":
		return p, &Refused{"there is no private directory beside this one", "leave --dir out, and stand in the project"}
	case l.isTeam(m.Key):
		return p, &Refused{fmt.Sprintf("%s is the team's already", m.Key), "client memory list --scope private shows what is not"}
	case m.Type == memory.User:
		return p, userIsPrivate(m.Key)
	}
	p.Key = api.Key(l.TeamPrefix + string(m.Key))
	if err := l.free(p.Key); err != nil {
		return p, err
	}
	changes, err := l.move(m.Key, p.Key)
	if err != nil {
		return p, err
	}
	p.Stay = l.staying(m.Key)
	p.Changes, err = l.carryLine(m, p.Key, changes)
	return p, err
}

// staying lists the links of a memory to private ones.
func (l Library) staying(key api.Key) []string {
	text, err := l.Read(key)
	if err != nil {
		return nil
	}
	names := memory.NewNames(l.List.Memories)
	var stay []string
	for _, w := range memory.WikiLinks(text) {
		if to, _, ok := names.Resolve(w.Target, key); ok && to != key && !l.isTeam(to) {
			stay = append(stay, string(to))
		}
	}
	for _, link := range memory.Links(text) {
		if at := api.Key(link.Path(path.Dir(string(key)))); at != "" && at != key && !l.isTeam(at) {
			stay = append(stay, string(at))
		}
	}
	slices.Sort(stay)
	return slices.Compact(stay)
}

// carryLine takes the entry out of the private index and puts it into the team's.
func (l Library) carryLine(m memory.Memory, to api.Key, changes []Change) ([]Change, error) {
	team, line, err := l.entryFor(to, m.Title(), m.Description)
	if err != nil {
		return nil, err
	}
	if i := indexOf(changes, l.IndexFor(m.Key)); i >= 0 {
		line = takeEntry(&changes[i], to, team.Key, line)
	}
	if i := indexOf(changes, team.Key); i >= 0 {
		changes[i].After = AddLine(changes[i].After, line)
		return changes, nil
	}
	team.After = AddLine(team.Before, line)
	// The memory, then the team's index, then what is private.
	return slices.Insert(changes, 1, team), nil
}

func indexOf(changes []Change, key api.Key) int {
	return slices.IndexFunc(changes, func(c Change) bool { return c.Key == key })
}

// takeEntry takes the entry that leads to a key by now out of an index, and gives the
// line for another index: in its own words where it has any.
func takeEntry(c *Change, to, index api.Key, line string) string {
	for _, link := range memory.Links(c.After) {
		if !link.Entry || link.Path(path.Dir(string(c.Key))) != string(to) {
			continue
		}
		_, c.After = takeLine(c.After, link.Offset)
		if !link.Bare {
			line = Line(link.Title, Relative(path.Dir(string(index)), to), link.Hook)
		}
		break
	}
	return line
}
