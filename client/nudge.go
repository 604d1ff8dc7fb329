package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammem/client/watch"
)

// nudgeFolder is watched by the client that runs, and nudgeFile in it is written by
// whoever wants a round now. It lies in the state directory, because .teammem in the
// memory directory is never watched.
const (
	nudgeFolder = "nudge"
	nudgeFile   = "now"
	// nudgeRescan is how often the folder is looked at without an event. A nudge that
	// is missed costs the usual quiet time and no edit.
	nudgeRescan = time.Hour
)

// Nudge asks the client that works in a directory, by its state directory, to look at
// it now: whoever nudges knows that the files are whole, so that no quiet time need be
// waited for. It is no error when no client runs.
func Nudge(stateDir string) error {
	folder := filepath.Join(stateDir, nudgeFolder)
	err := os.WriteFile(filepath.Join(folder, nudgeFile), []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"), 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no client has run here yet
	}
	if err != nil {
		return fmt.Errorf("nudge: %w", err)
	}
	return nil
}

// nudges tells of each nudge until ctx ends. Where the folder cannot be watched there
// are none.
func (s *Session) nudges(ctx context.Context, told chan<- watch.Batch) {
	folder := filepath.Join(s.cfg.StateDir, nudgeFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		s.log.Warn("nobody can ask this client to sync at once", "error", err)
		return
	}
	// No Quiet: the nudge is the end of the edit.
	err := watch.New(s.log, folder, watch.Options{Rescan: nudgeRescan}).Run(ctx, told)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("nobody can ask this client to sync at once", "error", err)
	}
}
