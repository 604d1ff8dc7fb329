package claudemd

import (
	"errors"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
)

// Index reads the index of a memory directory, for [Memories] and for the list of
// files: how much of it is loaded. A directory without one gives false. The directory
// itself is the person's choice; a link in it is not followed.
func Index(fsys fs.FS, dir string, layer Layer) (content []byte, f File, ok bool) {
	t := tree{fsys: fsys, seen: map[string]spot{}}
	f = File{Path: path.Join(dir, string(api.IndexKey)), Layer: layer, Why: "the index of the " + string(layer)}
	s := t.look(f.Path)
	if errors.Is(s.err, fs.ErrNotExist) {
		return nil, File{}, false
	}
	var err error
	if folder := t.look(dir); s.err == nil && folder.err == nil && path.Dir(s.real) != folder.real {
		err = errors.New("it is a link")
	} else {
		content, err = t.read(s, MaxBytes)
	}
	if err == nil && len(content) > MaxBytes {
		err = errors.New(tooLarge)
	}
	if err != nil {
		f.State, f.Why = Skipped, cause(err)
		return nil, f, true
	}
	cut := memory.CutIndex(content)
	f.State, f.Size = Loaded, int64(len(content))
	f.Bytes, f.Tokens = len(cut.Text), Tokens(utf8.RuneCountInString(cut.Text))
	if cut.Over() {
		f.State, f.Warning = Cut, cut.Warning()
	}
	return content, f, true
}
