package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/hook"
	"github.com/teammem/teammem/client/mcp"
)

func (a *app) mcpCommand() *cobra.Command {
	var listen, tokenFile string
	cmd := &cobra.Command{
		Use:     "mcp",
		Short:   "Serve memories to an agent by the Model Context Protocol",
		GroupID: groupAgent,
		Long: `Mcp serves the tools memory_list, memory_read, memory_write, memory_search and
memory_history, and each memory as a resource: on standard input and output to the
agent that starts it, or with --listen over HTTP on this machine, for a token and
without the private memories. What is written is judged by the organization's policy
as last heard, and synced.

` + exitHelp,
		Example: `  gemini mcp add teammem client mcp
  client mcp --listen 127.0.0.1:7337`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if listen != "" {
				return a.mcpListen(cmd.Context(), listen, tokenFile)
			}
			server, err := a.mcpServer(true)
			if err != nil {
				return err
			}
			err = server.Run(cmd.Context(), mcp.Stdio(a.stdin, a.stdout))
			if cmd.Context().Err() != nil || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "serve over HTTP at this loopback address")
	cmd.Flags().StringVar(&tokenFile, "listen-token-file", "", "file of the token that agents send; made when missing (default: mcp.token in the state directory)")
	return cmd
}

// mcpServer is a server over the directories of the project one stands in.
func (a *app) mcpServer(private bool) (*mcp.Server, error) {
	t, err := a.target(nil)
	if err != nil {
		return nil, err
	}
	opts := mcp.Options{
		Repo: t.repo, Version: version, OutputTokens: a.outputTokens(),
		History: func() (mcp.History, error) {
			r, err := a.reader()
			if err != nil {
				return nil, err
			}
			return r.server, nil
		},
		Ranked: t.ranked,
		Saved: func(key api.Key) {
			if dir, err := t.stateDir(); err == nil {
				a.own(t, hook.NewMemo(dir), key)
			}
			a.syncSoon(t)
		},
	}
	for _, r := range t.rooms() {
		switch {
		case r.scope == memory.Team:
			opts.Team = r.path
		case private:
			opts.Private = r.path
		}
	}
	if opts.Team == "" && opts.Private == "" {
		return nil, t.needDir()
	}
	return mcp.New(a.mcpLogger(), newStandingJudge(t, opts.Team), time.Now, opts), nil
}

// outputTokens is the bound of an answer, by the variable that agents know.
func (a *app) outputTokens() int {
	n, err := strconv.Atoi(a.env.Get("MAX_MCP_OUTPUT_TOKENS"))
	if err != nil || n <= 0 {
		return mcp.DefaultOutputTokens
	}
	return n
}

// mcpLogger is for what an operator can act on; standard output is the agent's.
func (a *app) mcpLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

func (a *app) mcpListen(ctx context.Context, address, tokenFile string) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return &usageError{err: fmt.Errorf("--listen %s: memories are served on this machine only", address), hint: "listen on a loopback address, such as 127.0.0.1:7337"}
	}
	server, err := a.mcpServer(false)
	if err != nil {
		return err
	}
	if tokenFile == "" {
		paths, err := a.env.Paths()
		if err != nil {
			return asUsage(err)
		}
		if paths.State == "" {
			return &usageError{err: config.ErrNoPlace, hint: "name a file with --listen-token-file"}
		}
		tokenFile = filepath.Join(paths.State, "mcp.token")
	}
	token, err := listenToken(tokenFile)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String() + "/"
	if a.json {
		a.term.Value(map[string]string{"url": url, "tokenFile": tokenFile})
	} else {
		a.term.Print("serving the team's memories at " + url)
		a.term.Note("agents send the token in " + a.term.Path(tokenFile) + " as Authorization: Bearer")
	}
	return serveUntil(ctx, listener, server.Handler(token))
}

// listenToken reads the token for --listen, and makes it the first time.
func listenToken(path string) (string, error) {
	content, err := os.ReadFile(path)
	if token := strings.TrimSpace(string(content)); err == nil && token != "" {
		return token, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := rand.Text()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return token, replaceFile(path, []byte(token+"\n"), 0o600)
}
