package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/server"
)

// healthResult is the answer as --json shows it.
type healthResult struct {
	URL    string `json:"url"`
	Ready  bool   `json:"ready"`
	Status int    `json:"status"` // of the answer; 0 without one
	Error  string `json:"error,omitempty"`
}

func (p *program) healthCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "health [URL]",
		Short: "Ask a server whether it is ready",
		Long: `Ask a server's /readyz whether it is ready: the one at URL, else the one that the
settings describe. It is the health check of a container without a shell. Where the
settings name a certificate, the server must show that one.

Exit status: 0 ready, 1 not ready, 2 usage.`,
		Example: `  server health
  server health https://memory.acme.example --timeout 2s`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("want one address, and nothing else")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return usagef("--timeout: want a time such as 5s")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return p.health(ctx, args)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	f.StringVar(&p.settings.listen, "listen", server.DefaultConfig("").Listen, "address that the server listens on")
	f.StringVar(&p.settings.tlsCert, "tls-cert", "", "certificate that the server shows")
	return p.jsonFlag(cmd)
}

func (p *program) health(ctx context.Context, args []string) error {
	address, transport, err := p.settings.toAsk(args)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	result := healthResult{URL: address}
	answer, err := askOnce(ctx, transport, address)
	if err == nil {
		result.Status, result.Ready = answer, answer == http.StatusOK
	}
	switch {
	case err != nil:
		err = server.WithHint(fmt.Errorf("the server does not answer: %w", err), "look at its log, and at the address: server config check")
	case !result.Ready:
		err = server.WithHint(fmt.Errorf("%s answers with status %d: the server is not ready", address, answer), "it starts, ends, or cannot reach its database; its log says which")
	}
	if p.json {
		if err != nil {
			result.Error = err.Error()
		}
		return errors.Join(p.printJSON(result), err)
	}
	if err == nil {
		_, err = fmt.Fprintln(p.out, "ready")
	}
	return err
}

// askOnce asks, and follows no redirection: the server that is meant sends none.
func askOnce(ctx context.Context, transport *http.Transport, address string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	return answer.StatusCode, answer.Body.Close()
}

// toAsk is the address to ask, and how.
func (s *settings) toAsk(args []string) (string, *http.Transport, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if len(args) == 1 {
		u, err := url.Parse(args[0])
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", nil, usagef("%q is no address of a server: want https://host", args[0])
		}
		return strings.TrimSuffix(args[0], "/") + "/readyz", transport, nil
	}
	transport.Proxy = nil // it is this machine
	base, err := s.here("give the server's URL: server health http://127.0.0.1:PORT")
	if err != nil {
		return "", nil, err
	}
	if s.tlsCert != "" {
		if transport.TLSClientConfig, err = shows(s.tlsCert); err != nil {
			return "", nil, usagef("tls-cert (%s): %w", s.where("tls-cert"), err)
		}
	}
	return base + "/readyz", transport, nil
}

// here is the address that the server has on this machine. cure is what to do where
// only the server itself knows it.
func (s *settings) here(cure string) (string, error) {
	host, port, err := net.SplitHostPort(s.listen)
	switch {
	case err != nil:
		return "", server.WithHint(usagef("listen (%s): %q is no address", s.where("listen"), s.listen), "give host:port, or the server's URL")
	case port == "0":
		return "", server.WithHint(usagef("listen (%s): nobody can know which port a server picked", s.where("listen")), cure)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	scheme := "http://"
	if s.tlsCert != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port), nil
}

// shows takes the one certificate that stands first in a file. It is asked for on this
// machine, by an address that no certificate names, so that the usual check of names
// and authorities cannot be made; this one is stricter.
func shows(file string) (*tls.Config, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	want, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection compares the whole certificate
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !state.PeerCertificates[0].Equal(want) {
				return errors.New("the server shows another certificate than " + file)
			}
			return nil
		},
	}, nil
}
