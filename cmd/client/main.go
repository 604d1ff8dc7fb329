// Client is the companion of a local agent: it keeps a memory directory and a
// repo at a teammem server in agreement, and shows a person what it does.
//
// This package is the door: flags, exit codes, and one file a subcommand. What it
// opens is package client and the packages below it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/tui"
)

// version is stamped by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], config.OSEnv(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(int(code))
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, env config.Env, stdin, stdout, stderr *os.File) exitCode {
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	// Until the flags are read, errors go out as a terminal takes them.
	a.term = tui.New(stdout, stderr, tui.Detect(env.Getenv, stdin, stdout, stderr, env.OS))
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	a.name = cmd.CommandPath()
	a.report(err)
	return a.exit(err)
}
