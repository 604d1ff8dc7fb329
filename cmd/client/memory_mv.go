package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/curate"
	"github.com/teammem/teammem/client/memdir"
)

func (a *app) memoryMvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mv NAME NEW",
		Short: "Give a memory another name; links follow",
		Long: `Mv renames the file and edits, line by line, the links that lead to it: in indexes, in
other memories, and wiki links that name the file. A synced memory of the team gets its
new name for everyone; without the server nothing is changed.

` + exitHelp,
		Example: `  client memory mv project_release project_release_2.md
  client memory mv team/notes.md team/build/notes.md`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s wants the memory and its new name", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.completeMemories,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.memoryMv(cmd.Context(), args[0], args[1]) },
	}
}

func (a *app) memoryMv(ctx context.Context, name, to string) error {
	m, err := a.memories()
	if err != nil {
		return err
	}
	defer m.Close()
	one, err := m.Find(name)
	if err != nil {
		return err
	}
	changes, err := m.Move(one.Key, m.newKey(one, to))
	if err != nil {
		return err
	}
	if err := a.guard(m, changes); err != nil {
		return err
	}
	r, key := m.room(one.Key)
	if r.scope == memory.Team && r.dir != nil {
		if _, marked, err := r.dir.Marker(); err != nil {
			return err
		} else if marked {
			return a.mvForAll(ctx, m, key, changes)
		}
	}
	return a.carry(m, changes)
}

// newKey is the key that a new name means: in the same scope, with the ending.
func (m *memories) newKey(one memory.Memory, to string) api.Key {
	if !strings.HasSuffix(to, ".md") {
		to += ".md"
	}
	if one.Scope == memory.Team && m.TeamPrefix != "" && !strings.HasPrefix(to, m.TeamPrefix) {
		to = m.TeamPrefix + to
	}
	return api.Key(to)
}

// mvForAll moves a memory that is synced: the new file goes out before the old entry is
// deleted at the server, or with it, so that nobody is ever without it. A file that is removed by
// hand would only come back.
func (a *app) mvForAll(ctx context.Context, m *memories, old api.Key, changes []curate.Change) error {
	r, err := a.reader()
	if err != nil {
		return err
	}
	defer r.server.Close()
	push, err := deletion(ctx, r.server, r.target, []string{string(old)})
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		return a.carry(m, changes) // it was never sent
	}
	if err != nil {
		return err
	}
	last := len(changes) - 1 // the old file
	if err := a.carry(m, changes[:last]); err != nil {
		return err
	}
	_, to := m.room(changes[0].Key)
	sent := false
	// Two spellings of one name are twins, which no server takes: there the one goes out
	// as the other ends.
	if to.Fold() != old.Fold() {
		if sent, err = a.round(ctx); err != nil {
			return fmt.Errorf("%w; both files are here, and the old one goes by: client rm %s", err, old)
		}
	}
	if !sent {
		// The client that runs has not sent the new file yet, and finds it sent.
		push.Entries = map[api.Key]string{to: string(changes[0].After)}
		push.BaseChecksums[to] = nil
	}
	if _, err := r.server.Put(ctx, r.repo, push, ""); err != nil {
		return fmt.Errorf("%w; both files are here, and the old one goes by: client rm %s", err, old)
	}
	return a.followUp(ctx)
}

// round syncs once, unless a client that runs does so: then it is not done.
func (a *app) round(ctx context.Context) (done bool, err error) {
	_, session, err := a.open(ctx, nil, func(*client.Config) {}, a.tellUnlessJSON)
	if errors.Is(err, memdir.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = session.Once(ctx)
	return true, errors.Join(err, session.Close())
}
