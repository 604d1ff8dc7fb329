package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/archive"
	"github.com/teammem/teammem/client/carry"
	"github.com/teammem/teammem/client/tui"
)

// standard is the FILE that means standard output, or standard input.
const standard = "-"

func (a *app) exportCommand() *cobra.Command {
	var history bool
	cmd := &cobra.Command{
		Use:     "export FILE",
		Short:   "Keep a repo's memory in a file that needs no teammem to be read",
		GroupID: groupHistory,
		Long: `Export keeps the repo as the server has it in a new tar: entries under memory/, and
teammem.json with version, checksums and authors. The name says how it is packed:
.tar, .tar.gz, .tar.zst; - is standard output, gzip. The file has its name when it is
whole. Docs/backup.md describes the form.

` + exitHelp,
		Example: `  client export widgets.tar.gz --repo acme/widgets
  client export - --history | tar tzf -`,
		Args:              oneArchive,
		ValidArgsFunction: archivesOnly,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.export(cmd.Context(), args[0], history) },
	}
	cmd.Flags().BoolVar(&history, "history", false, "also every change there ever was, with its text: history.jsonl")
	return cmd
}

func oneArchive(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s wants a file, or - for the standard one, and nothing else", cmd.CommandPath())
	}
	return nil
}

func archivesOnly(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"tar", "gz", "tgz", "zst", "tzst"}, cobra.ShellCompDirectiveFilterFileExt
}

// destination is where an export goes.
type destination struct {
	path string // empty: standard output
	form archive.Form
}

func (a *app) destination(name string) (d destination, err error) {
	if name == standard {
		switch {
		case a.json:
			return d, usagef("- and --json want standard output both")
		case a.term.OutIsTerminal():
			return d, usagef("an archive is nothing for a terminal: name a file, or send it on by a pipe")
		}
		return destination{form: archive.Gzip}, nil
	}
	if d.form, err = archive.FormOf(name); err != nil {
		return d, asUsage(err)
	}
	if d.path, err = a.env.Abs(name); err != nil {
		return d, asUsage(err)
	}
	if _, err := os.Lstat(d.path); err == nil {
		return d, &usageError{err: fmt.Errorf("%s is there already", name), hint: "an export overwrites nothing: name another file, or remove this one"}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	return d, nil
}

// folder is where what is made on the way lies.
func (d destination) folder() string {
	if d.path == "" {
		return os.TempDir()
	}
	return filepath.Dir(d.path)
}

func (a *app) export(ctx context.Context, name string, history bool) error {
	to, err := a.destination(name)
	if err != nil {
		return err
	}
	r, err := a.reader()
	if err != nil {
		return err
	}
	defer r.server.Close()
	var changes io.ReadWriteSeeker
	if history {
		file, remove, err := passingFile(to.folder())
		if err != nil {
			return err
		}
		defer remove()
		changes = file
	}
	taken, err := a.take(ctx, r, changes)
	if err != nil {
		return err
	}
	if err := a.writeArchive(to, taken, changes); err != nil {
		return err
	}
	return a.showExport(name, taken)
}

// take reads the repo, and its history where there is a file for it.
func (a *app) take(ctx context.Context, r *reader, changes io.ReadWriteSeeker) (*carry.Taken, error) {
	progress := a.newProgress()
	var into io.Writer
	if changes != nil {
		into = changes
	}
	taken, err := carry.Export(ctx, r.server, r.server.Server(), r.repo, into, progress.step)
	if errors.Is(err, carry.ErrEmpty) {
		return nil, &usageError{err: fmt.Errorf("%s has no memory yet", r.repo), hint: "client where shows which repo is meant, and why"}
	}
	if err != nil {
		return nil, err
	}
	taken.Exported, taken.By = api.NewTime(time.Now()), "teammem client "+version
	if changes != nil {
		_, err = changes.Seek(0, io.SeekStart)
	}
	return taken, err
}

// passingFile is a file that nobody else may read, for as long as it takes.
func passingFile(folder string) (*os.File, func(), error) {
	file, err := os.CreateTemp(folder, ".teammem-*.part")
	if err != nil {
		return nil, nil, err
	}
	return file, func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}, nil
}

// writeArchive writes the archive; a file has its name when it is whole and on the disk.
func (a *app) writeArchive(to destination, taken *carry.Taken, changes io.Reader) error {
	if to.path == "" {
		return archive.Write(a.stdout, to.form, taken.Manifest, taken.Text, changes)
	}
	file, remove, err := passingFile(to.folder())
	if err != nil {
		return err
	}
	defer remove()
	err = archive.Write(file, to.form, taken.Manifest, taken.Text, changes)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), to.path)
}

// exported is client export --json.
type exported struct {
	File    string       `json:"file"`
	Repo    api.RepoSlug `json:"repo"`
	Version api.Version  `json:"version"`
	Entries int          `json:"entries"`
	Bytes   int64        `json:"bytes"` // of the entries
	Changes *int         `json:"changes,omitempty"`
}

func (a *app) showExport(name string, taken *carry.Taken) error {
	is := exported{File: name, Repo: taken.Repo, Version: taken.Version, Entries: len(taken.Entries)}
	for _, e := range taken.Entries {
		is.Bytes += int64(e.Bytes)
	}
	text := fmt.Sprintf("%s (%s) of %s as of version %s", tui.Count(is.Entries, "entry", "entries"), tui.Size(is.Bytes), is.Repo, tui.Number(is.Version))
	if taken.History != nil {
		is.Changes = &taken.History.Changes
		text += ", and " + tui.Count(*is.Changes, "change", "changes")
	}
	switch {
	case name == standard:
		a.term.Note("exported " + text)
	case a.json:
		a.term.Value(is)
	case !a.quiet:
		a.term.Print("exported " + text + " to " + tui.Escape(name))
	}
	return nil
}
