package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/server/servertest"
)

// planted are secrets that no other run has, by the name of the file they stand in.
func planted() map[string]string {
	rng := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	tail := func(n int) string {
		const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[rng.IntN(len(letters))]
		}
		return string(b)
	}
	pem := "-----BEGIN PRIVATE KEY-----\n" + tail(64) + "\n" + tail(64) + "\n" + tail(64) + "\n-----END PRIVATE KEY-----\n"
	return map[string]string{
		"plain.md":   "ghp_" + tail(36),
		"json.md":    `{"key": "npm_` + strings.ToLower(tail(36)) + `"}`,
		"percent.md": "postgres://app:" + tail(9) + "%40" + tail(9) + "@db.internal/app",
		"pem.md":     pem,
		"quote.md":   "> " + strings.ReplaceAll(pem, "\n", "\n> "),
		"base64.md":  base64.StdEncoding.EncodeToString([]byte("token: ghp_" + tail(36) + "\n")),
		"ours.md":    "Authorization: Bearer tm_" + tail(43),
	}
}

// windows are all stretches of eight bytes of a secret's random parts.
func windows(secret string) (all []string) {
	for _, part := range strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune(" \n>\"{}:/@.%_-", r) }) {
		if part == "PRIVATE" || part == "postgres" || part == "Authorization" || part == "internal" {
			continue
		}
		for i := 0; i+8 <= len(part); i++ {
			all = append(all, part[i:i+8])
		}
	}
	return all
}

// recorder is a proxy that keeps what goes through, both ways.
type recorder struct {
	mu   sync.Mutex
	seen bytes.Buffer
}

func (r *recorder) keep(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.seen, format, args...)
}

func (r *recorder) serve(t *testing.T, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			body, _ := io.ReadAll(p.In.Body)
			r.keep("%s %s %v\n%s\n", p.In.Method, p.In.URL, p.In.Header, body)
			p.Out.Body = io.NopCloser(bytes.NewReader(body))
			p.SetURL(target)
		},
		ModifyResponse: func(resp *http.Response) error {
			body, err := io.ReadAll(resp.Body)
			r.keep("%s %v\n%s\n", resp.Status, resp.Header, body)
			resp.Body = io.NopCloser(bytes.NewReader(body))
			return err
		},
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}

// TestNoSecretLeaves is BR-34 and C7, end to end: of no planted secret are eight bytes
// in a row in what the client prints, keeps or sends, or in what the server logs,
// stores or answers, not even when a client lies and pushes it.
func TestNoSecretLeaves(t *testing.T) {
	box := servertest.Start(t)
	wire := &recorder{}
	address := wire.serve(t, box.URL)
	home := t.TempDir()
	team := filepath.Join(home, "team")
	token := filepath.Join(home, "token")
	bearer := box.TokenOf("local", "dana", api.Member)
	secrets := planted()
	for name, secret := range secrets {
		writeTestFile(t, filepath.Join(team, name), "# Notes\n\n"+secret+"\n\nand on\n")
	}
	named := namedAfter(secrets["plain.md"], secrets["ours.md"])
	for _, name := range named {
		writeTestFile(t, filepath.Join(team, name), "the name is the secret\n")
	}
	if err := os.Symlink("fine.md", filepath.Join(team, "link-"+named[0])); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, filepath.Join(team, "fine.md"), "fine\n")
	writeTestFile(t, token, bearer+"\n")

	env := config.Env{Home: home, Dir: home, OS: "linux", Getenv: func(name string) string {
		return map[string]string{"TEAMMEM_SERVER": address, "TEAMMEM_TOKEN_FILE": token, "TEAMMEM_DIR": team, "TEAMMEM_REPO": "acme/widgets"}[name]
	}}
	var said strings.Builder
	for _, args := range [][]string{
		{"sync", "--once"},
		{"sync", "--once", "--json"},
		{"sync", "--dry-run"},
		{"push"},
		{"status"},
		{"status", "--json"},
		{"doctor"},
		{"secrets"},
		{"secrets", "--json"},
		{"secrets", filepath.Join(team, "pem.md")},
		{"secrets", "redact", filepath.Join(team, "plain.md")},
		{"secrets", "accept", "plain", "--reason", "none"},
		{"secrets", "accepted"},
		{"conflicts"},
		{"trash"},
		{"log"},
		{"show", "plain.md"},
		{"rm", "--yes", "plain.md"},
		{"log", named[0]},
		{"show", named[0]},
		{"show", named[1] + "@1"},
		{"diff", named[0]},
		{"restore", named[0] + "@1"},
		{"rm", "--yes", named[0]},
		{"sync", "--once"},
	} {
		out, code := runQuietly(t, env, args)
		fmt.Fprintf(&said, "%s: %d\n%s\n", args[0], code, out)
		if args[0] == "sync" && len(args) == 2 && code != exitHeld && code != exitDone {
			t.Errorf("%v: exit status %d\n%s", args, code, out)
		}
	}
	for _, shown := range []string{"ghp_… ", "ghp_… (2)", "note…", "link…", "in the name of the file"} {
		if !strings.Contains(said.String(), shown) {
			t.Errorf("%q is not said", shown)
		}
	}
	lie(t, box, bearer, secrets)
	lieByName(t, box, bearer, named)

	places := map[string]string{"the terminal": said.String(), "the wire": wire.seen.String(), "the server's log": box.Log()}
	for _, root := range []string{filepath.Join(home, ".local"), filepath.Join(home, ".config"), filepath.Join(home, ".cache"), filepath.Join(team, ".teammem"), box.Config.Data} {
		places[root] = everything(t, root)
	}
	for name, secret := range secrets {
		if !strings.Contains(said.String(), name) {
			t.Errorf("%s is not named", name)
		}
		for place, text := range places {
			for _, window := range windows(secret) {
				if strings.Contains(text, window) {
					t.Errorf("%s holds eight bytes of the secret of %s", place, name)
					break
				}
			}
		}
	}
	if !strings.Contains(wire.seen.String(), "fine.md") || len(places["the server's log"]) == 0 {
		t.Error("nothing was captured")
	}
}

// lie pushes every secret past the client's scan, and keeps the answers for the log's
// sake: the server must not give them back.
func lie(t *testing.T, box *servertest.Server, bearer string, secrets map[string]string) {
	t.Helper()
	for name, secret := range secrets {
		body, err := json.Marshal(map[string]any{"entries": map[string]string{name: secret}, "baseChecksums": map[string]any{name: nil}})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest(http.MethodPut, box.URL+api.PathTeamMemory+"?repo=acme/widgets", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+bearer)
		resp, err := box.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s, pushed all the same: %s, %v", name, resp.Status, err)
		}
		for _, window := range windows(secret) {
			if strings.Contains(string(answer), window) {
				t.Errorf("the refusal of %s holds eight bytes of it", name)
				break
			}
		}
	}
}

// namedAfter are names of files that hold secrets.
func namedAfter(github, ours string) []string {
	ours = ours[strings.LastIndexByte(ours, ' ')+1:]
	return []string{github + ".md", github + "-too.md", "notes/" + github + "/a.md", "notes of " + ours + ".md"}
}

// lieByName pushes names past the client's scan. They are the sender's own, who may be
// told them; the server keeps none.
func lieByName(t *testing.T, box *servertest.Server, bearer string, names []string) {
	t.Helper()
	for _, name := range names {
		body := fmt.Sprintf(`{"entries":{%q:"x"},"baseChecksums":{%q:null}}`, name, name)
		req, err := http.NewRequest(http.MethodPut, box.URL+api.PathTeamMemory+"?repo=acme/widgets", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+bearer)
		resp, err := box.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s…, pushed all the same: %s", name[:4], resp.Status)
		}
	}
}

// runQuietly runs one command in this process and gives all that it printed.
func runQuietly(t *testing.T, env config.Env, args []string) (string, exitCode) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	code := run(context.Background(), args, env, in, out, out)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), code
}

func writeTestFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// everything is the bytes of all files below a directory, if there is one.
func everything(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) || err == nil && entry.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
