package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// usageTemplate is cobra's own, made to fit on a screen: the flags of all commands
// follow those of the one, where no commands are listed instead, and only the root says
// how to ask for more.
const usageTemplate = `Usage:{{if and .Runnable (not .HasAvailableSubCommands)}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} {{if .Runnable}}[command]{{else}}command{{end}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}

More:{{range $cmds}}{{if (and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if and .HasAvailableInheritedFlags (not .HasAvailableSubCommands)}}
{{if not .HasAvailableLocalFlags}}
{{end}}Flags of every command:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if and .HasAvailableSubCommands (not .HasParent)}}

Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}
`

// explainExits makes every command tell its exit status.
func explainExits(cmd *cobra.Command) {
	if !strings.Contains(cmd.Long, "Exit status") {
		if cmd.Long == "" {
			cmd.Long = cmd.Short + "."
		}
		cmd.Long += "\n\n" + exitHelp
	}
	for _, sub := range cmd.Commands() {
		explainExits(sub)
	}
}
