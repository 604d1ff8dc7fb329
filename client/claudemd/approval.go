package claudemd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Approvals are the files and folders outside a project that its instructions may
// import. They are kept in one file of the client's state directory, never in the
// project: a repository must not approve itself.
type Approvals struct{ file string }

// approvals is the form of the file.
type approvals struct {
	Project string   `json:"project"`
	Paths   []string `json:"paths"` // real paths, sorted
}

// NewApprovals works on a file, which need not exist.
func NewApprovals(file string) Approvals { return Approvals{file: file} }

// List gives the approved paths.
func (a Approvals) List() ([]string, error) {
	kept, err := a.read()
	return kept.Paths, err
}

func (a Approvals) read() (approvals, error) {
	var kept approvals
	if a.file == "" {
		return kept, nil
	}
	content, err := os.ReadFile(a.file)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &kept)
	}
	if err != nil {
		return approvals{}, fmt.Errorf("read the approvals: %w", err)
	}
	return kept, nil
}

// Change adds paths, or takes them away, for a project. It reports how many there are
// that were not there before, or were.
func (a Approvals) Change(project string, remove bool, paths ...string) (int, error) {
	kept, err := a.read()
	if err != nil {
		return 0, err
	}
	changed := 0
	for _, p := range paths {
		at, found := slices.BinarySearch(kept.Paths, p)
		switch {
		case found && remove:
			kept.Paths = slices.Delete(kept.Paths, at, at+1)
		case !found && !remove:
			kept.Paths = slices.Insert(kept.Paths, at, p)
		default:
			continue
		}
		changed++
	}
	if changed == 0 {
		return 0, nil
	}
	kept.Project = project
	content, err := json.MarshalIndent(kept, "", "  ")
	if err == nil {
		err = a.write(append(content, '\n'))
	}
	if err != nil {
		return 0, fmt.Errorf("keep the approvals: %w", err)
	}
	return changed, nil
}

func (a Approvals) write(content []byte) error {
	if err := os.MkdirAll(filepath.Dir(a.file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(a.file), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), a.file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
