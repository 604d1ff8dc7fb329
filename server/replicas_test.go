package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// stream opens a live stream and gives the events' data, until the test ends.
func stream(t *testing.T, s *servertest.Server, token, repo string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+api.PathEvents+"?repo="+url.QueryEscape(repo), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := s.Client()
	client.Timeout = 0
	answer, err := client.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("open a stream: %v, %v", answer, err)
	}
	t.Cleanup(func() { cancel(); _ = answer.Body.Close() })
	data := make(chan string, 100)
	go func() {
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if said, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				data <- said
			}
		}
	}()
	return data
}

// put writes one new entry.
func put(t *testing.T, s *servertest.Server, token, repo, key string) {
	t.Helper()
	body := fmt.Sprintf(`{"entries":{%q:"text"},"baseChecksums":{%q:null}}`, key, key)
	r, err := http.NewRequest(http.MethodPut, s.URL+api.PathTeamMemory+"?repo="+url.QueryEscape(repo), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("PUT is answered %s", answer.Status)
	}
}

// Two servers on one database: what is put at one is told by the other, within a
// second, also after its way to hear of it was cut.
func TestAChangeAtOneServerIsToldByTheOther(t *testing.T) {
	dsn := pgtest.DSN(t)
	shared := servertest.Configured(func(c *server.Config) { c.Database = dsn })
	one, two := servertest.Start(t, shared), servertest.Start(t, shared)
	token := one.Token(api.Member)
	told := stream(t, two, token, "acme/widgets")

	var took []time.Duration
	for v := 1; v <= 12; v++ {
		if v > 6 && pgtest.EndSessions(t, dsn, "teammem listener") == 0 {
			t.Log("the listeners are still coming back")
		}
		begun := time.Now()
		put(t, one, token, "acme/widgets", fmt.Sprintf("note-%d.md", v))
		select {
		case data := <-told:
			if !strings.Contains(data, fmt.Sprintf(`"version":%d,`, v)) {
				t.Fatalf("told %s, want version %d", data, v)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("version %d is not told within 10 s", v)
		}
		took = append(took, time.Since(begun))
	}
	if slowest := max(took[0], took[1], took[2], took[3], took[4], took[5]); slowest > time.Second {
		t.Errorf("undisturbed, a change took %s to the other server", slowest)
	}
	t.Logf("from PUT to event: %v", took)
}
