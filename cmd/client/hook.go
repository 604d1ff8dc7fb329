package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/claudemd"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/hook"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/state"
)

func (a *app) hookCommand() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:     "hook EVENT",
		Short:   "Answer an agent's hook; EVENT may be its own name for it",
		GroupID: groupAgent,
		Long: `Hook is run by an agent (client hooks install). It reads the agent's JSON on
standard input and answers in the agent's form:

session-start   what is remembered, and what the team learned since last time
prompt          the memories that matter for the question
before-write    refuses a secret in the team's directory, and nothing else
after-write, stop, session-end   sync now

Exit status: always 0. What is not understood, or fails, is not said.`,
		Example: `  client hook session-start < event.json
  client hook --agent gemini BeforeTool < event.json`,
		// Exit status 2 means to several agents that the hook refuses: a command line
		// that is not understood must not end in it.
		Args:               cobra.ArbitraryArgs,
		ValidArgs:          []string{"session-start", "prompt", "before-write", "after-write", "stop", "session-end"},
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			a.hook(cmd.Context(), hook.Agent(agent), name)
			return nil
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "whose form the event has: claude, codex, gemini, qwen, opencode (default: by its fields)")
	a.completeWords(cmd, "agent", agentNames()...)
	return cmd
}

// hook answers one event. Nothing that goes wrong is told, and nothing ends in a panic:
// the agent goes on as if there were no hook.
func (a *app) hook(ctx context.Context, agent hook.Agent, name string) {
	defer func() { _ = recover() }()
	defer collectLate()()
	input, err := io.ReadAll(io.LimitReader(a.stdin, hook.MaxInput+1))
	if err != nil {
		return
	}
	e, ok := hook.Read(agent, name, input)
	if !ok {
		return
	}
	if info, err := os.Stat(e.Dir); err == nil && info.IsDir() {
		a.env.Dir = e.Dir
	}
	t, err := a.target(nil)
	if err != nil || t.dir == "" {
		return
	}
	h := &hooked{app: a, target: t, event: e}
	if dir, err := t.stateDir(); err == nil {
		h.memo, h.stateDir = hook.NewMemo(dir), dir
	}
	a.term.Raw(h.answer(ctx))
}

// hooked is one event on its way.
type hooked struct {
	*app
	*target
	event    hook.Event
	memo     hook.Memo
	stateDir string // "" where there is no place for state
}

func (h *hooked) answer(ctx context.Context) []byte {
	switch h.event.Kind {
	case hook.BeforeWrite:
		if refusal := h.guard(); refusal != nil {
			return hook.Deny(h.event, refusal.Reason())
		}
	case hook.AfterWrite:
		h.wrote()
	case hook.SessionStart:
		h.memo.Forget(h.event.Session, time.Now())
		h.syncSoon(h.target)
		return hook.Context(h.event, h.opening())
	case hook.Prompt:
		return hook.Context(h.event, h.recalled(ctx))
	case hook.Stop, hook.SessionEnd:
		h.syncSoon(h.target)
	}
	return nil
}

// shared gives a directory that a team shares and the key in it of a path, whatever way
// leads there: this project's, that of another project on this machine, or any that a
// client syncs.
func (h *hooked) shared(path string) (dir string, key api.Key, ok bool) {
	real := config.Resolve(path)
	dir = config.Resolve(h.dir)
	if key, ok = keyBelow(dir, real); ok {
		return dir, key, true
	}
	for at := filepath.Dir(real); at != filepath.Dir(at); at = filepath.Dir(at) {
		if memdir.IsMarked(at) {
			key, ok = keyBelow(at, real)
			return at, key, ok
		}
	}
	kind, err := h.project.Classify(h.app.env, path)
	return filepath.Dir(real), api.Key(filepath.Base(real)), err == nil && kind == project.KindTeam
}

func keyBelow(dir, path string) (api.Key, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", false
	}
	return api.Key(filepath.ToSlash(rel)), true
}

// guard looks at what a tool is about to write.
func (h *hooked) guard() *hook.Refusal {
	read := func(path string) string {
		text, err := readRegular(path)
		if err != nil {
			return ""
		}
		return string(text)
	}
	return hook.Guard(h.event.Writes(h.app.env.Dir), h.shared, read, func(dir string) (hook.Judge, error) {
		return judgeOf(h.target, dir, guard.ScanRules)
	})
}

// readRegular reads a file that a tool is about to edit.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > hook.MaxInput {
		return nil, errors.New("it is no file of a memory")
	}
	return os.ReadFile(path)
}

// wrote notes what the agent wrote itself, and syncs when it was the team's.
func (h *hooked) wrote() {
	ours := false
	for _, w := range h.event.Writes(h.app.env.Dir) {
		_, key, ok := h.shared(w.Path)
		if !ok {
			continue
		}
		ours = true
		h.own(h.target, h.memo, key)
	}
	if ours {
		h.syncSoon(h.target)
	}
}

// own notes a text that the agent wrote itself. A note that fails costs a line of news.
func (a *app) own(t *target, memo hook.Memo, key api.Key) {
	dir, err := memdir.Open(t.dir)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	if text, err := dir.Read(key, api.DefaultLimits.EntryBytes); err == nil {
		_ = memo.Own(key, api.ChecksumOf(text))
	}
}

// opening is what a session begins with: what is new, and for agents that do not read
// memory by themselves what client context tells.
func (h *hooked) opening() string {
	told := h.news()
	if h.event.Agent.LoadsMemory() {
		return told
	}
	var plain contextFlags
	options, guidelines, err := h.contextOptions(plain)
	memories, _ := h.memoriesFor(plain, guidelines)
	var found claudemd.Result
	if err == nil {
		found = claudemd.Load(options)
		natively(&found)
	}
	files := slices.DeleteFunc(found.Files, func(f claudemd.File) bool { return f.Text == "" || h.reads(f.Path) })
	return hook.SayOpening(told, files, memories.Prompt())
}

// reads reports whether the agent reads a file of instructions by itself, under this
// name or another.
func (h *hooked) reads(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(h.event.Agent.Instructions(), func(name string) bool {
		own, err := os.Stat(filepath.Join(filepath.Dir(path), name))
		return err == nil && os.SameFile(info, own)
	})
}

// news is what came from the team since a session last began here.
func (h *hooked) news() string {
	if h.stateDir == "" {
		return ""
	}
	if _, err := os.Stat(h.stateDir); err != nil {
		return "" // never synced
	}
	store, err := state.Open(h.stateDir)
	if err != nil {
		return ""
	}
	agreed, err := store.Load()
	if err != nil || agreed.MarkerID == "" {
		return ""
	}
	now := make(map[api.Key]api.Checksum, len(agreed.Entries))
	for key, entry := range agreed.Entries {
		if entry.Base != "" {
			now[key] = entry.Base
		}
	}
	news, err := h.memo.Since(now)
	if err != nil || news.Empty() {
		return ""
	}
	dir, err := memdir.Open(h.dir)
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }()
	return hook.SayNews(news, func(key api.Key) string {
		text, err := dir.Read(key, api.DefaultLimits.EntryBytes)
		if err != nil || key.IsIndex() {
			return ""
		}
		return memory.Parse(text).Description
	})
}
