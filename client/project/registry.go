package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
)

// Registry remembers which team directory belongs to which root, one small file
// each. It is how two projects that share a folder name are told apart before
// anything of one is sent to the other's repo, and how a second clone of a repo is
// noticed.
type Registry struct {
	dir string
}

// NewRegistry keeps the enrolments in dir, as config.Paths.Projects gives it.
func NewRegistry(dir string) *Registry { return &Registry{dir: dir} }

// Enrolment says that a team directory is synced for a project.
type Enrolment struct {
	Root    string       `json:"root"` // "" when the directory was named without a project
	TeamDir string       `json:"teamDir"`
	Server  string       `json:"server"` // origin
	Repo    api.RepoSlug `json:"repo"`
	Since   time.Time    `json:"since"`
}

// ClashError says that two projects would share one team directory.
type ClashError struct {
	TeamDir     string
	Root, Other string
	Slug        bool // their paths differ only in characters that the folder's name does not keep
}

func (e *ClashError) Error() string {
	text := fmt.Sprintf("%s belongs to the project %s; the project %s would share it", e.TeamDir, e.Other, e.Root)
	if e.Slug {
		text += ", because the names of their folders differ only in characters that become a dash"
	}
	return text
}

// Hint is what a person can do.
func (e *ClashError) Hint() string {
	return "move one of the two, or name a memory directory of its own with --dir; nothing was sent"
}

// Enrol remembers the enrolment. A team directory that belongs to another root is
// refused with a *[ClashError]. A root that moved takes its directory along when the
// server and the repo are the same. A directory that was named without a project
// joins whichever root it has.
func (r *Registry) Enrol(e Enrolment) error {
	if r.dir == "" {
		return fmt.Errorf("enrol: %w", config.ErrNoPlace)
	}
	if e.TeamDir == "" {
		return errors.New("enrol: no team directory")
	}
	e.TeamDir = config.Resolve(e.TeamDir)
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("enrol: %w", err)
	}
	// Two clients that enrol at once meet here: one makes the file, the other
	// reads what it made.
	for range 3 {
		before, found, err := r.read(r.path(e.TeamDir))
		if err != nil {
			return fmt.Errorf("enrol: %w", err)
		}
		if !found {
			if err = r.create(e); errors.Is(err, fs.ErrExist) {
				continue
			}
			return wrapEnrol(err)
		}
		if err := clash(before, e); err != nil {
			return err
		}
		if e.Root == "" {
			e.Root = before.Root
		}
		e.Since = before.Since
		if e == before {
			return nil
		}
		return wrapEnrol(r.replace(e))
	}
	return fmt.Errorf("enrol: %s is being enrolled by another client", e.TeamDir)
}

func wrapEnrol(err error) error {
	if err != nil {
		return fmt.Errorf("enrol: %w", err)
	}
	return nil
}

// Check is [Registry.Enrol] that only looks.
func (r *Registry) Check(e Enrolment) error {
	before, found, err := r.ByDir(e.TeamDir)
	if err != nil || !found {
		return err
	}
	return clash(before, e)
}

func clash(before, e Enrolment) error {
	if before.Root == e.Root || before.Root == "" || e.Root == "" {
		return nil
	}
	moved := !isDir(before.Root) && before.Repo == e.Repo && before.Server == e.Server
	if moved || sameFile(before.Root, e.Root) {
		return nil
	}
	return &ClashError{TeamDir: e.TeamDir, Root: e.Root, Other: before.Root, Slug: SlugOf(before.Root) == SlugOf(e.Root)}
}

// Others lists the enrolments of a repo at a server for other team directories than
// this one: the clones to name when a person is asked whether this one shall join.
func (r *Registry) Others(server string, repo api.RepoSlug, teamDir string) ([]Enrolment, error) {
	all, err := r.All()
	teamDir = config.Resolve(teamDir)
	return slices.DeleteFunc(all, func(e Enrolment) bool {
		return e.Server != server || e.Repo != repo || e.TeamDir == teamDir
	}), err
}

// ByDir finds the enrolment of a team directory.
func (r *Registry) ByDir(teamDir string) (Enrolment, bool, error) {
	if r.dir == "" {
		return Enrolment{}, false, nil
	}
	return r.read(r.path(config.Resolve(teamDir)))
}

// All lists the enrolments by team directory.
func (r *Registry) All() ([]Enrolment, error) {
	if r.dir == "" {
		return nil, nil
	}
	names, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list enrolments: %w", err)
	}
	var all []Enrolment
	for _, name := range names {
		if !strings.HasSuffix(name.Name(), ".json") || strings.HasPrefix(name.Name(), ".") {
			continue
		}
		e, found, err := r.read(filepath.Join(r.dir, name.Name()))
		if err != nil {
			return nil, fmt.Errorf("list enrolments: %w", err)
		}
		if found {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Enrolment) int { return strings.Compare(a.TeamDir, b.TeamDir) })
	return all, nil
}

// Forget removes the enrolment of a team directory; there may be none.
func (r *Registry) Forget(teamDir string) error {
	if r.dir == "" {
		return nil
	}
	if err := os.Remove(r.path(config.Resolve(teamDir))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget enrolment: %w", err)
	}
	return nil
}

func (r *Registry) path(teamDir string) string {
	sum := sha256.Sum256([]byte(teamDir))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:12])+".json")
}

// read gives an enrolment. A damaged file counts as none and is replaced: the marker
// in the directory itself still ties it to its server and repo.
func (r *Registry) read(path string) (Enrolment, bool, error) {
	content, err := readSmall(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return Enrolment{}, false, nil
	}
	if err != nil {
		return Enrolment{}, false, err
	}
	var e Enrolment
	if json.Unmarshal(content, &e) != nil || e.TeamDir == "" {
		return Enrolment{}, false, errors.Join(os.Rename(path, path+".damaged"))
	}
	return e, true, nil
}

// create makes the file, whole, unless there is one.
func (r *Registry) create(e Enrolment) error {
	temporary, err := r.write(e)
	if err != nil {
		return err
	}
	err = os.Link(temporary, r.path(e.TeamDir))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without hard links: the window between look and rename
		// is what it costs.
		if exists(r.path(e.TeamDir)) {
			err = fs.ErrExist
		} else {
			err = os.Rename(temporary, r.path(e.TeamDir))
		}
	}
	if removeErr := os.Remove(temporary); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

func (r *Registry) replace(e Enrolment) error {
	temporary, err := r.write(e)
	if err != nil {
		return err
	}
	if err := os.Rename(temporary, r.path(e.TeamDir)); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

func (r *Registry) write(e Enrolment) (temporary string, err error) {
	content, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(r.dir, ".new-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(append(content, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
