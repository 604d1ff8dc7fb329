package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

func testPolicy(t *testing.T, w *world) {
	ctx := t.Context()
	key := [32]byte{1, 2, 3}
	org, err := w.store.CreateOrganization(ctx, store.Organization{UID: random("org_"), Name: random("keyed-"), Created: at(0), FingerprintKey: key})
	if err != nil {
		t.Fatalf("CreateOrganization: %v", err)
	}
	if none, err := w.store.Policy(ctx, org.ID); err != nil || none.Version != 0 || none.Document != nil || none.FingerprintKey != key {
		t.Errorf("Policy before any was set: %+v, %v", none, err)
	}
	set := func(id store.OrgID, policy store.Policy) error {
		_, err := w.store.Administer(ctx, id, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
			return &store.OrgChange{Policy: &policy, Audit: audit.Record{At: at(9), Action: "test", Subject: []byte("{}")}}, nil
		})
		return err
	}
	records := func() int {
		t.Helper()
		all, err := w.store.OrgAudit(ctx, org.ID, 0, 100)
		if err != nil {
			t.Fatalf("OrgAudit: %v", err)
		}
		return len(all)
	}
	for version := range api.Version(2) {
		policy := store.Policy{Version: version + 1, Document: []byte(`{"v":` + string('1'+rune(version)) + `}`), At: at(version), User: "dana", TokenUID: "tok_1"}
		if err := set(org.ID, policy); err != nil {
			t.Fatalf("a policy: %v", err)
		}
		found, err := w.store.Policy(ctx, org.ID)
		policy.FingerprintKey = key
		if err != nil || found.Version != policy.Version || string(found.Document) != string(policy.Document) || !found.At.Equal(policy.At) ||
			found.User != "dana" || found.TokenUID != "tok_1" || found.FingerprintKey != key {
			t.Errorf("Policy: %+v, %v; want %+v", found, err, policy)
		}
		if err := set(org.ID, policy); !errors.Is(err, store.ErrExists) {
			t.Errorf("a policy of a version that is there: %v, want ErrExists", err)
		}
		if n := records(); n != int(version)+1 {
			t.Errorf("%d records after %d changes: a refused one leaves none", n, version+1)
		}
	}
	if other, err := w.store.Policy(ctx, w.org.ID); err != nil || other.Version != 0 {
		t.Errorf("another organization's policy: %+v, %v", other, err)
	}
	if _, err := w.store.Policy(ctx, 1<<40); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Policy of an unknown organization: %v, want ErrNotFound", err)
	}
	if err := set(1<<40, store.Policy{Version: 1, Document: []byte("{}"), At: at(1)}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a policy of an unknown organization: %v, want ErrNotFound", err)
	}
}

// testFindings: they are those of the entries as they stand.
func testFindings(t *testing.T, w *world) {
	found := func(key api.Key, rules ...string) (all []store.Finding) {
		for n, rule := range rules {
			all = append(all, store.Finding{Key: key, Rule: rule, Class: api.ClassSecret, Line: n, Fingerprint: "f" + rule})
		}
		return all
	}
	commit := func(findings []store.Finding, edits ...edit) {
		t.Helper()
		_, err := w.store.Commit(t.Context(), w.ref, keysOf(edits), func(state store.State) (*store.Change, error) {
			change := w.change(state, edits)
			change.Findings = findings
			return change, nil
		})
		if err != nil {
			t.Fatalf("Commit: %v", err)
		}
	}
	list := func(after api.Key, limit int) (names []string) {
		t.Helper()
		all, err := w.store.Findings(t.Context(), w.ref, after, limit)
		if err != nil {
			t.Fatalf("Findings: %v", err)
		}
		for _, f := range all {
			if f.Fingerprint != "f"+f.Rule || f.Class != api.ClassSecret {
				t.Errorf("a finding came back as %+v", f)
			}
			names = append(names, string(f.Key)+":"+f.Rule)
		}
		return names
	}
	want := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	want("before the first", list("", 9))
	commit(slices.Concat(found("b", "z", "y"), found("a", "x"), found("c", "w")), write("a", "1"), write("b", "1"), write("c", "1"), write("d", "1"))
	want("all", list("", 9), "a:x", "b:z", "b:y", "c:w")
	want("two keys", list("", 2), "a:x", "b:z", "b:y")
	want("after a", list("a", 1), "b:z", "b:y")
	commit(found("b", "v"), write("b", "2"), remove("c"))
	want("as it stands", list("", 9), "a:x", "b:v")
}
