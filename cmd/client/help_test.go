package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/client/config"
)

// mostHelpLines is what fits on a screen.
const mostHelpLines = 30

// TestHelp: every command says in less than a screen what it does, with two
// examples and its exit status.
func TestHelp(t *testing.T) {
	a := &app{env: config.Env{Getenv: func(string) string { return "" }}}
	walk(a.rootCommand(), func(cmd *cobra.Command) {
		t.Run(strings.ReplaceAll(cmd.CommandPath(), " ", "_"), func(t *testing.T) {
			var b bytes.Buffer
			cmd.SetOut(&b)
			if err := cmd.Help(); err != nil {
				t.Fatal(err)
			}
			help := b.String()
			if lines := strings.Count(help, "\n"); lines >= mostHelpLines && cmd.HasParent() {
				t.Errorf("%d lines:\n%s", lines, help)
			}
			examples := 0
			for line := range strings.Lines(cmd.Example) {
				if strings.Contains(line, "client ") {
					examples++
				}
			}
			if examples < 2 {
				t.Errorf("%d examples, want two", examples)
			}
			if !strings.Contains(help, "Exit status") {
				t.Error("the exit status is not told")
			}
			if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
				t.Errorf("the short text is %q", cmd.Short)
			}
		})
	})
}

// walk visits our own commands, not those that cobra adds.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			walk(sub, visit)
		}
	}
}
