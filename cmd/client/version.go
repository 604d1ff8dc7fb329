package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the client's version",
		GroupID: groupLook,
		Example: "  client version\n  client version --json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				a.term.Value(map[string]string{"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
				return nil
			}
			a.term.Print(fmt.Sprintf("teammem client %s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
			return nil
		},
	}
}
