package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/tui"
)

// reader is a target with its server, for the commands that ask about history.
type reader struct {
	*target
	server *remote.Client
}

func (a *app) reader() (*reader, error) {
	t, err := a.target(nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.needServer(), t.needRepo()); err != nil {
		return nil, err
	}
	if _, err := t.token(); err != nil {
		return nil, err
	}
	server, err := remote.New(t.remoteOptions())
	if err != nil {
		return nil, asUsage(err)
	}
	return &reader{target: t, server: server}, nil
}

// keyAt reads KEY or KEY@V. A key may hold an @ itself; only one that a number
// follows is taken for a version.
func keyAt(text string) (api.Key, api.Version, error) {
	name, version := text, api.Version(0)
	if at := strings.LastIndexByte(text, '@'); at > 0 {
		if n, err := strconv.ParseInt(text[at+1:], 10, 64); err == nil && n > 0 {
			name, version = text[:at], api.Version(n)
		}
	}
	key, err := api.ParseKey(name)
	return key, version, asUsage(err)
}

func (a *app) logCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "log [KEY]",
		Short:   "Show who changed what, newest first",
		GroupID: groupHistory,
		Long:    "Log lists the changes of one entry, or of the whole repo, as the server keeps them.\n\n" + exitHelp,
		Example: `  client log
  client log project_db.md --limit 5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one key, not %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: a.completing(syncedKeys),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.log(cmd.Context(), args, limit) },
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "how many changes")
	return cmd
}

func (a *app) log(ctx context.Context, args []string, limit int) error {
	if limit < 1 {
		return usagef("--limit %d: want at least 1", limit)
	}
	r, err := a.reader()
	if err != nil {
		return err
	}
	defer r.server.Close()
	var key api.Key
	if len(args) > 0 {
		if key, err = api.ParseKey(args[0]); err != nil {
			return asUsage(err)
		}
		if err := r.askable(key); err != nil {
			return err
		}
	}
	var changes []api.HistoryChange
	for cursor := ""; len(changes) < limit; {
		page, err := r.server.History(ctx, r.repo, key, min(limit-len(changes), api.MaxPage), cursor)
		if err != nil {
			return err
		}
		changes = append(changes, page.Changes...)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	changes = changes[:min(len(changes), limit)]
	if a.json {
		a.term.Value(filled(changes))
		return nil
	}
	var rows []tui.Row
	for _, c := range changes {
		rows = append(rows, tui.Row{Label: "@" + strconv.FormatInt(int64(c.Version), 10), Text: tui.Escape(string(c.Key)), Note: sentence(c, time.Now())})
	}
	a.term.Rows(rows)
	if len(changes) == 0 {
		a.term.Note("nothing was ever written under this key")
	}
	return nil
}

// sentence says what a change did, as people say it.
func sentence(c api.HistoryChange, now time.Time) string {
	verb := "changed"
	switch {
	case c.Deleted:
		verb = "deleted"
	case c.Previous == "":
		verb = "written"
	}
	told := []string{verb + " by " + tui.Escape(c.User), tui.Age(now.Sub(c.At.Time)), "from " + tui.Escape(c.Client), tui.Size(int64(c.Bytes))}
	if c.Client == "" {
		told = slices.Delete(told, 2, 3)
	}
	if c.User == "" {
		told[0] = verb // by the operator of the server, who is no member
	}
	if c.Redacted != nil {
		told = append(told, "withdrawn by "+tui.Escape(c.Redacted.User)+": "+tui.Escape(c.Redacted.Reason))
	}
	return strings.Join(told, ", ")
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show KEY[@V]",
		Short:   "Print an entry as the server has it, or had it at a version",
		GroupID: groupHistory,
		Long:    "Show prints the text of an entry and nothing else.\n\n" + exitHelp,
		Example: `  client show project_db.md
  client show project_db.md@1204`,
		Args:              oneItem,
		ValidArgsFunction: a.completing(syncedKeys),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := a.entryAt(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				a.term.Value(entry)
				return nil
			}
			if entry.Deleted {
				if entry.User == "" {
					return fmt.Errorf("%s was deleted at version %d", entry.Key, entry.Version)
				}
				return fmt.Errorf("%s was deleted by %s at version %d", entry.Key, entry.User, entry.Version)
			}
			a.term.Raw([]byte(entry.Content))
			return nil
		},
	}
}

func (a *app) entryAt(ctx context.Context, text string) (api.EntryAt, error) {
	key, version, err := keyAt(text)
	if err != nil {
		return api.EntryAt{}, err
	}
	r, err := a.reader()
	if err != nil {
		return api.EntryAt{}, err
	}
	defer r.server.Close()
	if err := r.askable(key); err != nil {
		return api.EntryAt{}, err
	}
	return r.server.Entry(ctx, r.repo, key, version)
}

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "diff KEY[@V]",
		Short:   "Compare an entry at the server with the file here",
		GroupID: groupHistory,
		Long: `Diff shows what the file here has more or less than the entry at the server, as
it stands or as it stood at a version.

` + exitHelp,
		Example: `  client diff project_db.md
  client diff project_db.md@1204`,
		Args:              oneItem,
		ValidArgsFunction: a.completing(syncedKeys),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.diff(cmd.Context(), args[0]) },
	}
}

// entryDiff is what the file here has more or less than the entry, for programs.
type entryDiff struct {
	Key     api.Key     `json:"key"`
	Version api.Version `json:"version"`
	Diff    string      `json:"diff"`
}

func (a *app) diff(ctx context.Context, item string) error {
	entry, err := a.entryAt(ctx, item)
	if err != nil {
		return err
	}
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	if err := t.needDir(); err != nil {
		return err
	}
	dir, err := memdir.Open(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	here, err := dir.Read(entry.Key, api.DefaultLimits.EntryBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &usageError{err: fmt.Errorf("there is no file %s in %s to compare with", entry.Key, t.dir), hint: "client show prints the entry; client pull --once brings what the server has"}
	case err != nil:
		return err
	}
	from, to := fmt.Sprintf("%s@%d", entry.Key, entry.Version), string(entry.Key)+" (here)"
	if a.json {
		diff := tui.Unified(from, to, entry.Content, string(here))
		return a.jsonText(string(entry.Key), []byte(diff), entryDiff{entry.Key, entry.Version, diff})
	}
	a.term.Diff(from, to, entry.Content, string(here))
	return nil
}

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "restore KEY@V",
		Short:   "Put back the text an entry had at a version, for everyone",
		GroupID: groupHistory,
		Long: `Restore makes a new version in which the entry has its old text again. Nothing of
what came in between is lost: client log shows it.

` + exitHelp,
		Example: `  client restore project_db.md@1204
  client restore project_db.md@1204 --repo acme/widgets`,
		Args:              oneItem,
		ValidArgsFunction: a.completing(syncedKeys),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.restore(cmd.Context(), args[0]) },
	}
}

func (a *app) restore(ctx context.Context, item string) error {
	key, version, err := keyAt(item)
	if err != nil {
		return err
	}
	r, err := a.reader()
	if err != nil {
		return err
	}
	defer r.server.Close()
	if err := r.askable(key); err != nil {
		return err
	}
	if version == 0 {
		return &usageError{err: fmt.Errorf("%s names no version", item), hint: "client log " + string(key) + " lists them; then client restore " + string(key) + "@V"}
	}
	ask := api.Restore{Key: key, Version: version, OnBase: true}
	// On what stands there now, so that nobody's edit is replaced unseen.
	now, err := r.server.Entry(ctx, r.repo, key, 0)
	if err != nil {
		return err
	}
	if !now.Deleted {
		ask.Base = &now.Checksum
	}
	result, err := r.server.Restore(ctx, r.repo, ask)
	if err != nil {
		return err
	}
	if a.json {
		a.term.Value(map[string]any{"key": key, "restored": version, "version": result.Version})
	} else {
		a.term.Print(fmt.Sprintf("%s is as it was at version %s; that is version %s", tui.Escape(string(key)), tui.Number(version), tui.Number(result.Version)))
	}
	return a.followUp(ctx)
}

// followUp brings what was changed at the server here, unless a client that runs
// does so, or this directory was never synced.
func (a *app) followUp(ctx context.Context) error {
	s, err := a.shelf()
	if err != nil {
		return nil // no directory here to follow up on
	}
	if agreed, err := s.store.Load(); err != nil || agreed.MarkerID == "" {
		return nil
	}
	_, session, err := a.open(ctx, nil, func(cfg *client.Config) { cfg.NoPush = true }, a.tellUnlessJSON)
	if errors.Is(err, memdir.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = session.Once(ctx)
	return errors.Join(err, session.Close())
}
