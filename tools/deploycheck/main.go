// Command deploycheck holds what an operator deploys against the rules of the programs
// that will read it, without running any of them: docker-compose.yml against Compose's
// own schema and reader, and the manifests of Kubernetes against its own types, in which
// a misspelt field is an error. Beyond that it asks for what docs/operate.md promises:
// nothing runs as root or with a capability, nothing is published off this machine,
// every service has limits and a health check, and no secret stands in a file.
//
//	deploycheck ROOT
//
// It prints what is wrong, a line each. Exit status: 0 nothing, 1 something, 2 usage.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: deploycheck ROOT")
		return 2
	}
	problems := append(compose(context.Background(), args[0]), kubernetes(args[0])...)
	problems = append(problems, plists(args[0])...)
	for _, line := range problems {
		fmt.Println(line)
	}
	if len(problems) > 0 {
		return 1
	}
	fmt.Println("docker-compose.yml, deploy/kubernetes and deploy/launchd hold")
	return 0
}
