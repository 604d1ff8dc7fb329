package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) rmCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "rm KEY...",
		Short:   "Delete entries for everyone",
		GroupID: groupConflict,
		Long: `Rm deletes entries at the server. On every machine their files go to the trash,
but for those that were edited since: an edit outlives a deletion. When the server
cannot be reached nothing is changed.

` + exitHelp,
		Example: `  client rm project_old.md
  client rm --yes notes/a.md notes/b.md`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s wants at least one key", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.completing(syncedKeys),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.rm(cmd.Context(), args) },
	}
}

func (a *app) rm(ctx context.Context, names []string) error {
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	cfg, err := t.clientConfig()
	if err != nil {
		return err
	}
	server, err := remote.New(cfg.Remote)
	if err != nil {
		return asUsage(err)
	}
	defer server.Close()
	push, err := deletion(ctx, server, t, names)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Delete %s for everyone (%s)?", tui.Count(len(push.Deletions), "entry", "entries"), tui.Names(push.Deletions, 3))
	if !a.term.Ask(question, false) {
		if !a.term.CanAsk() {
			return &usageError{err: errors.New("deleting for everyone wants a yes, and nobody can be asked here"), hint: "say --yes"}
		}
		return errors.New("nothing was deleted")
	}
	result, err := server.Put(ctx, t.repo, push, "")
	if err != nil {
		return err
	}
	return a.removed(ctx, push.Deletions, result)
}

// deletion is the push that deletes the named entries as they stand now.
func deletion(ctx context.Context, server *remote.Client, t *target, names []string) (api.Push, error) {
	push := api.Push{BaseChecksums: map[api.Key]*api.Checksum{}}
	answer, err := server.Get(ctx, t.repo, remote.Query{Hashes: true})
	if err != nil {
		return push, err
	}
	for _, name := range names {
		key := api.Key(name)
		if err := t.askable(key); err != nil {
			return push, err
		}
		sum, ok := answer.Memory.Content.EntryChecksums[key]
		if !ok {
			return push, &usageError{err: fmt.Errorf("there is no entry %q in %s", name, t.repo), hint: "nothing was deleted; a key is the path below the memory directory, as client status shows it"}
		}
		if _, twice := push.BaseChecksums[key]; !twice {
			push.Deletions = append(push.Deletions, key)
		}
		push.BaseChecksums[key] = &sum
	}
	return push, nil
}

// removed tells what was deleted and carries it out here, unless a client that
// runs does so.
func (a *app) removed(ctx context.Context, keys []api.Key, result api.PushResult) error {
	if a.json {
		a.term.Value(struct {
			Deleted []api.Key   `json:"deleted"`
			Version api.Version `json:"version"`
		}{keys, result.Version})
	} else {
		a.term.Print(fmt.Sprintf("deleted %s; version %s", tui.Names(keys, len(keys)), tui.Number(result.Version)))
	}
	return a.followUp(ctx)
}
