package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/proxy"
	"github.com/teammem/teammem/client/remote"
)

func (a *app) proxyCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:     "proxy",
		Short:   "Stand between a stock client on this machine and the server",
		GroupID: groupAgent,
		Long: `Proxy takes the team-memory calls of a stock client at a loopback address, drops the
token that they bring, and passes them on with yours. What must not leave this machine
is refused, and nothing but these calls is passed on. Whoever may use this machine's
loopback may use it: on a machine that several people share, client sync is the way.

` + exitHelp,
		Example: `  client proxy     # then the agent with TEAM_MEMORY_SYNC_URL=http://127.0.0.1:7338
  client proxy --listen 127.0.0.1:0 --org acme`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.proxy(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:7338", "loopback address to serve at; port 0 picks one")
	return cmd
}

func (a *app) proxy(ctx context.Context, address string) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return &usageError{err: fmt.Errorf("--listen %s: your token is lent on this machine only", address), hint: "listen on a loopback address, such as 127.0.0.1:7338"}
	}
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	if err := t.needServer(); err != nil {
		return err
	}
	if _, err := t.token(); err != nil {
		return err
	}
	opts := t.remoteOptions()
	server, err := remote.New(opts)
	if err != nil {
		return err
	}
	defer server.Close()
	web, err := remote.NewHTTP(t.settings.Text(config.CA))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	handler, err := proxy.New(log, guard.New(guard.ScanRules, guard.Defaults(), server, time.Now), proxy.Options{
		Server: opts.Server, Token: opts.Token, Client: opts.ClientName, Organization: opts.Organization, UserAgent: opts.UserAgent, Transport: web.Transport,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	if a.json {
		a.term.Value(map[string]string{"url": url, "server": opts.Server})
	} else {
		a.term.Print("passing team memory on to " + opts.Server + " at " + url)
		a.term.Note("for a stock client: TEAM_MEMORY_SYNC_URL=" + url)
	}
	return serveUntil(ctx, listener, handler)
}

// serveUntil serves until ctx ends; what is under way then is given two seconds.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if web.Shutdown(grace) != nil {
		_ = web.Close() // streams stay open until their agents go
	}
	<-ended
	return nil
}
