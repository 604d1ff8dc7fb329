package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func scraped(t *testing.T, s *Set) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

// TestInventory: what the database says is asked for once in a while, and what cannot be
// asked for is said to be unknown, and not said as it was.
func TestInventory(t *testing.T) {
	s, now, asked := New("1.2.3", "go1.27"), time.Now(), 0
	var fails error
	s.Inventory(func() time.Time { return now }, func(context.Context) (Inventory, error) {
		asked++
		return Inventory{
			Organizations: []Organization{{Name: "acme", Entries: 7, Proposals: 1, OldestProposal: time.Hour, AuditBroken: true}},
			Clients: []Client{
				{Version: "v1.2.3", Running: true, Silent: 2 * time.Minute, Pending: 3},
				{Version: "v1.2.3", Running: true, Silent: 20 * time.Minute, Lag: 4, Troubled: true, Kept: 2},
				{Version: "v1.2.3", Running: true, Silent: 48 * time.Hour, Lag: 9},
				{Version: "curl/8 {evil=\"1\"}", Held: 5},
			},
		}, fails
	})
	for range 3 {
		wantLines(t, scraped(t, s),
			`teammem_inventory_up 1`, `teammem_entries{organization="acme"} 7`, `teammem_proposal_oldest_age_seconds{organization="acme"} 3600`,
			`teammem_audit_chain_broken{organization="acme"} 1`,
			`teammem_clients{state="running",version="v1.2.3"} 2`, `teammem_clients{state="lost",version="v1.2.3"} 1`, `teammem_clients{state="stopped",version="other"} 1`,
			`teammem_clients_behind 1`, `teammem_clients_lag_versions_max 4`, `teammem_clients_troubled 1`, `teammem_clients_pending 3`, `teammem_clients_kept 2`, `teammem_clients_held 5`,
			`teammem_client_silence_seconds_bucket{le="300"} 1`, `teammem_client_silence_seconds_bucket{le="3600"} 2`, `teammem_client_silence_seconds_count 2`)
	}
	if asked != 1 {
		t.Errorf("the database was asked %d times within a moment", asked)
	}
	fails, now = errors.New("away"), now.Add(InventoryEvery)
	text := scraped(t, s)
	wantLines(t, text, `teammem_inventory_up 0`, `teammem_build_info{goversion="go1.27",version="1.2.3"} 1`)
	if strings.Contains(text, "teammem_entries{") {
		t.Error("what was known before is said as if it were known now")
	}
}

// TestLabelsAreBounded: however many organizations and versions there are.
func TestLabelsAreBounded(t *testing.T) {
	s := New("devel", "go1.27")
	s.Inventory(time.Now, func(context.Context) (all Inventory, err error) {
		for n := range 3 * MostOrganizations {
			all.Organizations = append(all.Organizations, Organization{Name: fmt.Sprintf("org%03d", n), Entries: 1})
			all.Clients = append(all.Clients, Client{Version: fmt.Sprintf("v1.%d", n)})
		}
		return all, nil
	})
	text := scraped(t, s)
	wantLines(t, text, fmt.Sprintf(`teammem_entries{organization="(others)"} %d`, 2*MostOrganizations), fmt.Sprintf(`teammem_clients{state="stopped",version="other"} %d`, 3*MostOrganizations-mostVersions))
	if n := strings.Count(text, "\nteammem_entries{"); n != MostOrganizations+1 {
		t.Errorf("%d organizations have a label", n)
	}
}
