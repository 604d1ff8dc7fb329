package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/servertest"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestTheFirstStartIsTakenUpWhereItWasInterrupted(t *testing.T) {
	ctx, data := context.Background(), t.TempDir()
	cfg := server.DefaultConfig(data)
	cfg.Listen = "127.0.0.1:0"
	start := func() *server.FirstStart {
		t.Helper()
		s, err := server.New(ctx, quiet(), cfg, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		first := s.FirstStart()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return first
	}
	// As if the process had ended between the organization and its token.
	if err := server.Migrate(ctx, quiet(), cfg.DatabaseURL()); err != nil {
		t.Fatal(err)
	}
	db, err := server.OpenStore(ctx, quiet(), cfg.DatabaseURL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreateOrganization(ctx, auth.NewOrganization(server.FirstOrganization, time.Now())); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	first := start()
	if first == nil {
		t.Fatal("an organization without a token counts as done")
	}
	info, err := os.Stat(first.File)
	if err != nil || info.Mode().Perm() != 0o600 || filepath.Dir(first.File) != data {
		t.Errorf("the token lies in %v, %v", info, err)
	}
	if again := start(); again != nil {
		t.Error("a second start is a first one too")
	}
}

func TestPlainHTTPStaysOnLoopback(t *testing.T) {
	for listen, refused := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "0.0.0.0:0": true, ":0": true} {
		cfg := server.DefaultConfig(t.TempDir())
		cfg.Listen = listen
		s, err := server.New(context.Background(), quiet(), cfg, time.Now)
		if (err != nil) != refused {
			t.Errorf("%s: %v", listen, err)
		}
		var hint *server.HintError
		if err != nil && !errors.As(err, &hint) {
			t.Errorf("%s: the error has no hint", listen)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		} else if entries, _ := os.ReadDir(cfg.Data); len(entries) > 0 {
			t.Errorf("%s: a refused start leaves %d files", listen, len(entries))
		}
	}
}

// A request under way when the server is told to end is answered; meanwhile the
// server says that it is not ready.
func TestTheEndIsGraceful(t *testing.T) {
	s := servertest.Start(t, servertest.Configured(func(c *server.Config) { c.DrainDelay = 3 * time.Second }))
	token, path := s.Token(api.Member), api.PathTeamMemory+"?repo=acme/widgets"
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	body := `{"entries":{"a.md":"kept"}}`
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, token, len(body))
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	ended := make(chan struct{})
	go func() { s.Close(); close(ended) }()
	waitFor(t, func() bool { return status(t, s, api.PathReady) == http.StatusServiceUnavailable })
	if got := status(t, s, api.PathHealth); got != http.StatusOK {
		t.Errorf("a draining server is alive, and answers %d", got)
	}
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	if line, err := answers.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("the end of 100 Continue: %q, %v", line, err)
	}
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the request under way is answered %d", answer.StatusCode)
	}
	<-ended
}

func status(t *testing.T, s *servertest.Server, path string) int {
	t.Helper()
	answer, err := s.Client().Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to hold")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// raw sends text on a connection of its own and gives what comes back until the
// server closes it.
func raw(t *testing.T, s *servertest.Server, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// The server may close while this is still being sent.
	_, _ = io.WriteString(conn, text)
	answer, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server does not close the connection")
	}
	return string(answer)
}

func TestHeadersAreBounded(t *testing.T) {
	s := servertest.Start(t, servertest.Configured(func(c *server.Config) { c.HeaderTime = 50 * time.Millisecond }))
	if answer := raw(t, s, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 100_000)+"\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 431 ") {
		t.Errorf("too large a header is answered %.100q", answer)
	}
	if answer := raw(t, s, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: slow"); answer != "" {
		t.Errorf("too slow a header is answered %.100q; want a closed connection", answer)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	s := servertest.Start(t, servertest.Configured(func(c *server.Config) { c.Connections = 2 }))
	addr := strings.TrimPrefix(s.URL, "http://")
	var open []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	answered := make(chan error, 1)
	for _, conn := range open[:2] {
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		_, err := http.ReadResponse(bufio.NewReader(open[2]), nil)
		answered <- err
	}()
	select {
	case <-answered:
		t.Fatal("a third connection is served beside two")
	case <-time.After(100 * time.Millisecond):
	}
	if err := open[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the third connection is not served after the first: %v", err)
	}
}

func TestARenewedCertificateNeedsNoRestart(t *testing.T) {
	s := servertest.Start(t, servertest.WithTLS())
	serial := func() string {
		t.Helper()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	old := serial()
	if err := os.WriteFile(s.Config.TLSKey, []byte("half written"), 0o600); err != nil {
		t.Fatal(err)
	}
	touch(t, s.Config.TLSKey, time.Minute)
	if serial() != old {
		t.Error("the certificate changed with a broken key")
	}
	renewed := servertest.WriteCertificate(t, s.Config.TLSCert, s.Config.TLSKey)
	touch(t, s.Config.TLSCert, 2*time.Minute)
	touch(t, s.Config.TLSKey, 2*time.Minute)
	if got := serial(); got != renewed.SerialNumber.String() {
		t.Error("the renewed certificate is not served")
	}
}

// touch moves a file's time, whatever the grain of the file system's clock.
func touch(t *testing.T, file string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(by)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestDatabaseAddresses(t *testing.T) {
	for _, address := range []string{"", "x", "mysql://a", "sqlite://", "sqlite:relative", "file:///x"} {
		_, err := server.MigrationStatus(context.Background(), address)
		var hint *server.HintError
		if !errors.As(err, &hint) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
