package client_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// nginxConfig is a proxy as many run one: it compresses, which weakens the ETag,
// and takes a megabyte, which is its default.
const nginxConfig = `
daemon off;
pid %[1]s/pid;
error_log %[1]s/error.log;
worker_processes 1;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	client_max_body_size 300k;
	gzip on;
	gzip_min_length 1;
	gzip_proxied any;
	gzip_types application/json;
	server {
		listen %[2]s;
		location / {
			proxy_pass %[3]s;
			proxy_http_version 1.1;
			# It packs itself what it is given plain.
			proxy_set_header Accept-Encoding "";
		}
	}
}
`

// behindNginx starts an nginx before a server and gives its address.
func behindNginx(t *testing.T, server *servertest.Server) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("nginx is not here")
	}
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(nginxConfig, dir, at, server.URL)
	if os.Getuid() == 0 {
		text = "user root;" + text
	}
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "-p", dir, "-c", config, "-e", filepath.Join(dir, "error.log"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was told to end, and says so
	})
	await(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return "http://" + at
}

// TestBehindNginx: a proxy that weakens the ETag makes no conflict (BR-35). What is
// larger than it takes is refused by its page, named, and not sent again and again,
// while the other files go on (BR-38).
func TestBehindNginx(t *testing.T) {
	server := servertest.Start(t)
	proxy := behindNginx(t, server)
	front := newGate(t, &servertest.Server{URL: proxy}, func(r *http.Request) bool { return r.URL.Path == api.PathEvents })
	a, b := newMachine(t, server, "dana", "acme/widgets").quick(), newMachine(t, server, "lee", "acme/widgets").quick()
	a.cfg.Remote.Server, b.cfg.Remote.Server = front.URL, front.URL
	a.write("t.md", "one")
	a.run()
	b.run()
	b.arrives("t.md", "one")
	if tag := tagOf(t, proxy, a.cfg.Remote.Token()); !strings.HasPrefix(tag, `W/"`) {
		t.Errorf("nginx did not weaken the ETag: %s", tag)
	}
	for _, text := range []string{"two", "three", "four"} {
		a.write("t.md", text)
		b.arrives("t.md", text)
	}
	if puts := front.puts(); puts != 4 {
		t.Errorf("%d PUTs for four edits", puts)
	}

	// A quarter of a megabyte that JSON writes with two bytes for each.
	large := strings.Repeat(`"`, 240_000)
	a.write("large.md", large)
	a.write("small.md", "five")
	b.arrives("small.md", "five")
	await(t, "the file is named", func() bool { return len(a.eventsOf(syncer.EventRefused)) == 1 })
	if e := a.eventsOf(syncer.EventRefused)[0]; e.Keys[0] != "large.md" || !strings.Contains(e.Text, "413") {
		t.Errorf("told %+v", e)
	}
	puts := front.puts()
	for _, text := range []string{"six", "seven"} {
		a.write("small.md", text)
		b.arrives("small.md", text)
	}
	if more := front.puts() - puts; more != 2 {
		t.Errorf("%d PUTs for two edits", more)
	}
	// When the file fits it goes, without anything being touched by hand.
	a.write("large.md", large[:100_000])
	b.arrives("large.md", large[:100_000])
	for _, m := range []*machine{a, b} {
		m.wantEvents(syncer.EventConflict, 0)
		m.wantEvents(syncer.EventOffline, 0)
	}
	a.wantEvents(syncer.EventRefused, 1)
}

// tagOf asks as a client that takes gzip does.
func tagOf(t *testing.T, server, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+api.PathTeamMemory+"?repo=acme/widgets", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept-Encoding", "gzip")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.Header.Get("ETag")
}
