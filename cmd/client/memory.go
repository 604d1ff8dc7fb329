package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/curate"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "memory",
		Short:   "List, read, write and look after memories",
		GroupID: groupMemory,
		Long: `Memory works on the private memories of this project and on the team's, whose keys
begin with team/. Nothing private leaves unless it is promoted.

` + exitHelp,
		Example: `  client memory list --type feedback
  client memory new "How we test" --type feedback`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.memoryListCommand(), a.memoryShowCommand(), a.memorySearchCommand(), a.memoryStatsCommand(), a.memoryLintCommand(), a.memoryClassifyCommand(),
		a.memoryNewCommand(), a.memoryEditCommand(), a.memoryMvCommand(), a.memoryPromoteCommand(), a.memoryLogCommand(),
	)
	return cmd
}

// room is one directory of memories. It need not exist.
type room struct {
	scope  memory.Scope
	path   string
	prefix string // of its keys
	dir    *memdir.Dir
}

// memories are the directories that the memory commands work on, opened.
type memories struct {
	*target
	rooms []room
	curate.Library
}

// teamPrefix is what the keys of team memory begin with where both are listed.
const teamPrefix = "team/"

// memories opens the private directory and the team's, or the one that --dir names,
// and lists what they hold.
func (a *app) memories() (*memories, error) {
	t, err := a.target(nil)
	if err != nil {
		return nil, err
	}
	m := &memories{target: t, rooms: t.rooms()}
	if len(m.rooms) == 0 {
		return nil, t.needDir()
	}
	if err := project.NewRegistry(t.paths.Projects()).Check(t.enrolment()); err != nil {
		return nil, err
	}
	for i := range m.rooms {
		dir, err := memdir.Open(m.rooms[i].path)
		if err != nil && !errors.Is(err, memdir.ErrGone) {
			m.Close()
			return nil, err
		}
		m.rooms[i].dir = dir
	}
	m.Library.Read = m.read
	m.scan()
	return m, nil
}

// rooms are the directories that are meant.
func (t *target) rooms() []room {
	private, named := t.project.MemoryDir, t.settings.Get(config.Dir).IsSet()
	switch {
	case named && config.Resolve(t.dir) != config.Resolve(private):
		return []room{{scope: memory.Team, path: t.dir}}
	case private == "":
		return nil
	}
	rooms := []room{{scope: memory.Private, path: private}}
	if t.settings.TeamMemory() {
		rooms = append(rooms, room{scope: memory.Team, path: t.project.TeamDir, prefix: teamPrefix})
	}
	return rooms
}

// Close gives the directories back.
func (m *memories) Close() {
	for _, r := range m.rooms {
		if r.dir != nil {
			_ = r.dir.Close()
		}
	}
}

// scan lists what the rooms hold by now.
func (m *memories) scan() {
	var sources []memory.Source
	m.TeamPrefix = ""
	for _, r := range m.rooms {
		if r.prefix != "" {
			m.TeamPrefix = r.prefix
		}
		if len(m.rooms) == 1 {
			m.Only = r.scope
		}
		source := memory.Source{Scope: r.scope, Prefix: r.prefix}
		if r.scope == memory.Private {
			source.Skip = "team"
		}
		if r.dir != nil {
			source.FS = r.dir.FS()
			sources = append(sources, source)
		}
	}
	m.List = memory.Scan(0, sources...)
}

// room is where a key lies, and its name there.
func (m *memories) room(key api.Key) (*room, api.Key) {
	for i := range m.rooms {
		if r := &m.rooms[i]; r.prefix != "" && strings.HasPrefix(string(key), r.prefix) {
			return r, key[len(r.prefix):]
		}
	}
	return &m.rooms[0], key
}

func (m *memories) read(key api.Key) ([]byte, error) {
	r, name := m.room(key)
	if r.dir == nil {
		return nil, fmt.Errorf("read %s: %w", key, fs.ErrNotExist)
	}
	return fs.ReadFile(r.dir.FS(), string(name))
}

// warnMissed tells of what could not be read.
func (a *app) warnMissed(list memory.List) {
	for _, missed := range list.Missed {
		a.term.Warn(fmt.Sprintf("%s was left out: %v", tui.Escape(string(missed.Key)), missed.Err), "")
	}
}

// change carries out changes in their order and shows each.
func (m *memories) change(now time.Time, changes []curate.Change) error {
	for i, c := range changes {
		err := m.carryOut(now, c)
		if err == nil {
			continue
		}
		if err = fmt.Errorf("%s: %w", c.Key, err); i > 0 {
			var done []api.Key
			for _, before := range changes[:i] {
				done = append(done, before.Key)
			}
			err = fmt.Errorf("%w; %s changed before that", err, tui.Names(done, 3))
		}
		return err
	}
	return nil
}

func (m *memories) carryOut(now time.Time, c curate.Change) error {
	r, name := m.room(c.Key)
	if r.dir == nil {
		if err := os.MkdirAll(r.path, 0o700); err != nil {
			return fmt.Errorf("make memory directory: %w", err)
		}
		dir, err := memdir.Open(r.path)
		if err != nil {
			return err
		}
		r.dir = dir
	}
	var expect *memdir.File
	if c.Before != nil {
		file, left, err := r.dir.Look(now, name, maxMemoryBytes)
		switch {
		case err != nil:
			return err
		case left != nil:
			return left
		case file.Checksum != api.ChecksumOf(c.Before):
			return &memdir.ChangedError{Key: c.Key, Detail: "was edited"}
		}
		expect = &file
	}
	if c.After == nil {
		return r.dir.Discard(name, *expect)
	}
	_, err := r.dir.Save(now, name, c.After, expect)
	return err
}

// maxMemoryBytes bounds a file that is edited here; far above what a server takes.
const maxMemoryBytes = 4 << 20

// changed is one change, for programs.
type changed struct {
	Key    api.Key `json:"key"`
	Change string  `json:"change"` // "created", "edited" or "removed"
	Diff   string  `json:"diff"`
}

// changeReport is what a command that writes answers with --json.
type changeReport struct {
	Key     api.Key   `json:"key"` // the memory that was written
	Changed []changed `json:"changed"`
}

// showChanges shows what was changed, or would be.
func (a *app) showChanges(key api.Key, changes []curate.Change) {
	if a.json {
		a.term.Value(reportOf(key, changes))
		return
	}
	for _, c := range changes {
		from, to := sides(c)
		a.term.Diff(from, to, string(c.Before), string(c.After))
	}
}

func reportOf(key api.Key, changes []curate.Change) changeReport {
	report := changeReport{Key: key, Changed: []changed{}}
	for _, c := range changes {
		what := "edited"
		switch {
		case c.Before == nil:
			what = "created"
		case c.After == nil:
			what = "removed"
		}
		from, to := sides(c)
		report.Changed = append(report.Changed, changed{c.Key, what, tui.Unified(from, to, string(c.Before), string(c.After))})
	}
	return report
}

// sides are the two names of a diff.
func sides(c curate.Change) (from, to string) {
	from, to = "a/"+string(c.Key), "b/"+string(c.Key)
	if c.Before == nil {
		from = os.DevNull
	}
	if c.After == nil {
		to = os.DevNull
	}
	return filepath.ToSlash(from), filepath.ToSlash(to)
}

// oneName wants the name of one memory.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s wants the name of one memory", cmd.CommandPath())
	}
	return nil
}
