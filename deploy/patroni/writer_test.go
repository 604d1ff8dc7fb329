//go:build patroni

package patroni

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
)

// What writes: each writer has keys of its own in every repo, and changes one after
// the other.
const (
	writers = 32
	repos   = 10
	notes   = 3 // of a writer in a repo
)

func repoOf(i int) string { return fmt.Sprintf("acme/repo-%d", i%repos) }

// ack is a PUT that a server said was done.
type ack struct {
	writer  string
	repo    string
	key     api.Key
	version api.Version
	sum     api.Checksum
	changed bool
	at      time.Time
}

// crew is the writers of some servers, and what they were told.
type crew struct {
	name  string
	token string

	mu     sync.Mutex
	acks   []ack
	doubts map[string]api.Checksum // by repo and key, what was not acknowledged at the end
	asked  map[int]int             // answers by status
	wrong  []string                // answers that must not be
	ending context.CancelFunc
	done   sync.WaitGroup
}

// begin sets n writers to work on servers. Each server is spoken to by a client of its
// own.
func begin(name, token string, n int, clients map[string]*http.Client) *crew {
	ctx, cancel := context.WithCancel(context.Background())
	w := &crew{name: name, token: token, asked: map[int]int{}, doubts: map[string]api.Checksum{}, ending: cancel}
	var servers []string
	for address := range clients {
		servers = append(servers, address)
	}
	for i := range n {
		address := servers[i%len(servers)]
		w.done.Go(func() { w.write(ctx, fmt.Sprintf("%s-%d", name, i), i, address, clients[address]) })
	}
	return w
}

// end lets each writer finish what it is at, as long as that takes.
func (w *crew) end() {
	w.ending()
	w.done.Wait()
}

// write makes one change after the other. What was not acknowledged is sent again as
// it is, until it is.
func (w *crew) write(ctx context.Context, name string, from int, address string, client *http.Client) {
	bases := map[string]*api.Checksum{}
	for n := 0; ctx.Err() == nil; n++ {
		repo, key := repoOf(from+n), api.Key(fmt.Sprintf("%s/note-%d.md", name, n/repos%notes))
		text := fmt.Sprintf("%s wrote this as number %d.\n", name, n)
		push := api.Push{Entries: map[api.Key]string{key: text}, BaseChecksums: map[api.Key]*api.Checksum{key: bases[repo+string(key)]}}
		sum := api.ChecksumOfString(text)
		for {
			result, ok := w.put(ctx, address, client, repo, push)
			if ok {
				bases[repo+string(key)] = &sum
				w.mu.Lock()
				w.acks = append(w.acks, ack{name, repo, key, result.Version, sum, result.Changed, time.Now()})
				w.mu.Unlock()
				break
			}
			if ctx.Err() != nil {
				w.mu.Lock()
				w.doubts[repo+string(key)] = sum
				w.mu.Unlock()
				return
			}
			<-time.After(200 * time.Millisecond)
		}
	}
}

// put sends one PUT. It goes on when the crew is told to end, so that its answer counts.
func (w *crew) put(ctx context.Context, address string, client *http.Client, repo string, push api.Push) (result api.PushResult, ok bool) {
	body, _ := json.Marshal(push)
	r, _ := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPut, address+api.PathTeamMemory+"?repo="+url.QueryEscape(repo), bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.token)
	answer, err := client.Do(r)
	if err != nil {
		w.count(0, "")
		return result, false
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	ok = answer.StatusCode == http.StatusOK && err == nil && json.Unmarshal(text, &result) == nil
	wrong := ""
	if !ok && (answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "") {
		wrong = fmt.Sprintf("%d, Retry-After %q: %s", answer.StatusCode, answer.Header.Get("Retry-After"), text)
	}
	w.count(answer.StatusCode, wrong)
	return result, ok
}

func (w *crew) count(status int, wrong string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[status]++
	if wrong != "" {
		w.wrong = append(w.wrong, wrong)
	}
}

// soFar is what was acknowledged until now.
func (w *crew) soFar() []ack {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acks[:len(w.acks):len(w.acks)]
}

// back says how long after an instant the first writer and the last were acknowledged
// again: the end of the longest silence, and the first answer of each after it.
func (w *crew) back(since time.Time) (first, all time.Duration) {
	last, silence := since, time.Duration(0)
	var until time.Time
	for _, a := range w.soFar() {
		if a.at.Before(since) {
			continue
		}
		if gap := a.at.Sub(last); gap > silence {
			silence, until = gap, a.at
		}
		last = a.at
	}
	seen := map[string]bool{}
	for _, a := range w.soFar() {
		if until.IsZero() || a.at.Before(until) || seen[a.writer] {
			continue
		}
		seen[a.writer] = true
		all = a.at.Sub(since)
	}
	return until.Sub(since), all
}
