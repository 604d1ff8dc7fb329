// Package mcp serves memories to any agent that speaks the Model Context Protocol.
//
// Its five tools list, read, search, write and tell the history of memories; each
// memory and each index is a resource as well. A memory is named by its path below
// the agent's memory directory, as its own index names it: what begins with team/ is
// shared, everything else is private. The version of a text is its checksum, so that
// a write can be held against what its writer has read: it takes the version that was
// read last, or "new", and what does not fit is answered with the text that stands
// there. Writing goes through memdir, in one step, and every write is scanned before: what
// the organization's policy refuses, or the defaults where none was heard, is not written.
//
// Files are read where they lie, so it works with and without a running client; what
// was written is handed to the caller to be synced. Only history asks a server.
// Answers are bounded ([Options.OutputTokens]): one that is longer is cut to half of
// that and says how to go on. Errors are for the model that reads them: what is wrong,
// and the call that cures it.
//
// Private memories are served on standard input and output only, to the agent that
// started us. Over HTTP ([Handler]), on the loopback and for a token, there are the
// team's.
package mcp

import (
	"context"
	"log/slog"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/guard"
)

// Judge says what a text holds and what the policy makes of it, as guard.Guard does.
// It is asked by several calls at once.
type Judge interface {
	Judge(key api.Key, content []byte) ([]guard.Judged, error)
}

// Match is a memory that a ranked search found.
type Match struct {
	Key    string  `json:"key"`
	Score  float64 `json:"score"`
	Reason string  `json:"reason"`
}

// History is what a server knows of old texts.
type History interface {
	History(ctx context.Context, repo api.RepoSlug, key api.Key, limit int, cursor string) (api.HistoryList, error)
	Entry(ctx context.Context, repo api.RepoSlug, key api.Key, version api.Version) (api.EntryAt, error)
}

// DefaultOutputTokens is the usual bound of an answer, at [bytesPerToken].
const DefaultOutputTokens = 25_000

const bytesPerToken = 4

// Options say what is served.
type Options struct {
	// Team and Private are directories, absolute; an empty one is not served. One that
	// is not there holds nothing.
	Team, Private string
	Repo          api.RepoSlug
	// History asks the server; nil together with Offline, which says why.
	History func() (History, error)
	// Ranked finds what matters for a question.
	Ranked func(ctx context.Context, query string, limit int) ([]Match, error)
	// Saved is called after a write to the team's directory, with the key in it.
	Saved        func(key api.Key)
	OutputTokens int // 0: DefaultOutputTokens
	Version      string
}

// Server serves memories.
type Server struct {
	opts   Options
	log    *slog.Logger
	judge  Judge
	now    func() time.Time
	sdk    *sdk.Server
	listed resources
}

// New makes a server.
func New(log *slog.Logger, judge Judge, now func() time.Time, opts Options) *Server {
	if opts.OutputTokens <= 0 {
		opts.OutputTokens = DefaultOutputTokens
	}
	s := &Server{opts: opts, log: log, judge: judge, now: now}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "teammem", Title: "Team memory", Version: opts.Version}, &sdk.ServerOptions{
		Instructions: s.instructions(),
		Logger:       log,
		Capabilities: &sdk.ServerCapabilities{},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	s.addTools()
	s.addResources()
	return s
}

// Run serves one session over a transport until it ends.
func (s *Server) Run(ctx context.Context, transport sdk.Transport) error {
	return s.sdk.Run(ctx, transport)
}

func (s *Server) addTools() {
	yes, no := true, false
	look := func(title string, world *bool) *sdk.ToolAnnotations {
		return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: true, OpenWorldHint: world}
	}
	sdk.AddTool(s.sdk, &sdk.Tool{
		Name: "memory_list", Annotations: look("List memories", &no),
		Description: "List the memories of this project, newest first: key, type, description, time. Use it to see what is known and to find a memory to update before writing a new one.",
	}, s.list)
	sdk.AddTool(s.sdk, &sdk.Tool{
		Name: "memory_read", Annotations: look("Read a memory", &no),
		Description: "Read one memory by its key. The answer holds the text and its version, which memory_write needs. An old memory is an observation of its day: verify it before you rely on it.",
	}, s.read)
	sdk.AddTool(s.sdk, &sdk.Tool{
		Name: "memory_search", Annotations: look("Search memories", &no),
		Description: "Find memories for a question (mode ranked, the default) or every line that holds a text (mode literal). Nothing found means that nothing is known.",
	}, s.search)
	sdk.AddTool(s.sdk, &sdk.Tool{
		Name: "memory_write",
		Annotations: &sdk.ToolAnnotations{
			Title: "Write a memory", DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no,
		},
		Description: `Write the whole text of one memory. version is the one that memory_read gave, or "new" for a memory that does not exist. If somebody changed it meanwhile, nothing is written and the answer holds the current text: merge, and write again with its version.`,
	}, s.write)
	sdk.AddTool(s.sdk, &sdk.Tool{
		Name: "memory_history", Annotations: look("History of a memory", &yes),
		Description: "Tell who changed a team memory and when, newest first; with at, give its text as it stood at that version.",
	}, s.history)
}

// instructions are what a model is told about these tools. They are short: they are
// read in every session.
func (s *Server) instructions() string {
	var b strings.Builder
	b.WriteString(`Memories are Markdown files that outlive a session. `)
	if s.opts.Private != "" {
		b.WriteString(`Keys that begin with team/ are shared with everyone who works on this project; all others are private to this person and never leave this machine. `)
	} else {
		b.WriteString(`They are shared with everyone who works on this project; their keys begin with team/. `)
	}
	b.WriteString(`
- Before a task, call memory_search with the question, or read the index team/` + string(api.IndexKey) + `. Verify what a memory says about code before you act on it.
- Save what will matter in later sessions and is not in the code, its history or its instructions: decisions and their reasons, corrections, deadlines, where things are kept.
- Look for a memory to update before you write a new one: memory_list, memory_read, then memory_write with the version you read.
- A memory begins with front matter: "---", name, description (one specific line, by which it is found), type (` + types() + `), "---". For feedback and project, write the rule or fact first, then lines that begin with **Why:** and **How to apply:**.
- After a new memory, add one line to the index beside it: "- [Title](file.md) — when it matters".
- Never put a password, key or token into a memory; such a write is refused. Write where it is kept.`)
	return b.String()
}

func types() string {
	var all []string
	for _, t := range memory.Types() {
		all = append(all, string(t))
	}
	return strings.Join(all, ", ")
}

// budget is how many bytes an answer may have, and how many one that is cut keeps.
func (s *Server) budget() (most, cut int) {
	most = s.opts.OutputTokens * bytesPerToken
	return most, most / 2
}
