package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// RedactionsFile is the list of what was withdrawn.
func (c Config) RedactionsFile() string {
	if c.Redactions != "" {
		return c.Redactions
	}
	return filepath.Join(c.Data, "redactions.jsonl")
}

// applyRedactions holds the list of what was withdrawn against the database.
func (s *Server) applyRedactions(ctx context.Context) error {
	n, scrubbed, err := s.leaks.Apply(ctx, false)
	if err != nil {
		return WithHint(fmt.Errorf("withdraw what the list of redactions names: %w", err),
			"nobody is served before that is done: see to the file "+s.cfg.RedactionsFile()+" and the database, and start again")
	}
	if n > 0 {
		s.log.WarnContext(ctx, "contents on the list of redactions were in the database and are withdrawn: it may be an older one",
			"contents", n, "remains", scrubbed.Remains)
	}
	return nil
}

// LeakDesk is the answer to leaks for whoever runs the server, on a store that a server
// may be serving. Servers that run
// hear of what it does within a second.
func LeakDesk(log *slog.Logger, s store.Store, cfg Config, now func() time.Time) (*leak.Desk, error) {
	scanner, err := scan.New(scan.Options{})
	if err != nil {
		return nil, err
	}
	rules := ledger.New(log, s, now, api.DefaultLimits, scanner, nil)
	return leak.New(log, s, rules, now, leak.NewList(cfg.RedactionsFile()), nil), nil
}
