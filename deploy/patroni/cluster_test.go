//go:build patroni

package patroni

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The addresses are of a bridge that leads nowhere else.
const (
	core    = "10.77.0.1" // of the balancers and the servers
	network = "10.77.0.0/24"
	// patience is for what a slow machine takes its time for; no figure depends on it.
	patience = 90 * time.Second
)

// node is one of the three machines: a network namespace with etcd, Patroni and
// Postgres in it.
type node struct {
	name, address, dir string
}

// cluster is all of it, and what its files are filled in with.
type cluster struct {
	dir    string
	nodes  []*node
	values map[string]string
}

// start brings everything up, from the files of this folder.
func start(t *testing.T) *cluster {
	t.Helper()
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 {
		t.Fatal("no Postgres is installed")
	}
	// Not the test's own: what still runs at its end writes on. The script removes it.
	dir, err := os.MkdirTemp("", "cluster-")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: dir, values: map[string]string{
		"LISTEN": core, "HAPROXY": core, "NETWORK": network, "BIN": bins[len(bins)-1],
		"POSTGRES_PASSWORD": rand.Text(), "REPLICATION_PASSWORD": rand.Text(), "PASSWORD": rand.Text(),
	}}
	for i := 1; i <= 3; i++ {
		name := "db" + strconv.Itoa(i)
		n := &node{name: name, address: "10.77.0.1" + strconv.Itoa(i), dir: filepath.Join(c.dir, name)}
		c.nodes = append(c.nodes, n)
		c.values["DB"+strconv.Itoa(i)] = n.address
	}
	// Postgres runs as a user of its own, who must find the way.
	for dir := c.dir; dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755)
	}
	c.wire(t)
	for _, n := range c.nodes {
		c.boot(t, n)
	}
	c.startBalancers(t)
	c.await(t, "a primary with two standbys", func() bool { return c.primary() != nil && c.standbys() == 2 })
	c.makeDatabase(t)
	return c
}

// wire makes the bridge and the machines' namespaces.
func (c *cluster) wire(t *testing.T) {
	t.Helper()
	must(t, "ip", "link", "set", "lo", "up")
	must(t, "ip", "link", "add", "br0", "type", "bridge")
	must(t, "ip", "addr", "add", core+"/24", "dev", "br0")
	must(t, "ip", "link", "set", "br0", "up")
	for _, n := range c.nodes {
		must(t, "ip", "netns", "add", n.name)
		must(t, "ip", "link", "add", "to-"+n.name, "type", "veth", "peer", "name", "eth0", "netns", n.name)
		must(t, "ip", "link", "set", "to-"+n.name, "master", "br0", "up")
		must(t, "ip", "-n", n.name, "addr", "add", n.address+"/24", "dev", "eth0")
		must(t, "ip", "-n", n.name, "link", "set", "eth0", "up")
		must(t, "ip", "-n", n.name, "link", "set", "lo", "up")
	}
}

// boot starts what runs on a machine, the first time or after it was killed.
func (c *cluster) boot(t *testing.T, n *node) {
	t.Helper()
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"NAME": n.name, "ADDRESS": n.address, "DATA": n.dir}
	c.fill(t, "etcd.yml", n.dir, own)
	c.fill(t, "patroni.yml", n.dir, own)
	must(t, "chown", "-R", "postgres:", n.dir)
	as := []string{"ip", "netns", "exec", n.name, "runuser", "-u", "postgres", "--"}
	c.run(t, n.name+"-etcd", nil, append(as, "etcd", "--config-file", filepath.Join(n.dir, "etcd.yml"))...)
	c.run(t, n.name+"-patroni", nil, append(as, "patroni", filepath.Join(n.dir, "patroni.yml"))...)
}

// kill ends everything that runs on a machine, as its end would.
func (c *cluster) kill(t *testing.T, n *node) {
	t.Helper()
	pids, err := exec.Command("ip", "netns", "pids", n.name).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Fields(string(pids)) {
		pid, _ := strconv.Atoi(text)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// cut takes a machine off the bridge; join puts it back.
func (c *cluster) cut(t *testing.T, n *node) { must(t, "ip", "link", "set", "to-"+n.name, "nomaster") }

func (c *cluster) join(t *testing.T, n *node) {
	must(t, "ip", "link", "set", "to-"+n.name, "master", "br0")
}

func (c *cluster) startBalancers(t *testing.T) {
	t.Helper()
	dir := filepath.Join(c.dir, "balancer")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"DATA": dir}
	c.fill(t, "haproxy.cfg", dir, own)
	c.fill(t, "pgbouncer.ini", dir, own)
	users := fmt.Sprintf("\"teammem\" %q\n", c.values["PASSWORD"])
	if err := os.WriteFile(filepath.Join(dir, "userlist.txt"), []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "chown", "-R", "postgres:", dir)
	c.run(t, "haproxy", nil, "/usr/sbin/haproxy", "-db", "-f", filepath.Join(dir, "haproxy.cfg"))
	c.run(t, "pgbouncer", nil, "runuser", "-u", "postgres", "--", "/usr/sbin/pgbouncer", filepath.Join(dir, "pgbouncer.ini"))
}

func (c *cluster) makeDatabase(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var conn *pgx.Conn
	c.await(t, "the primary through the balancer", func() (ok bool) {
		var err error
		conn, err = pgx.Connect(ctx, c.address("postgres", c.values["POSTGRES_PASSWORD"], core+":5000", "postgres"))
		return err == nil
	})
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range []string{
		"CREATE ROLE teammem LOGIN PASSWORD '" + c.values["PASSWORD"] + "'",
		"CREATE DATABASE teammem OWNER teammem ENCODING 'UTF8' TEMPLATE template0",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
}

// address is that of a database.
func (c *cluster) address(user, password, host, database string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", user, password, host, database)
}

// pooled is the way of the servers, own that of somebody on the machine itself.
func (c *cluster) pooled() string {
	return c.address("teammem", c.values["PASSWORD"], core+":6432", "teammem") + "&default_query_exec_mode=cache_describe"
}

func (c *cluster) own(n *node) string {
	return c.address("teammem", c.values["PASSWORD"], n.address+":5432", "teammem")
}

// primary is the machine that Patroni says is it, standbys how many stream.
func (c *cluster) primary() *node {
	for _, n := range c.nodes {
		if n.is("primary") {
			return n
		}
	}
	return nil
}

func (c *cluster) standbys() (count int) {
	for _, n := range c.nodes {
		if n.is("replica") {
			count++
		}
	}
	return count
}

// synchronous reports whether Patroni has named who must confirm a commit.
func (c *cluster) synchronous() bool {
	for _, n := range c.nodes {
		if n.is("synchronous") {
			return true
		}
	}
	return false
}

// is asks a machine's Patroni, as HAProxy does.
func (n *node) is(role string) bool {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + n.address + ":8008/" + role)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// fill writes a file of this folder with its values filled in.
func (c *cluster) fill(t *testing.T, name, dir string, own map[string]string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	filled := os.Expand(string(text), func(key string) string {
		if value, ok := own[key]; ok {
			return value
		}
		value, ok := c.values[key]
		if !ok {
			t.Fatalf("%s wants a value for %s, which there is none for", name, key)
		}
		return value
	})
	if err := os.WriteFile(filepath.Join(dir, name), []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run starts a program whose output goes into a file, which a failed test shows. Its
// end is that of the namespace.
func (c *cluster) run(t *testing.T, name string, environment []string, command ...string) {
	t.Helper()
	path := filepath.Join(c.dir, name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(command[0], command[1:]...)
	process.Env = append(os.Environ(), environment...)
	process.Dir, process.Stdout, process.Stderr = "/", log, log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = process.Wait() }()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		text, _ := os.ReadFile(path)
		if kept := os.Getenv("TEAMMEM_PATRONI_LOGS"); kept != "" {
			_ = os.WriteFile(filepath.Join(kept, name+".log"), text, 0o644)
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", name, text[max(0, len(text)-3000):])
		}
	})
}

// await waits for something that comes by itself.
func (c *cluster) await(t *testing.T, what string, there func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !there(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is not: %s", what)
		}
	}
}

func must(t *testing.T, command ...string) {
	t.Helper()
	if said, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", command, err, said)
	}
}
