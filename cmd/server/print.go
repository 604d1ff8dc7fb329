package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
)

// jsonFlag is on every command that prints something a program could read.
func (p *program) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON")
	return cmd
}

// printJSON prints a result for programs.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printTable prints rows in columns, the first row being their names.
func (p *program) printTable(rows [][]string) error { return printTableTo(p.out, rows) }

func printTableTo(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// counted writes a number of things: 1 text, 2 texts.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// wireTime is a time for programs: null where there is none.
func wireTime(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	wire := api.NewTime(t)
	return &wire
}

// day is a time for people, and otherwise where there is none.
func day(t time.Time, otherwise string) string {
	if t.IsZero() {
		return otherwise
	}
	return t.Local().Format("2006-01-02 15:04")
}

// completeWords lets the shell complete a flag, which cmd has, by words.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

func roleNames(more ...api.Role) (names []string) {
	for _, role := range append(slices.Clone(api.Roles), more...) {
		names = append(names, string(role))
	}
	return names
}
