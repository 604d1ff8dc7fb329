package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// binariesEnvironment names the variable with a directory of built binaries, to
// measure others than the source beside.
const binariesEnvironment = "TEAMMEM_BENCH_BIN"

var build = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(binariesEnvironment); dir != "" {
		return dir, nil
	}
	dir, err := filepath.Abs("../bin")
	if err != nil {
		return "", err
	}
	command := exec.Command("go", "build", "-o", dir+"/", "./cmd/...")
	command.Dir, command.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the binaries: %w: %s", err, said)
	}
	return dir, nil
})

// program is the path of one of the product's programs.
func program(b *testing.B, name string) string {
	b.Helper()
	dir, err := build()
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// database is where a server keeps what it has.
type database struct {
	kind string // sqlite or postgres
	dsn  string // as the server's flag takes it
	org  int64
	dir  string // the server's data directory
}

// openDatabases are the two stores. Both flush to the disk.
var openDatabases = []struct {
	kind string
	open func(b *testing.B) database
}{
	{"sqlite", func(b *testing.B) database {
		dir := b.TempDir()
		return database{kind: "sqlite", dir: dir, dsn: "sqlite://" + filepath.Join(dir, "bench.db")}
	}},
	{"postgres", func(b *testing.B) database {
		return database{kind: "postgres", dir: b.TempDir(), dsn: pgtest.DSN(b, pgtest.Durable())}
	}},
}

// path is the file of an SQLite database.
func (d database) path() string { return strings.TrimPrefix(d.dsn, "sqlite://") }

// product is a running server of ours, and a member's token.
type product struct {
	*process
	database
	url, token string
}

// organization is the one whose repos are measured. It is made beside the first
// start's own and is the second in the database.
const organization = "acme"

// serve makes a database ready and serves it.
func serve(b *testing.B, d database) *product {
	b.Helper()
	p := &product{database: d}
	p.restart(b)
	flags := []string{"--data", d.dir, "--database", d.dsn}
	output(b, exec.Command(program(b, "server"), append([]string{"org", "create", organization, "--max-entries", "200000"}, flags...)...))
	said := output(b, exec.Command(program(b, "server"), append([]string{"token", "create", "--org", organization, "--user", "dana"}, flags...)...))
	p.token = strings.TrimSpace(said)
	p.org = 2
	return p
}

// restart serves the database, at a new address.
func (p *product) restart(b *testing.B) {
	b.Helper()
	p.process = start(b, exec.Command(program(b, "server"), "--listen", "127.0.0.1:0", "--data", p.dir, "--database", p.dsn))
	p.url = p.address(b)
}

// memory is the address of a repo's memory.
func (p *product) memory(repo string) string {
	return p.url + "/api/claude_code/team_memory?repo=" + strings.ReplaceAll(repo, "/", "%2F")
}

// one client for all pushes: as many connections stay open as are used.
var pusher = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// put sends a body that must be taken.
func (p *product) put(repo string, body []byte, ifMatch string) error {
	request, err := http.NewRequest(http.MethodPut, p.memory(repo), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("Content-Type", "application/json")
	if ifMatch != "" {
		request.Header.Set("If-Match", ifMatch)
	}
	answer, err := pusher.Do(request)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("PUT is answered %s: %s", answer.Status, said)
	}
	return err
}

// fill gives a repo its first entries, small ones, a thousand at a time.
func (p *product) fill(b *testing.B, repo string, entries int) {
	b.Helper()
	ifMatch := ""
	for from := 0; from < entries; from += 1000 {
		texts := map[string]string{}
		for i := from; i < min(from+1000, entries); i++ {
			texts[topic(i)] = fmt.Sprint(i % 100)
		}
		body, err := json.Marshal(map[string]any{"entries": texts})
		if err == nil {
			err = p.put(repo, body, ifMatch)
		}
		if err != nil {
			b.Fatalf("filling %s: %v", repo, err)
		}
		ifMatch = "*"
	}
}

// topic is the key of a repo's i-th entry.
func topic(i int) string { return fmt.Sprintf("notes/topic-%0*d.md", keyDigits, i) }
