//go:build patroni

package patroni

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/teammem/teammem/api"
)

// allowance is how much longer than Patroni the way back may be.
const allowance = 3 * time.Second

// beside is a server that runs on the primary's own machine, for those who are cut off
// together with it.
const beside = "http://127.0.0.1:8090"

// TestFailover: the primary is killed, and then cut off.
func TestFailover(t *testing.T) {
	c := start(t)
	one, token := c.serve(t, "one", "127.0.0.1:8081", c.pooled(), "")
	two, _ := c.serve(t, "two", "127.0.0.1:8082", c.pooled(), "")
	clients := map[string]*http.Client{one: newClient(nil), two: newClient(nil)}
	acked, doubts := []ack{}, map[string]api.Checksum{}

	t.Run("the primary is killed", func(t *testing.T) {
		lost := c.settled(t)
		crew := begin("killed", token, writers, clients)
		warm(t, c, crew)
		at := time.Now()
		c.kill(t, lost)
		c.watch(t, crew, lost, at)
		c.boot(t, lost)
		acked = append(acked, c.finish(t, crew, doubts)...)
		c.check(t, acked, doubts, token, one, two)
	})
	t.Run("Postgres alone is killed", func(t *testing.T) {
		lost := c.settled(t)
		crew := begin("crashed", token, writers, clients)
		warm(t, c, crew)
		at := time.Now()
		c.killPostgres(t, lost)
		c.watch(t, crew, lost, at)
		acked = append(acked, c.finish(t, crew, doubts)...)
		c.check(t, acked, doubts, token, one, two)
	})
	t.Run("the primary is cut off", func(t *testing.T) {
		lost := c.settled(t)
		c.serve(t, "beside", strings.TrimPrefix(beside, "http://"), c.own(lost), lost.name)
		crew := begin("far", token, writers, clients)
		near := begin("near", token, 8, map[string]*http.Client{beside: newClient(lost)})
		warm(t, c, crew)
		warm(t, c, near)
		at := time.Now()
		c.cut(t, lost)
		c.watch(t, crew, lost, at)
		after := 0
		for _, a := range near.soFar() {
			if a.at.Sub(at) > time.Second {
				after++
			}
		}
		t.Logf("beside the primary that is cut off, %d PUTs were acknowledged later than a second after the cut; answers by status: %v", after, near.asked)
		if after > 0 {
			t.Error("a primary that reaches no standby acknowledged writes")
		}
		c.join(t, lost)
		acked = append(acked, c.finish(t, crew, doubts)...)
		acked = append(acked, c.finish(t, near, doubts)...)
		c.check(t, acked, doubts, token, one, two)
	})
}

// serve starts one of our servers, on a machine where one is named, and gives its
// address and the token of its first start.
func (c *cluster) serve(t *testing.T, name, listen, database, machine string) (address, token string) {
	t.Helper()
	data := filepath.Join(c.dir, "server-"+name)
	command := []string{os.Getenv("TEAMMEM_SERVER_BINARY"), "--data", data, "--listen", listen, "--log-level", "warn"}
	var of *node
	if machine != "" {
		command = append([]string{"ip", "netns", "exec", machine}, command...)
		for _, n := range c.nodes {
			if n.name == machine {
				of = n
			}
		}
	}
	replica := c.address("teammem", c.values["PASSWORD"], core+":6432", "teammem_replica") + "&default_query_exec_mode=cache_describe"
	c.run(t, "server-"+name, []string{"TEAMMEM_DATABASE=" + database, "TEAMMEM_DATABASE_REPLICA=" + replica}, command...)
	client := newClient(of)
	c.await(t, "server "+name, func() bool {
		answer, err := client.Get("http://" + listen + api.PathReady)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	text, _ := os.ReadFile(filepath.Join(data, "admin.token"))
	return "http://" + listen, strings.TrimSpace(string(text))
}

// newClient speaks HTTP from a machine's namespace, or from the balancers'.
func newClient(from *node) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: writers}
	if from != nil {
		transport.DialContext = func(_ context.Context, network, address string) (conn net.Conn, err error) {
			within(from, func() { conn, err = net.DialTimeout(network, address, 5*time.Second) })
			return conn, err
		}
	}
	return &http.Client{Transport: transport, Timeout: 40 * time.Second}
}

// within runs fn on a thread that is in a machine's network namespace. A socket stays
// in the one that it was made in.
func within(n *node, fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		file, err := os.Open("/run/netns/" + n.name)
		if err != nil {
			panic(err)
		}
		defer func() { _ = file.Close() }()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err)
		}
		fn()
	}()
	<-done
}

// settled waits until there are a primary, two standbys that stream, and one that has
// to confirm, and gives the primary.
func (c *cluster) settled(t *testing.T) *node {
	t.Helper()
	c.await(t, "a primary with two standbys, one of them synchronous", func() bool {
		return c.primary() != nil && c.standbys() == 2 && c.synchronous()
	})
	return c.primary()
}

// warm waits until every writer of a crew has been acknowledged some writes.
func warm(t *testing.T, c *cluster, w *crew) {
	t.Helper()
	c.await(t, "writes by everybody of "+w.name, func() bool {
		counts := map[string]int{}
		for _, a := range w.soFar() {
			counts[a.writer]++
		}
		for _, n := range counts {
			if n < 5 {
				return false
			}
		}
		return len(counts) > 0 && len(w.soFar()) > 500
	})
}

// killPostgres ends Postgres and leaves Patroni.
func (c *cluster) killPostgres(t *testing.T, n *node) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(text), "\n")
	must(t, "kill", "-9", pid)
}

// watch waits for Patroni's new primary, and for everybody to be acknowledged again.
func (c *cluster) watch(t *testing.T, crew *crew, lost *node, at time.Time) {
	t.Helper()
	var patroni time.Duration
	c.await(t, "another primary", func() bool {
		for _, n := range c.nodes {
			if n != lost && n.is("primary") {
				patroni = time.Since(at)
				return true
			}
		}
		return false
	})
	promoted := time.Now()
	c.await(t, "writes by everybody again", func() bool {
		again := map[string]bool{}
		for _, a := range crew.soFar() {
			if a.at.After(promoted) {
				again[a.writer] = true
			}
		}
		return len(again) == writers
	})
	first, all := crew.back(at)
	t.Logf("a new primary after %.1f s, the first write after %.1f s, all %d writers after %.1f s; %d acknowledged, answers by status: %v",
		patroni.Seconds(), first.Seconds(), writers, all.Seconds(), len(crew.soFar()), crew.asked)
	if first > patroni+allowance {
		t.Errorf("writes came back %s after Patroni was done, want at most %s", first-patroni, allowance)
	}
}

// finish ends a crew and gives what it was told, of which nothing may be another
// answer than done, or later, and adds what it was in doubt of.
func (c *cluster) finish(t *testing.T, w *crew, doubts map[string]api.Checksum) []ack {
	t.Helper()
	w.end()
	maps.Copy(doubts, w.doubts)
	for i, wrong := range w.wrong {
		if i == 10 {
			t.Errorf("and %d more", len(w.wrong)-i)
			break
		}
		t.Errorf("a PUT was answered %s", wrong)
	}
	return w.acks
}

// check holds what is there on every machine, and what both servers serve, against
// all that was acknowledged.
func (c *cluster) check(t *testing.T, acked []ack, doubts map[string]api.Checksum, token string, servers ...string) {
	t.Helper()
	c.settled(t)
	c.caughtUp(t)
	for _, n := range c.nodes {
		lost := c.missing(t, n, acked)
		t.Logf("%s: of %d acknowledged writes %d are missing or another", n.name, len(acked), lost)
		if lost > 0 {
			t.Errorf("%s lost %d acknowledged writes", n.name, lost)
		}
	}
	newest := map[string]ack{}
	for _, a := range acked {
		newest[a.repo+string(a.key)] = a
	}
	for _, server := range servers {
		served := map[string]api.Memory{}
		for i := range repos {
			served[repoOf(i)] = fetch(t, server, token, repoOf(i))
		}
		for _, a := range newest {
			if got := served[a.repo].Content.EntryChecksums[a.key]; got != a.sum && got != doubts[a.repo+string(a.key)] {
				t.Errorf("%s serves %s of %s as %s, acknowledged was %s", server, a.key, a.repo, got, a.sum)
			}
		}
	}
	verify := exec.Command(os.Getenv("TEAMMEM_SERVER_BINARY"), "audit", "verify", "--data", filepath.Join(c.dir, "server-one"))
	verify.Env = append(os.Environ(), "TEAMMEM_DATABASE="+c.pooled())
	if said, err := verify.CombinedOutput(); err != nil {
		t.Errorf("server audit verify: %v: %s", err, said)
	}
}

// caughtUp waits until every machine has what the primary has.
func (c *cluster) caughtUp(t *testing.T) {
	t.Helper()
	const ends = `SELECT string_agg(slug || version, ' ' ORDER BY slug) FROM repos`
	c.await(t, "the same on all machines", func() bool {
		said := map[string]bool{}
		for _, n := range c.nodes {
			conn, err := pgx.Connect(t.Context(), c.own(n))
			if err != nil {
				return false
			}
			var all string
			err = conn.QueryRow(t.Context(), ends).Scan(&all)
			_ = conn.Close(t.Context())
			if err != nil {
				return false
			}
			said[all] = true
		}
		return len(said) == 1
	})
}

// missing counts the acknowledged writes that a machine does not have as they were
// acknowledged. It fails where a repo's versions have a gap.
func (c *cluster) missing(t *testing.T, n *node, acked []ack) (lost int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.own(n))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), `SELECT r.slug, v.version, h.key, h.checksum FROM versions v
JOIN repos r ON r.id = v.repo_id JOIN history h ON h.repo_id = v.repo_id AND h.version = v.version`)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{} // repo and version → key and checksum
	held := map[string]bool{}    // repo, key and checksum
	highest := map[string]api.Version{}
	for rows.Next() {
		var repo, key string
		var version api.Version
		var sum []byte
		if err := rows.Scan(&repo, &version, &key, &sum); err != nil {
			t.Fatal(err)
		}
		there[fmt.Sprint(repo, version)] = key + " sha256:" + hex.EncodeToString(sum)
		held[repo+key+"sha256:"+hex.EncodeToString(sum)] = true
		highest[repo] = max(highest[repo], version)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for repo, most := range highest {
		for v := api.Version(1); v <= most; v++ {
			if there[fmt.Sprint(repo, v)] == "" {
				t.Errorf("%s: %s has no version %d of %d", n.name, repo, v, most)
			}
		}
	}
	for _, a := range acked {
		// What stood already was made by the version that was not heard of.
		if a.changed && there[fmt.Sprint(a.repo, a.version)] != string(a.key)+" "+string(a.sum) || !held[a.repo+string(a.key)+string(a.sum)] {
			lost++
		}
	}
	return lost
}

// fetch reads a repo from a server.
func fetch(t *testing.T, server, token, repo string) (m api.Memory) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+api.PathTeamMemory+"?view=hashes&repo="+url.QueryEscape(repo), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := newClient(nil).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s: %s %v", repo, answer.Status, text, err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
