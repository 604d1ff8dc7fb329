package curate

import (
	"fmt"
	"path"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
)

// Move gives a memory another name or folder within its scope. Links to it follow: the
// lines of indexes, links in other memories, wiki links that name the file; and so do
// the links that the memory itself holds, when its folder changes.
func (l Library) Move(from, to api.Key) ([]Change, error) {
	if l.isTeam(from) != l.isTeam(to) {
		if l.isTeam(to) {
			return nil, &Refused{"a move does not leave the private directory", fmt.Sprintf("client memory promote %s shows what would leave, and asks", from)}
		}
		return nil, &Refused{"a move does not leave the team's directory: the others would lose it", "copy the text with client memory show, and make a private memory of it"}
	}
	if from == to {
		return nil, &Refused{fmt.Sprintf("%s has that name", from), "give another one"}
	}
	if err := l.free(to); err != nil && from.Fold() != to.Fold() {
		return nil, err
	}
	return l.move(from, to)
}

// move is the new file, the files whose links follow, and the old file's end, in this
// order: at no time is the text nowhere.
func (l Library) move(from, to api.Key) ([]Change, error) {
	before, err := l.Read(from)
	if err != nil {
		return nil, err
	}
	f := follower{from: from, to: to, names: memory.NewNames(l.List.Memories)}
	changes := []Change{{Key: to, After: f.own(before)}}
	for _, key := range l.all() {
		if key == from {
			continue
		}
		text, err := l.Read(key)
		if err != nil {
			return nil, err
		}
		if edits := f.edits(key, text); len(edits) > 0 {
			changes = append(changes, Change{Key: key, Before: text, After: apply(text, edits)})
		}
	}
	return append(changes, Change{Key: from, Before: before}), nil
}

// all lists the indexes and the memories.
func (l Library) all() []api.Key {
	keys := append([]api.Key{}, l.List.Indexes...)
	for _, m := range l.List.Memories {
		keys = append(keys, m.Key)
	}
	return keys
}

// follower rewrites links to a file that moves.
type follower struct {
	from, to api.Key
	names    memory.Names
}

// edits are the links in another file that have to follow.
func (f follower) edits(key api.Key, text []byte) []edit {
	folder := path.Dir(string(key))
	var edits []edit
	for _, link := range memory.Links(text) {
		if link.Path(folder) == string(f.from) {
			edits = append(edits, retarget(link, Relative(folder, f.to)))
		}
	}
	return append(edits, f.wiki(key, text)...)
}

// retarget replaces a link's target but for the heading behind it. A target that was
// written with percent signs stays so.
func retarget(link memory.Link, to string) edit {
	file, heading, found := strings.Cut(link.Target, "#")
	if found {
		heading = "#" + heading
	}
	if strings.HasPrefix(file, "./") {
		to = "./" + to
	}
	if strings.Contains(file, "%20") || !strings.Contains(file, " ") {
		to = strings.ReplaceAll(to, " ", "%20")
	}
	return edit{link.Offset, len(link.Target), to + heading}
}

// wiki are the wiki links that name the file. One that names the memory stays right.
func (f follower) wiki(key api.Key, text []byte) []edit {
	var edits []edit
	for _, w := range memory.WikiLinks(text) {
		to, how, ok := f.names.Resolve(w.Target, key)
		if !ok || to != f.from || how == memory.ByName {
			continue
		}
		stem := stemOf(f.to)
		if how == memory.ByFold && memory.Fold(w.Target) == memory.Fold(stem) {
			continue
		}
		if strings.HasSuffix(w.Target, ".md") {
			stem += ".md"
		}
		if folder := path.Dir(w.Target); folder != "." {
			stem = path.Join(path.Dir(string(f.to)), stem)
		}
		edits = append(edits, edit{w.Offset, len(w.Target), stem})
	}
	return edits
}

// own is the text of the file that moves: relative links lead on to where they led.
func (f follower) own(text []byte) []byte {
	was, is := path.Dir(string(f.from)), path.Dir(string(f.to))
	var edits []edit
	for _, link := range memory.Links(text) {
		at := link.Path(was)
		switch {
		case at == string(f.from):
			edits = append(edits, retarget(link, Relative(is, f.to)))
		case at != "" && was != is:
			edits = append(edits, retarget(link, Relative(is, api.Key(at))))
		}
	}
	return apply(text, append(edits, f.wiki(f.from, text)...))
}

func stemOf(key api.Key) string { return strings.TrimSuffix(path.Base(string(key)), ".md") }
