package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/servertest"
)

// TestRetention: what an organization does not keep goes; who asks for it is told so, who
// follows the repo misses nothing, and the chains still prove what was done.
func TestRetention(t *testing.T) {
	box := servertest.Start(t)
	s, admin := stranger{t, box}, box.Token(api.Admin)
	put := func(body string) {
		t.Helper()
		if r := s.do(http.MethodPut, api.PathTeamMemory+"?repo=acme/widgets", admin, body); r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	base := func(text string) string { return string(api.ChecksumOfString(text)) }
	put(`{"entries":{"a.md":"first\n","gone.md":"soon gone\n"},"baseChecksums":{"a.md":null,"gone.md":null}}`)
	put(`{"entries":{"a.md":"second\n"},"baseChecksums":{"a.md":"` + base("first\n") + `"}}`)
	put(`{"deletions":["gone.md"],"baseChecksums":{"gone.md":"` + base("soon gone\n") + `"}}`)
	put(`{"entries":{"a.md":"third\n"},"baseChecksums":{"a.md":"` + base("second\n") + `"}}`)
	get := func(path string) (int, string) {
		t.Helper()
		r := s.do(http.MethodGet, path, admin, "")
		return r.status, string(r.body)
	}
	delta := api.PathTeamMemory + "?repo=acme/widgets&since="
	was := map[int]string{}
	for since := range 5 {
		_, was[since] = get(fmt.Sprint(delta, since))
	}

	if r := s.do(http.MethodPatch, api.PathOrganization, admin, `{"historyDays":30,"historyKeep":2,"trashDays":10}`); r.status != http.StatusOK || !strings.Contains(string(r.body), `"historyKeep":2`) {
		t.Fatalf("%d %s", r.status, r.body)
	}
	org, err := box.Store().Organization(t.Context(), "local")
	if err != nil {
		t.Fatal(err)
	}
	in := func(days int) *organization.Rules {
		return organization.New(box.Store(), func() time.Time { return time.Now().AddDate(0, 0, days) }, nil)
	}
	by := organization.Operator(org.ID)
	if done, err := in(0).Vacuum(t.Context(), by, org, false); err != nil || done.Changes != 0 {
		t.Errorf("on the first day %+v went, %v", done, err)
	}
	if done, err := in(11).Vacuum(t.Context(), by, org, false); err != nil || done.Changes != 1 || done.Contents != 1 {
		t.Errorf("after the trash's time %+v went, %v", done, err)
	}
	if done, err := in(31).Vacuum(t.Context(), by, org, false); err != nil || done.Changes != 1 || done.Contents != 1 {
		t.Errorf("after the history's time %+v went, %v", done, err)
	}

	for path, want := range map[string]string{
		"key=a.md&version=1":    "history_forgotten",
		"key=gone.md&version=2": "history_forgotten",
		"key=none.md&version=1": "history_forgotten", // nobody knows any more
		"key=none.md&version=4": "no_entry",
		"key=a.md&version=2":    "second",
		"key=a.md&version=3":    "second",
		"key=a.md":              "third",
	} {
		if status, body := get(api.PathEntry + "?repo=acme/widgets&" + path); !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
	for since := range 5 {
		if _, is := get(fmt.Sprint(delta, since)); is != was[since] {
			t.Errorf("since %d the answer is %s, and was %s", since, is, was[since])
		}
	}
	if _, body := get(api.PathBlame + "?repo=acme/widgets&key=a.md"); !strings.Contains(body, `"version":4`) {
		t.Errorf("blame says %s", body)
	}
	if n, err := in(0).Verify(t.Context(), org.ID); err != nil || n == 0 {
		t.Errorf("%d records, %v", n, err)
	}
	if _, body := get(api.PathAudit + "?action=history.vacuum"); strings.Count(body, `"action":"history.vacuum"`) != 2 {
		t.Errorf("the audit has %s", body)
	}
	// A leak is looked for in what is left, and withdrawn there.
	desk, err := serverLeaks(box)
	if err != nil {
		t.Fatal(err)
	}
	result, err := desk.Redact(t.Context(), leak.Operator(org), api.Redact{Checksum: api.Checksum(base("second\n")), Reason: "a test"}, false, nil)
	if err != nil || len(result.Versions) != 1 {
		t.Errorf("redacted %+v, %v", result, err)
	}
}

func serverLeaks(box *servertest.Server) (*leak.Desk, error) {
	return server.LeakDesk(quiet(), box.Store(), box.Config, time.Now)
}
