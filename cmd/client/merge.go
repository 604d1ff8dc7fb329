package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/merge"
)

func (a *app) mergeCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:     "merge [--path KEY] BASE MINE THEIRS",
		Short:   "Merge three versions of a memory file",
		GroupID: groupConflict,
		Long: `Merge prints the merge of two edits of one file. It is the same merge that sync
makes, and serves as a git merge driver (docs/merge.md).

Exit status: 0 merged, 1 conflict: nothing is printed, 2 usage.`,
		Example: `  client merge base.md mine.md theirs.md
  client merge --path MEMORY.md base mine theirs > merged`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usagef("%s takes three files, BASE MINE THEIRS, not %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.merge(key, args) },
	}
	cmd.Flags().StringVar(&key, "path", "", "the file's key; MEMORY.md is merged as an index (default: the name of MINE)")
	return cmd
}

func (a *app) merge(key string, args []string) error {
	var texts [3][]byte
	for i, path := range args {
		var err error
		if texts[i], err = os.ReadFile(path); err != nil {
			return asUsage(err)
		}
	}
	if key == "" {
		key = args[1]
	}
	result := merge.Merge(api.Key(key), texts[0], texts[1], texts[2])
	if !result.Clean {
		return fmt.Errorf("conflict: %w", errors.New(result.Reason))
	}
	a.term.Raw(result.Text)
	return nil
}
