package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/teammem/teammem/api"
)

const (
	defaultMatches = 5  // of a ranked search
	defaultLines   = 50 // of a literal one
	mostMatches    = 500
	mostLine       = 400 // runes of a line that are shown
)

type searchIn struct {
	Query string `json:"query" jsonschema:"a question, or with mode literal the text to look for"`
	Mode  string `json:"mode,omitempty" jsonschema:"ranked (the default) finds what matters for a question; literal finds every line that holds the text, letter case aside"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many at most; 5 ranked, 50 literal when left out"`
}

type found struct {
	Key         string  `json:"key"`
	Description string  `json:"description,omitempty"`
	Score       float64 `json:"score,omitempty"`
	Reason      string  `json:"reason,omitempty"`
	Line        int     `json:"line,omitempty"`
	Text        string  `json:"text,omitempty"`
}

type searchOut struct {
	Matches []found `json:"matches"`
	More    bool    `json:"more,omitempty" jsonschema:"there are more than were asked for; narrow the query or raise the limit"`
}

func (s *Server) search(ctx context.Context, _ *sdk.CallToolRequest, in searchIn) (*sdk.CallToolResult, searchOut, error) {
	out := searchOut{Matches: []found{}}
	switch {
	case strings.TrimSpace(in.Query) == "":
		return nil, out, &advice{"the query is empty", "ask a question, or name words that the memory would hold"}
	case in.Mode == "" || in.Mode == "ranked":
		matches, err := s.opts.Ranked(ctx, in.Query, limitOf(in.Limit, defaultMatches))
		if err != nil {
			return nil, out, err
		}
		for _, m := range matches {
			out.Matches = append(out.Matches, found{Key: m.Key, Score: m.Score, Reason: m.Reason, Description: s.describe(m.Key)})
		}
		return nil, out, nil
	case in.Mode == "literal":
		return nil, out, s.literal(ctx, in, &out)
	}
	return nil, out, &advice{fmt.Sprintf("there is no mode %q", in.Mode), "mode is ranked or literal, or is left out"}
}

func limitOf(asked, usual int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, mostMatches)
}

// describe is the one line by which a memory is known; empty without one.
func (s *Server) describe(key string) string {
	p, err := s.place(key)
	if err != nil {
		return ""
	}
	content, _, err := p.text()
	if err != nil {
		return ""
	}
	return headOf(content).Description
}

// literal looks through every memory and index.
func (s *Server) literal(ctx context.Context, in searchIn, out *searchOut) error {
	list, err := s.scan("")
	if err != nil {
		return err
	}
	limit, want := limitOf(in.Limit, defaultLines), strings.ToLower(in.Query)
	_, room := s.budget()
	keys := list.Indexes
	for _, m := range list.Memories {
		keys = append(keys, m.Key)
	}
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := s.place(string(key))
		if err != nil {
			continue // its name is no key: it cannot be read by one either
		}
		content, _, err := p.text()
		if err != nil {
			continue
		}
		number := 0
		for line := range strings.Lines(string(content)) {
			number++
			if !strings.Contains(strings.ToLower(line), want) {
				continue
			}
			shown := shorten(strings.TrimSpace(line))
			if room -= len(shown) + len(key) + 60; len(out.Matches) == limit || room < 0 {
				out.More = true
				return nil
			}
			out.Matches = append(out.Matches, found{Key: string(key), Line: number, Text: shown})
		}
	}
	return nil
}

func shorten(line string) string {
	line = strings.ToValidUTF8(line, "\uFFFD")
	if r := []rune(line); len(r) > mostLine {
		return string(r[:mostLine]) + "…"
	}
	return line
}

type historyIn struct {
	Key   string `json:"key" jsonschema:"of a team memory"`
	At    int64  `json:"at,omitempty" jsonschema:"a version from this history: the answer holds the text as it stood then"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many changes at most, 20 when left out"`
}

type changed struct {
	Version  int64  `json:"version"`
	At       string `json:"at"`
	User     string `json:"user"`
	Client   string `json:"client"`
	Deleted  bool   `json:"deleted,omitempty"`
	Bytes    int    `json:"bytes"`
	Checksum string `json:"checksum,omitempty"`
}

type historyOut struct {
	Key     string    `json:"key"`
	Changes []changed `json:"changes"`
	Text    string    `json:"text,omitempty"`
	Cut     bool      `json:"cut,omitempty" jsonschema:"the text is longer than what is shown"`
}

const defaultChanges = 20

func (s *Server) history(ctx context.Context, _ *sdk.CallToolRequest, in historyIn) (*sdk.CallToolResult, historyOut, error) {
	out := historyOut{Key: in.Key, Changes: []changed{}}
	p, err := s.place(in.Key)
	if err != nil {
		return nil, out, err
	}
	if !strings.HasPrefix(in.Key, teamPrefix) {
		return nil, out, &advice{in.Key + " is private, and nothing but its present text is kept of it", "memory_read gives it"}
	}
	server, err := s.opts.History()
	if err != nil {
		return nil, out, &advice{fmt.Sprintf("the history is at the server, which cannot be asked: %v", err), "go on without it, or tell the person: client doctor says what to do"}
	}
	if in.At > 0 {
		entry, err := server.Entry(ctx, s.opts.Repo, p.key, api.Version(in.At))
		if err != nil {
			return nil, out, s.asked(err, in.Key)
		}
		out.Changes = append(out.Changes, changed{Version: int64(entry.Version), User: entry.User, Deleted: entry.Deleted, Checksum: string(entry.Checksum), Bytes: len(entry.Content)})
		text, next := s.cut([]byte(entry.Content), 0)
		out.Text, out.Cut = text, next > 0
		return nil, out, nil
	}
	list, err := server.History(ctx, s.opts.Repo, p.key, limitOf(in.Limit, defaultChanges), "")
	if err != nil {
		return nil, out, s.asked(err, in.Key)
	}
	for _, c := range list.Changes {
		out.Changes = append(out.Changes, changed{
			Version: int64(c.Version), At: c.At.UTC().Format("2006-01-02T15:04:05Z"), User: c.User, Client: c.Client,
			Deleted: c.Deleted, Bytes: c.Bytes, Checksum: string(c.Checksum),
		})
	}
	return nil, out, nil
}

// asked is an error of the server's, for a model.
func (s *Server) asked(err error, key string) error {
	if api.CodeOf(err) == api.NotFound {
		return &advice{fmt.Sprintf("the server knows no such version of %s", key), "memory_history without at lists what there is; a memory that was only just written is on its way"}
	}
	return &advice{fmt.Sprintf("the server does not answer as it should: %v", err), "go on without the history"}
}
