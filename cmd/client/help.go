package main

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageTemplate is cobra's own, made to fit on a screen: the flags of all commands
// follow those of the one, where no commands are listed instead, those that are about
// the output on one line, and only the root says how to ask for more.
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
{{.InheritedFlags | together}}{{end}}{{if and .HasAvailableSubCommands (not .HasParent)}}

Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}
`

// usage writes how a command is used.
func usage(cmd *cobra.Command) error {
	page, err := template.New("usage").Funcs(template.FuncMap{
		"rpad":                    func(s string, width int) string { return fmt.Sprintf("%-*s", width, s) },
		"trimTrailingWhitespaces": func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) },
		"together":                together,
	}).Parse(usageTemplate)
	if err != nil {
		return err
	}
	return page.Execute(cmd.OutOrStderr(), cmd)
}

// outputFlags are about how results are told; they share a line.
var outputFlags = []string{"json", "quiet", "yes"}

// together lists flags, those about the output on one line.
func together(flags *pflag.FlagSet) string {
	others := pflag.NewFlagSet("", pflag.ContinueOnError)
	others.SortFlags = false
	var names, says []string
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(outputFlags, f.Name) {
			names, says = append(names, "--"+f.Name), append(says, f.Usage)
			return
		}
		others.AddFlag(f)
	})
	list := strings.TrimRightFunc(others.FlagUsages(), unicode.IsSpace)
	if len(names) == 0 {
		return list
	}
	return list + "\n      " + strings.Join(names, ", ") + "  " + strings.Join(says, "; ")
}

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
