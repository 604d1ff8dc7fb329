// Package settings puts our hooks into an agent's settings file and takes them out
// again. The file is a person's: comments, order, indentation, line ends and a BOM
// survive, because nothing is re-serialised. A [Document] knows where each value
// stands, and an edit is a cut or an insertion at an offset.
//
// It promises that [Install] is idempotent, that [Uninstall] after it gives back the
// very bytes that were there before, also when the file was edited elsewhere in
// between, and that a file which is not understood is refused and left alone. JSON is
// read as people write it in such files: with comments and with commas at the end.
//
// It is pure: texts in, texts out. cmd/client shows the difference, asks, and writes.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Group is one entry in the list of an event: the tools it is for, and a command.
type Group struct {
	Event, Matcher, Command string
}

// ErrNotObject says that the hooks of a file stand in another form than the agent's.
var ErrNotObject = errors.New("hooks is not an object of lists")

// ErrForeign says that a file which would be ours alone is somebody else's.
var ErrForeign = errors.New("the file was not made by teammem")

const hooksKey = "hooks"

// Install adds the groups that are not there. ours tells our commands from a person's:
// a group of ours under another command (the program moved) is replaced.
func Install(text []byte, groups []Group, ours func(command string) bool) ([]byte, error) {
	if present(text, groups, ours) {
		return text, nil
	}
	text, err := Uninstall(text, ours)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if text, err = add(text, g); err != nil {
			return nil, err
		}
	}
	if _, err := Parse(text); err != nil {
		return nil, fmt.Errorf("after the edit: %w", err)
	}
	return text, nil
}

// present reports whether exactly these groups of ours are there.
func present(text []byte, groups []Group, ours func(string) bool) bool {
	found, err := Find(text, ours)
	if err != nil || len(found) != len(groups) {
		return false
	}
	for _, g := range groups {
		if !slices.Contains(found, g) {
			return false
		}
	}
	return true
}

// Find lists our groups in a file.
func Find(text []byte, ours func(command string) bool) ([]Group, error) {
	doc, err := Parse(text)
	if err != nil {
		return nil, err
	}
	var found []Group
	hooks := doc.Root.Member(hooksKey)
	if hooks == nil || hooks.Value.Kind != Object {
		return nil, nil
	}
	for _, event := range hooks.Value.Members {
		for _, group := range event.Value.Items {
			for _, command := range commandsOf(group) {
				if ours(command) {
					matcher := ""
					if m := group.Member("matcher"); m != nil {
						matcher = m.Value.Text
					}
					found = append(found, Group{Event: event.Key, Matcher: matcher, Command: command})
				}
			}
		}
	}
	return found, nil
}

func commandsOf(group *Value) []string {
	var all []string
	if m := group.Member(hooksKey); m != nil {
		for _, item := range m.Value.Items {
			if c := item.Member("command"); c != nil && c.Value.Kind == String {
				all = append(all, c.Value.Text)
			}
		}
	}
	return all
}

// add puts one group at the end of its event's list, which is made when it is missing.
func add(text []byte, g Group) ([]byte, error) {
	doc, err := Parse(text)
	if err == nil && doc.Root.Start == doc.Root.End {
		// Nothing but space and comments.
		if len(text) > 0 && text[len(text)-1] != '\n' && !bytes.Equal(text, []byte(bom)) {
			text = append(slices.Clone(text), '\n')
		}
		doc, err = Parse(append(slices.Clone(text), "{}\n"...))
	}
	if err != nil {
		return nil, err
	}
	style := doc.style()
	if doc.Root.Kind != Object {
		return nil, errors.New("the file does not hold an object")
	}
	hooks := doc.Root.Member(hooksKey)
	if hooks == nil {
		return doc.insert(doc.Root, style.member(hooksKey, style.object(1, style.member(g.Event, style.list(2, g.render(style, 3))))), 1, style), nil
	}
	if hooks.Value.Kind != Object {
		return nil, ErrNotObject
	}
	list := hooks.Value.Member(g.Event)
	if list == nil {
		return doc.insert(hooks.Value, style.member(g.Event, style.list(2, g.render(style, 3))), 2, style), nil
	}
	if list.Value.Kind != Array {
		return nil, ErrNotObject
	}
	return doc.insert(list.Value, g.render(style, 3), 3, style), nil
}

// render writes the group as an object at a depth.
func (g Group) render(s style, depth int) string {
	command := s.object(depth+2, s.member("type", quote("command")), s.member("command", quote(g.Command)))
	fields := []string{s.member(hooksKey, s.list(depth+1, command))}
	if g.Matcher != "" {
		fields = append([]string{s.member("matcher", quote(g.Matcher))}, fields...)
	}
	return s.object(depth, fields...)
}

// Uninstall takes our commands out, and what is empty then and was made for them: the
// group, the list of the event, and the object of all events. The last one goes first.
func Uninstall(text []byte, ours func(command string) bool) ([]byte, error) {
	for {
		found, err := Find(text, ours)
		if err != nil || len(found) == 0 {
			return text, err
		}
		doc, err := Parse(text)
		if err != nil {
			return nil, err
		}
		next := doc.without(found[len(found)-1], len(found), ours)
		if next == nil {
			return nil, fmt.Errorf("the hook on %s stands where it cannot be taken out", found[len(found)-1].Event)
		}
		text = next
	}
}

// without takes the last of our commands out. Of all ways to do that one is right for
// certain: that from which adding the group leads back here. Where a person has
// edited around it, it is the first that leaves a text in which one of ours is less. A
// list that was there and empty cannot be told from one that was made, and goes.
func (d *Document) without(g Group, count int, ours func(string) bool) []byte {
	path := shorten(d.last(ours))
	if len(path) < 2 {
		return nil
	}
	var likely []byte
	closing := len(d.style().brk(len(path) - 2))
	for _, text := range d.cuts(path[len(path)-2], path[len(path)-1], closing) {
		left, err := Find(text, ours)
		if err != nil || len(left) != count-1 {
			continue
		}
		if again, err := add(text, g); err == nil && bytes.Equal(again, d.text) {
			return text
		}
		if likely == nil {
			likely = text
		}
	}
	return likely
}

// last is the path from the root to the last of our commands.
func (d *Document) last(ours func(string) bool) (path []*Value) {
	hooks := d.Root.Member(hooksKey)
	if hooks == nil {
		return nil
	}
	for _, event := range hooks.Value.Members {
		for _, group := range event.Value.Items {
			m := group.Member(hooksKey)
			if m == nil {
				continue
			}
			for _, item := range m.Value.Items {
				if c := item.Member("command"); c != nil && c.Value.Kind == String && ours(c.Value.Text) {
					path = []*Value{d.Root, hooks.Value, event.Value, group, m.Value, item}
				}
			}
		}
	}
	return path
}

// shorten climbs as long as the thing above holds nothing else. A group is ours with
// its matcher.
func shorten(path []*Value) []*Value {
	for len(path) > 2 {
		above := path[len(path)-2]
		only := len(above.Items)+len(above.Members) == 1
		if len(path) == 5 { // the list of commands in its group
			only = only || len(above.Members) == 2 && above.Member("matcher") != nil
		}
		if !only {
			break
		}
		path = path[:len(path)-1]
	}
	return path
}
