package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/server"
)

// version is stamped by the build, where no repository tells it: an image is built
// without one.
var version string

// buildVersion is the version of this build.
func buildVersion() string {
	if version != "" {
		return version
	}
	return server.Version()
}

// versionResult is the build as --json shows it.
type versionResult struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (p *program) versionCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:     "version",
		Short:   "Print the version of this build",
		Example: "  server version\n  server version --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionResult{buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if p.json {
				return p.printJSON(v)
			}
			_, err := fmt.Fprintf(p.out, "teammem server %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		},
	})
}
