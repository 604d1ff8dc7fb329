package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

func testEpoch(t *testing.T, w *world) {
	if err := w.store.Ping(t.Context()); err != nil {
		t.Fatalf("Ping: %v", err)
	}
	first, err := w.store.Epoch(t.Context())
	if err != nil {
		t.Fatalf("Epoch: %v", err)
	}
	second, err := w.store.Epoch(t.Context())
	if err != nil || first != second || first == "" {
		t.Fatalf("Epoch: %q, then %q, %v; want one that is not empty", first, second, err)
	}
}

func testOrganizations(t *testing.T, w *world) {
	ctx := t.Context()
	want := store.Organization{UID: random("org_"), Name: random("Zeta "), OrgLimits: store.OrgLimits{MaxEntries: 12, MaxRepos: 3, MaxBytes: 1 << 33, WritesPerMinute: 60, AuditDays: 400, HistoryDays: 90, HistoryKeep: 3, TrashDays: 30}, Created: at(3)}
	made, err := w.store.CreateOrganization(ctx, want)
	if err != nil {
		t.Fatalf("CreateOrganization: %v", err)
	}
	if made.ID == 0 || made.ID == w.org.ID {
		t.Fatalf("CreateOrganization: id %d", made.ID)
	}
	want.ID = made.ID
	if made != want {
		t.Errorf("CreateOrganization returns\n%+v, want\n%+v", made, want)
	}
	found, err := w.store.Organization(ctx, want.Name)
	if err != nil || found != want {
		t.Errorf("Organization: %+v, %v; want %+v", found, err, want)
	}
	if _, err := w.store.Organization(ctx, random("nobody-")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Organization of an unknown name: %v, want ErrNotFound", err)
	}
	// Its first records come with it.
	begun, err := w.store.CreateOrganization(ctx, store.Organization{UID: random("org_"), Name: random("Begun "), Created: at(3)},
		audit.Record{At: at(3), Action: audit.ActionOrgCreate, User: "operator", Subject: []byte(`{"n":1}`)},
		audit.Record{At: at(3), Action: audit.ActionMemberSet, User: "operator", Subject: []byte(`{"n":2}`)})
	if err != nil {
		t.Fatalf("CreateOrganization with records: %v", err)
	}
	chain, err := w.store.OrgAudit(ctx, begun.ID, 0, 10)
	if err != nil || len(chain) != 2 || chain[0].Seq != 1 || chain[1].Seq != 2 || chain[1].Previous != chain[0].Hash || string(chain[1].Subject) != `{"n":2}` {
		t.Errorf("its chain begins with %+v, %v", chain, err)
	}
	if end, _, err := w.store.AuditEnds(ctx, begun.ID); err != nil || end.Seq != 2 || end.Hash != chain[1].Hash {
		t.Errorf("and ends at %+v, %v", end, err)
	}
	again := store.Organization{UID: random("org_"), Name: want.Name, Created: at(4)}
	if _, err := w.store.CreateOrganization(ctx, again); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateOrganization of a name that is taken: %v, want ErrExists", err)
	}
	all, err := w.store.Organizations(ctx)
	if err != nil {
		t.Fatalf("Organizations: %v", err)
	}
	if !slices.Contains(all, want) {
		t.Errorf("Organizations leaves %+v out", want)
	}
	if !slices.IsSortedFunc(all, func(a, b store.Organization) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("Organizations is not in the order of names: %+v", all)
	}
}
