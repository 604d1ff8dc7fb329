package rest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

var update = flag.Bool("update", false, "write docs/rights.md anew")

// The table that people read is the one that is applied.
func TestRightsAreDocumented(t *testing.T) {
	const file = "../../docs/rights.md"
	var b strings.Builder
	b.WriteString(`# Who may do what

Written by: go test ./server/rest -run TestRightsAreDocumented -update

A member has a role in the organization: the highest of what was given by hand and what the provider's groups give. A **grant**
says otherwise on the repos of a pattern (` + "`acme/*`, `**`" + `), be it more or less: of the grants that fit a repo one for the member
counts before one for a group, and that before one for everyone; then the longer pattern; then the higher role. The role
` + "`none`" + ` takes repos away. A token takes away from that: its role is a cap on its user's, its scope leaves reading, or reading and writing,
and its patterns leave some repos. A token that is narrowed to repos does not speak for the organization.

"own" says which repo or organization a right is for; of another organization nobody sees or changes anything: a repo of
that name is one of their own that does not exist. A repo that is taken away is refused with 403 before anything of it is read, so
that the answer and its time are the same whether there is one.

| route | operation | right |`)
	for _, role := range api.Roles {
		fmt.Fprintf(&b, " %s |", role)
	}
	b.WriteString(" no token |\n| --- | --- | --- |" + strings.Repeat(" --- |", len(api.Roles)+1) + "\n")
	for _, route := range api.Routes {
		fmt.Fprintf(&b, "| `%s %s` | %s | %s |", route.Method, route.Pattern, route.Operation, route.Right)
		for _, role := range append(append([]api.Role{}, api.Roles...), "") {
			says := "–"
			switch {
			case route.Pattern == api.PathTokens && role != "" && role != api.Admin:
				says = "own tokens"
			case route.Operation == "listClients" && role != "" && role != api.Admin:
				says = "own clients"
			case role.May(route.Right):
				says = "yes"
			}
			fmt.Fprintf(&b, " %s |", says)
		}
		b.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != b.String() {
		t.Errorf("docs/rights.md is not the table of rights (%v); when that is meant, run this test with -update", err)
	}
}
