package memory

import (
	"path"
	"strings"

	"github.com/teammem/teammem/api"
)

// How says by what a wiki link was resolved.
type How string

// The ways, in the order in which they are tried.
const (
	ByStem How = "stem"
	ByName How = "name"
	ByFold How = "folded"
)

// Names resolves wiki links among the memories that it was made of.
type Names struct {
	stems, names, folded map[string][]api.Key
}

// NewNames indexes memories by the stem of their file, by name, and by both folded.
func NewNames(memories []Memory) Names {
	n := Names{map[string][]api.Key{}, map[string][]api.Key{}, map[string][]api.Key{}}
	add := func(to map[string][]api.Key, name string, key api.Key) {
		if name != "" {
			to[name] = append(to[name], key)
		}
	}
	for _, m := range memories {
		add(n.stems, m.Stem(), m.Key)
		add(n.names, m.Name, m.Key)
		add(n.folded, Fold(m.Stem()), m.Key)
		if m.Name != m.Stem() {
			add(n.folded, Fold(m.Name), m.Key)
		}
	}
	return n
}

// Resolve finds the file that a wiki link in another one means: by stem, else by name,
// else by either folded. A target may have folders and the ending. Where several fit,
// one in the same folder comes first.
func (n Names) Resolve(target string, from api.Key) (key api.Key, how How, ok bool) {
	folder, file := path.Split(target)
	file = strings.TrimSuffix(file, ".md")
	pick := func(found []api.Key, how How) bool {
		for _, k := range found {
			in := path.Dir(string(k))
			if folder != "" && in != path.Clean(folder) && !strings.HasSuffix(in, "/"+path.Clean(folder)) {
				continue
			}
			if !ok || in == path.Dir(string(from)) && path.Dir(string(key)) != in {
				key, ok = k, true
			}
		}
		return ok
	}
	switch {
	case pick(n.stems[file], ByStem):
		return key, ByStem, true
	case folder == "" && pick(n.names[target], ByName):
		return key, ByName, true
	case pick(n.folded[Fold(file)], ByFold):
		return key, ByFold, true
	}
	return "", "", false
}

// Fold is what two spellings of a name have in common: case and the form of letters
// aside, with spaces and underscores as dashes.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '_', '\t', '.':
			return '-'
		}
		return r
	}, strings.TrimSpace(api.Key(name).Fold()))
}
