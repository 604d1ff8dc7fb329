package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/client/claudemd"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/tui"
)

// approveCommand approves what the project's instructions may import from outside of
// it, or takes that back.
func (a *app) approveCommand(revoke bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve [PATH…]",
		Short: "Let this project's instructions import a file from outside of it",
		Long: `Approve remembers, for this project and on this machine, that its instructions may
import a file from outside of it, or any file of a folder. Without a path it
lists what is approved.

` + exitHelp,
		Example: `  client context approve ~/notes/style.md
  client context approve`,
		RunE: func(_ *cobra.Command, args []string) error { return a.approve(revoke, args) },
	}
	if revoke {
		cmd.Use = "revoke PATH…"
		cmd.Short = "Take an approval back"
		cmd.Long = "Revoke takes back what client context approve approved.\n\n" + exitHelp
		cmd.Example = "  client context revoke ~/notes/style.md\n  client context approve   # what is left"
		cmd.Args = func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no path is named")
			}
			return nil
		}
	}
	return cmd
}

// approvalView is the answer of approve and revoke.
type approvalView struct {
	Project  string   `json:"project"`
	Approved []string `json:"approved"`
}

func (a *app) approve(revoke bool, names []string) error {
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	file := t.paths.Approvals(t.project.Root)
	if file == "" {
		return &usageError{err: config.ErrNoPlace, hint: "set TEAMMEM_STATE_DIR"}
	}
	kept := claudemd.NewApprovals(file)
	paths, err := t.approvable(revoke, names)
	if err != nil {
		return err
	}
	changed, err := kept.Change(t.project.Root, revoke, paths...)
	if err != nil {
		return err
	}
	all, err := kept.List()
	if err != nil {
		return err
	}
	if a.json {
		a.term.Value(approvalView{t.project.Root, append([]string{}, all...)})
		return nil
	}
	if len(names) == 0 {
		for _, path := range all {
			a.term.Print(a.term.Path(path))
		}
		if len(all) == 0 {
			a.term.Note("nothing is approved for " + a.term.Path(t.project.Root))
		}
		return nil
	}
	verb := "approved"
	if revoke {
		verb = "revoked"
	}
	a.term.Note(verb + " " + tui.Count(changed, "path", "paths") + " for " + a.term.Path(t.project.Root))
	return nil
}

// approvable gives the real paths. A folder that holds everything would be no
// approval but its end.
func (t *target) approvable(revoke bool, names []string) ([]string, error) {
	var paths []string
	for _, name := range names {
		path, err := t.env.Abs(name)
		if err != nil {
			return nil, asUsage(err)
		}
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err != nil && !revoke:
			return nil, asUsage(err)
		case err != nil:
			real = path // it is gone, and so shall its approval be
		}
		if home := config.Resolve(t.env.Home); real == filepath.Dir(real) || t.env.Home != "" && real == home {
			return nil, &usageError{err: fmt.Errorf("%s holds too much to be approved as a whole", real), hint: "name the file, or the folder that its instructions lie in"}
		}
		paths = append(paths, real)
	}
	return paths, nil
}
