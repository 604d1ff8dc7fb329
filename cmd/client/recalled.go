package main

import (
	"context"
	"strings"
	"time"

	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/hook"
	"github.com/teammem/teammem/client/mcp"
	"github.com/teammem/teammem/client/recall"
	"github.com/teammem/teammem/client/tui"
)

// ranked is the ranking for the tools of client mcp, where team keys begin with team/
// whichever directory is served.
func (t *target) ranked(ctx context.Context, query string, limit int) ([]mcp.Match, error) {
	views, err := t.search(ctx, recall.Query{Text: query, Limit: limit})
	if err != nil {
		return nil, err
	}
	matches := make([]mcp.Match, 0, len(views))
	for _, v := range views {
		key := v.Key
		if v.Scope == "team" && !strings.HasPrefix(key, "team/") {
			key = "team/" + key
		}
		matches = append(matches, mcp.Match{Key: key, Score: v.Score, Reason: v.Reason})
	}
	return matches, nil
}

// recalled is what is told of memories for a question. Each is told once a session.
func (h *hooked) recalled(ctx context.Context) string {
	if strings.TrimSpace(h.event.Prompt) == "" {
		return ""
	}
	views, err := h.search(ctx, recall.Query{Text: h.event.Prompt, Shown: h.memo.Shown(h.event.Session)})
	if err != nil {
		return ""
	}
	now := time.Now()
	var hints []hook.Hint
	var keys []string
	for _, v := range views {
		hints = append(hints, hook.Hint{
			Key: v.Key, Path: v.Path, Age: memory.Age(now, v.Modified),
			Title: tui.Escape(v.Name), Description: tui.Escape(v.Description),
		})
		keys = append(keys, v.Key)
	}
	_ = h.memo.Show(h.event.Session, keys...) // or it is told twice
	return hook.SayHints(hints)
}
