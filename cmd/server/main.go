// Command server is the teammem server and the commands that administer it. It
// parses flags, environment and file into a [server.Config] and has package
// server do the rest; the commands beside serving work on the database directly,
// also while a server runs on it.
//
// Results go to standard output, everything else to standard error. Exit status:
// 0 done, 1 failed, 2 usage, 5 a scan found something.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/teammem/teammem/server"
)

func main() { os.Exit(run()) }

// The exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitFound  = 5 // of a scan
)

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	p := &program{
		out:      os.Stdout,
		err:      os.Stderr,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		getenv:   os.Getenv,
		now:      time.Now,
	}
	err := p.command().ExecuteContext(ctx)
	return p.report(err)
}

// program is what the commands have in common.
type program struct {
	out, err io.Writer
	terminal bool // err is one
	getenv   func(string) string
	now      func() time.Time
	settings settings
	json     bool
}

// usageError is an error of whoever typed the command.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// report says what went wrong and what to do, and gives the exit status.
func (p *program) report(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errFound):
		return exitFound
	}
	fmt.Fprintf(p.err, "error: %v\n", err)
	var hint *server.HintError
	var usage *usageError
	isUsage := errors.As(err, &usage)
	switch {
	case errors.As(err, &hint):
		fmt.Fprintf(p.err, "hint: %s\n", hint.Hint)
	case isUsage:
		fmt.Fprintln(p.err, "hint: add --help to see what the command takes")
	}
	switch {
	case isUsage:
		return exitUsage
	default:
		return exitFailed
	}
}
