package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/archive"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/curate"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/signin"
	"github.com/teammem/teammem/client/syncer"
)

// exitCode is the client's exit status.
type exitCode int

// The exit statuses. Of several the first in the order of worst holds.
const (
	exitDone        exitCode = 0
	exitFailed      exitCode = 1
	exitUsage       exitCode = 2
	exitNotAllowed  exitCode = 3 // not logged in, or not allowed
	exitConflicts   exitCode = 4 // texts in the keep wait for a person
	exitHeld        exitCode = 5 // the scanner holds files back
	exitUnreachable exitCode = 6
)

const exitHelp = `Exit status: 0 done, 1 failed, 2 usage, 3 not logged in or not allowed,
4 conflicts kept, 5 held back by the scanner, 6 the server cannot be reached.`

// worst is the order of protocol: 6 before 3, 1, 4, 5.
func worst(codes ...exitCode) exitCode {
	for _, code := range []exitCode{exitUsage, exitUnreachable, exitNotAllowed, exitFailed, exitConflicts, exitHeld} {
		for _, c := range codes {
			if c == code {
				return code
			}
		}
	}
	return exitDone
}

// usageError is a command line, or a setting, that cannot be meant.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err: err}
}

// standing is an outcome that is no error of this command: something stands that
// a person has to look at. It was told already.
type standing struct{ code exitCode }

func (e *standing) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// exit is the one switch from errors to exit statuses.
func (a *app) exit(err error) exitCode {
	var (
		usage       *usageError
		stands      *standing
		refused     *signin.RefusedError
		unreachable *remote.Unreachable
		secret      *secretError
	)
	switch code := api.CodeOf(err); {
	case err == nil:
		return exitDone
	case errors.As(err, &secret):
		return exitHeld
	case errors.As(err, &stands):
		return stands.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &unreachable), isGatewayError(err):
		return exitUnreachable
	case errors.As(err, &refused):
		return exitNotAllowed
	case errors.Is(err, config.ErrNoToken), code == api.Authentication, code == api.Permission:
		return exitNotAllowed
	}
	return exitFailed
}

// isGatewayError knows a proxy that says that it does not reach the server.
func isGatewayError(err error) bool {
	e, ok := api.AsError(err)
	return ok && e.Foreign && e.Code == api.Overloaded
}

// isForeign knows an answer that no teammem server gave.
func isForeign(err error) bool {
	e, ok := api.AsError(err)
	return ok && e.Foreign
}

// report tells a person, or a program, of an error and of what to do about it.
func (a *app) report(err error) {
	var stands *standing
	if err == nil || errors.As(err, &stands) || a.told {
		return
	}
	a.term.Error(err, a.hint(err))
}

// hint is what to do about an error.
func (a *app) hint(err error) string {
	var (
		usage       *usageError
		halt        *syncer.Halt
		unreachable *remote.Unreachable
		clash       *project.ClashError
		mismatch    *client.MismatchError
		gone        *client.GoneError
		refused     *curate.Refused
		secret      *secretError
		place       *config.PlaceError
		editor      *editorError
		meanwhile   *memdir.ChangedError
		damaged     *archive.DamagedError
	)
	switch code := api.CodeOf(err); {
	case errors.As(err, &place):
		return place.Hint()
	case errors.As(err, &damaged):
		return "export it anew, or take another copy; docs/backup.md describes the form"
	case errors.As(err, &meanwhile):
		return "look at it again (client memory show), then do it once more"
	case errors.As(err, &editor):
		return "VISUAL, else EDITOR, names the editor; it has to end with status 0"
	case errors.As(err, &usage):
		if usage.hint != "" {
			return usage.hint
		}
		return a.helpHint()
	case errors.As(err, &halt):
		return halt.Hint
	case errors.As(err, &unreachable):
		return unreachable.Hint()
	case errors.As(err, &clash):
		return clash.Hint()
	case errors.As(err, &refused):
		return refused.Hint()
	case errors.As(err, &secret):
		return "take it out, or keep the memory private; a secret that was ever shared is to be revoked"
	case errors.As(err, &mismatch):
		return "name another directory with --dir, or the old repo and server; to bind the directory anew: client sync --once --accept"
	case errors.As(err, &gone):
		return "put it back, or to begin anew with an empty one, make it and run client sync --once --accept"
	case errors.Is(err, memdir.ErrLocked):
		return "it syncs by itself; end it first if you want to work on the directory by hand"
	case errors.Is(err, config.ErrNoToken):
		return "log in: client login; a machine gives its token by --token-file FILE or in TEAMMEM_TOKEN"
	case code == api.Authentication && !isForeign(err):
		return "log in: client login"
	case isForeign(err):
		return "is this the address of a teammem server? client where shows where the address comes from"
	case code == api.Permission:
		return "ask an administrator for the role that may; client whoami shows yours"
	case hasCode(err, api.ErrorCodeNoEntry):
		return "client log shows which entries were written, and at which versions"
	case errors.Is(err, fs.ErrNotExist):
		return "client where shows which directory is meant, and why"
	}
	return ""
}

// hasCode reports whether the server said so, by its word for it.
func hasCode(err error, code string) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Details.ErrorCode == code
}

// errorKind is the stock client's word for what went wrong.
func errorKind(err error) string {
	var (
		unreachable *remote.Unreachable
		usage       *usageError
	)
	switch code := api.CodeOf(err); {
	case err == nil:
		return ""
	case errors.As(err, &unreachable) && unreachable.Timeout:
		return "timeout"
	case errors.As(err, &unreachable):
		return "network"
	case errors.Is(err, config.ErrNoToken):
		return "no_login"
	case code == api.Authentication, code == api.Permission:
		return "auth"
	case code == api.Conflict:
		return "conflict"
	case errors.Is(err, syncer.ErrHalted):
		return "halted"
	case errors.As(err, &usage):
		return "usage"
	}
	return "failed"
}
