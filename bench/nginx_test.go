package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nginxConfig is nginx as it is quickest: files through sendfile, no log. %[1]s is its
// directory, %[2]s where it listens.
const nginxConfig = `
daemon off;
pid %[1]s/pid;
error_log stderr;
worker_processes auto;
events { worker_connections 1024; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	default_type application/json;
	client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	server { listen %[2]s; root %[1]s/files; }
}
`

// BenchmarkAgainstNginx asks the embedded store for what has not changed, for the hashes
// of 300 entries, and for their 400 KB of text. The peer is nginx with the same bytes in
// files.
func BenchmarkAgainstNginx(b *testing.B) {
	const repo, entries, text = "acme/widgets", 300, 400_000
	ours := serve(b, openDatabases[0].open(b))
	ifMatch := ""
	for from := 0; from < entries; from += 100 {
		texts := map[string]string{}
		for i := from; i < from+100; i++ {
			texts[fmt.Sprintf("topic_%03d.md", i)] = words(uint64(i), text/entries)
		}
		body, err := json.Marshal(map[string]any{"entries": texts})
		if err != nil {
			b.Fatal(err)
		}
		if err := ours.put(repo, body, ifMatch); err != nil {
			b.Fatal(err)
		}
		ifMatch = "*"
	}
	bearer := []string{"Authorization: Bearer " + ours.token}
	whole, hashes := ask(b, ours.memory(repo), bearer), ask(b, ours.memory(repo)+"&view=hashes", bearer)
	dir := b.TempDir()
	for name, body := range map[string]string{"whole": whole.body, "hashes": hashes.body} {
		if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "files", name), []byte(body), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	nginx, base := startNginx(b, dir)
	theirTag := ask(b, base+"/whole", nil).header.Get("Etag")
	for _, question := range []struct {
		name, theirs, ours string
		headers            func(tag string) []string
		target             float64
	}{
		{"304", "/whole", "", func(tag string) []string { return []string{"If-None-Match: " + tag} }, 0.25},
		{"hashes", "/hashes", "&view=hashes", func(string) []string { return nil }, 0.2},
		{"whole", "/whole", "", func(string) []string { return nil }, 0.8},
	} {
		for _, connections := range []int{16, 256} {
			b.Run(fmt.Sprintf("%s/connections=%d", question.name, connections), func(b *testing.B) {
				theirRounds, ourRounds := turns(b, readRounds,
					func() round {
						return loaded(b, nginx, connections, base+question.theirs, question.headers(theirTag))
					},
					func() round {
						return loaded(b, ours.process, connections, ours.memory(repo)+question.ours, append(question.headers(whole.header.Get("Etag")), bearer...))
					})
				compare(b, question.target, theirRounds, ourRounds)
			})
		}
	}
}

// startNginx serves dir/files.
func startNginx(b *testing.B, dir string) (*process, string) {
	b.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	needs(b, path)
	at := fmt.Sprintf("127.0.0.1:%d", freePort(b))
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, at), 0o644); err != nil {
		b.Fatal(err)
	}
	// Its workers run as nobody.
	for up := dir; strings.HasPrefix(up, os.TempDir()) && up != os.TempDir(); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	p := start(b, exec.Command(path, "-c", config))
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", at); err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(p.log)
			b.Fatalf("nginx does not listen: %s", said)
		}
	}
	if got, err := http.Get("http://" + at + "/whole"); err != nil || got.StatusCode != http.StatusOK {
		b.Fatalf("nginx answers %v, %v", got, err)
	}
	return p, "http://" + at
}
