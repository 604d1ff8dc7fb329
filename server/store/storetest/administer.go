package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// administer makes a change of the world's organization.
func (w *world) administer(t *testing.T, about store.About, decide func(store.OrgState) *store.OrgChange) audit.Record {
	t.Helper()
	record, err := w.store.Administer(t.Context(), w.org.ID, about, func(s store.OrgState) (*store.OrgChange, error) {
		change := decide(s)
		if change != nil {
			change.Audit = audit.Record{At: at(7), Action: "test", User: "dana", Subject: []byte(`{"a":"<b>"}`)}
		}
		return change, nil
	})
	if err != nil {
		t.Fatalf("Administer: %v", err)
	}
	return record
}

func (w *world) access(t *testing.T) store.Access {
	t.Helper()
	access, err := w.store.Access(t.Context(), w.org.ID)
	if err != nil {
		t.Fatalf("Access: %v", err)
	}
	return access
}

func testMembers(t *testing.T, w *world) {
	ctx := t.Context()
	w.administer(t, store.About{}, func(s store.OrgState) *store.OrgChange {
		if dana := s.Member("dana"); dana == nil || dana.Role != api.Member || dana.User != w.token.User {
			t.Errorf("decide is shown %+v", dana)
		}
		return &store.OrgChange{Members: []store.Member{
			{Name: "lee", Role: api.Admin, Groups: "red\nblue", Service: true, Created: at(3)},
			{Name: "dana", Role: api.Viewer, Created: at(0), Removed: at(9)},
		}}
	})
	all, err := w.store.Members(ctx, w.org.ID)
	if err != nil || len(all) != 2 {
		t.Fatalf("Members: %+v, %v", all, err)
	}
	dana, lee := all[0], all[1]
	if dana.User != w.token.User || dana.Role != api.Viewer || !dana.Removed.Equal(at(9)) {
		t.Errorf("dana is %+v", dana)
	}
	want := store.Member{Org: w.org.ID, User: lee.User, Name: "lee", Role: api.Admin, Groups: "red\nblue", Service: true, Created: at(3)}
	if lee != want || lee.User == 0 || lee.User == dana.User {
		t.Errorf("lee is %+v, want %+v", lee, want)
	}
	token, err := w.store.TokenByHash(ctx, w.token.Hash)
	if err != nil || token.Member != dana {
		t.Errorf("the token's user is %+v, %v; want %+v", token.Member, err, dana)
	}
	in, err := w.store.Memberships(ctx, lee.User)
	if err != nil || len(in) != 1 || in[0] != (store.Membership{Member: lee, OrgUID: w.org.UID, OrgName: w.org.Name}) {
		t.Errorf("Memberships: %+v, %v", in, err)
	}
}

// testSeveralOrganizations: one user may be in several, called differently.
func testSeveralOrganizations(t *testing.T, w *world) {
	other := newWorld(t, w.store)
	other.administer(t, store.About{}, func(store.OrgState) *store.OrgChange {
		return &store.OrgChange{Members: []store.Member{{User: w.token.User, Name: "dana of acme", Role: api.Viewer, Created: at(1)}}}
	})
	in, err := w.store.Memberships(t.Context(), w.token.User)
	if err != nil || len(in) != 2 || in[0].Name == in[1].Name || in[0].User != in[1].User {
		t.Errorf("Memberships: %+v, %v", in, err)
	}
}

func testGrants(t *testing.T, w *world) {
	grants := []store.Grant{
		{Kind: store.ForEveryone, Pattern: "acme/*", Role: api.NoRole},
		{Kind: store.ForGroup, Name: "red", Role: api.Maintainer},
		{Kind: store.ForMember, Name: "dana", Pattern: "**", Role: api.Viewer},
	}
	for _, want := range [][]store.Grant{grants, grants[1:], nil} {
		w.administer(t, store.About{}, func(store.OrgState) *store.OrgChange { return &store.OrgChange{Grants: &want} })
		if got := w.access(t).Grants; !slices.Equal(got, want) {
			t.Errorf("grants are %+v, want %+v", got, want)
		}
	}
	if _, err := w.store.Access(t.Context(), 1<<40); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Access to an unknown organization: %v, want ErrNotFound", err)
	}
}

func testLimits(t *testing.T, w *world) {
	after := w.org
	after.Name, after.OrgLimits = random("renamed-"), store.OrgLimits{MaxEntries: 1, MaxRepos: 2, MaxBytes: 1 << 40, WritesPerMinute: 4, AuditDays: 5, HistoryDays: 6, HistoryKeep: 7, TrashDays: 8}
	w.administer(t, store.About{}, func(store.OrgState) *store.OrgChange { return &store.OrgChange{Organization: &after} })
	if got := w.access(t).Organization; got != after {
		t.Errorf("the organization is %+v, want %+v", got, after)
	}
	other := newWorld(t, w.store)
	_, err := w.store.Administer(t.Context(), w.org.ID, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
		taken := after
		taken.Name = other.org.Name
		return &store.OrgChange{Organization: &taken, Audit: audit.Record{At: at(1), Subject: []byte("{}")}}, nil
	})
	if !errors.Is(err, store.ErrExists) {
		t.Errorf("a name that is taken: %v, want ErrExists", err)
	}
}

func testAdministerTokens(t *testing.T, w *world) {
	made := newToken(w.org.ID, "dana")
	w.administer(t, store.About{}, func(store.OrgState) *store.OrgChange { return &store.OrgChange{NewTokens: []store.Token{made}} })
	found, err := w.store.TokenByHash(t.Context(), made.Hash)
	if err != nil || found.UID != made.UID || found.User != w.token.User {
		t.Errorf("TokenByHash of a new one: %+v, %v", found, err)
	}
	w.administer(t, store.About{Tokens: []string{made.UID, "tok_none"}}, func(s store.OrgState) *store.OrgChange {
		if len(s.Tokens) != 1 || s.Tokens[0].UID != made.UID {
			t.Errorf("decide is shown %+v", s.Tokens)
		}
		return &store.OrgChange{Revoke: []string{made.UID}}
	})
	if found, err = w.store.TokenByHash(t.Context(), made.Hash); err != nil || !found.Revoked.Equal(at(7)) {
		t.Errorf("revoked %s, %v", found.Revoked, err)
	}
}

// testRename: a repo keeps what it holds, and nobody makes another under its old
// name while that leads to it.
func testRename(t *testing.T, w *world) {
	head := w.commit(t, write("a.md", "a"))
	old := w.ref
	w.administer(t, store.About{Repos: []api.RepoSlug{"acme/widgets", "acme/none"}}, func(s store.OrgState) *store.OrgChange {
		if len(s.Repos) != 1 || s.Repos[0].Head.Version != head.Version {
			t.Errorf("decide is shown %+v", s.Repos)
		}
		return &store.OrgChange{Rename: &store.Rename{From: "acme/widgets", To: "acme/gadgets"}}
	})
	if got := w.access(t).Aliases; len(got) != 1 || got["acme/widgets"] != "acme/gadgets" {
		t.Errorf("old names are %v", got)
	}
	if got, err := w.store.Head(t.Context(), old); err != nil || got.Version != 0 {
		t.Errorf("the head under the old name: %+v, %v", got, err)
	}
	if _, err := w.tryCommit(t.Context(), write("b.md", "b")); !errors.Is(err, store.ErrBusy) {
		t.Errorf("a commit under the old name: %v, want ErrBusy", err)
	}
	w.ref.Slug = "acme/gadgets"
	if got := w.head(t); got.Version != head.Version || got.Checksum != head.Checksum {
		t.Errorf("the head under the new name is %+v, want %+v", got, head)
	}
	w.commit(t, write("b.md", "b"))
	repos, err := w.store.Repos(t.Context(), w.org.ID)
	if err != nil || len(repos) != 1 || repos[0].Slug != "acme/gadgets" || repos[0].Head.Version != 2 {
		t.Errorf("Repos: %+v, %v", repos, err)
	}
	w.administer(t, store.About{}, func(store.OrgState) *store.OrgChange {
		return &store.OrgChange{Forget: []api.RepoSlug{"acme/widgets"}}
	})
	w.ref = old
	if got := w.commit(t, write("c.md", "c")); got.Version != 1 {
		t.Errorf("a repo under a name that was forgotten is at version %d", got.Version)
	}
}

func testOrgAudit(t *testing.T, w *world) {
	ctx := t.Context()
	for range 3 {
		w.administer(t, store.About{}, func(store.OrgState) *store.OrgChange { return &store.OrgChange{} })
	}
	if got := w.administer(t, store.About{}, func(store.OrgState) *store.OrgChange { return nil }); got.Seq != 0 {
		t.Errorf("nothing to do left record %d", got.Seq)
	}
	refusal := errors.New("no")
	_, err := w.store.Administer(ctx, w.org.ID, store.About{}, func(store.OrgState) (*store.OrgChange, error) { return nil, refusal })
	if !errors.Is(err, refusal) {
		t.Errorf("a refusal of decide: %v", err)
	}
	records, err := w.store.OrgAudit(ctx, w.org.ID, 0, 10)
	if err != nil || len(records) != 3 {
		t.Fatalf("OrgAudit: %d, %v", len(records), err)
	}
	var trail audit.Trail
	for _, r := range records {
		if err := trail.Next(r); err != nil {
			t.Error(err)
		}
	}
	head, _, err := w.store.AuditEnds(ctx, w.org.ID)
	if err != nil || head.Seq != 3 || head.Hash != trail.Head {
		t.Errorf("the chain's head is %d, %v", head.Seq, err)
	}
	if page, err := w.store.OrgAudit(ctx, w.org.ID, 1, 1); err != nil || len(page) != 1 || page[0].Seq != 2 {
		t.Errorf("a page: %+v, %v", page, err)
	}
	for name, c := range map[string]struct {
		q    store.AuditQuery
		want int
	}{
		"all":              {store.AuditQuery{Limit: 10}, 3},
		"a user's":         {store.AuditQuery{Limit: 10, User: "dana"}, 3},
		"a stranger's":     {store.AuditQuery{Limit: 10, User: "lee"}, 0},
		"an action":        {store.AuditQuery{Limit: 10, Action: "test"}, 3},
		"another action":   {store.AuditQuery{Limit: 10, Action: "test."}, 0},
		"before":           {store.AuditQuery{Limit: 10, Before: 3}, 2},
		"a time":           {store.AuditQuery{Limit: 10, From: at(7), To: at(7)}, 3},
		"a later time":     {store.AuditQuery{Limit: 10, From: at(8)}, 0},
		"an earlier time":  {store.AuditQuery{Limit: 10, To: at(6)}, 0},
		"a limit":          {store.AuditQuery{Limit: 2}, 2},
		"a foreign repo's": {store.AuditQuery{Limit: 10, Repo: 1 << 40}, 0},
	} {
		got, err := w.store.FindAudit(ctx, w.org.ID, c.q)
		if err != nil || len(got) != c.want {
			t.Errorf("%s: %d records, %v; want %d", name, len(got), err, c.want)
		}
	}
}

// testAuditTenancy: a repo's records are found in its own organization only.
func testAuditTenancy(t *testing.T, w *world) {
	repo := w.commit(t, write("a.md", "a")).ID
	other := newWorld(t, w.store)
	for org, want := range map[store.OrgID]int{w.org.ID: 1, other.org.ID: 0} {
		got, err := w.store.FindAudit(t.Context(), org, store.AuditQuery{Repo: repo, Limit: 5})
		if err != nil || len(got) != want {
			t.Errorf("%d records, %v; want %d", len(got), err, want)
		}
	}
}

func testCheckpointAndPrune(t *testing.T, w *world) {
	w.commit(t, write("a.md", "a"))
	head := w.commit(t, write("a.md", "b"))
	for _, want := range []int{1, 0} {
		w.administer(t, store.About{Moved: 10}, func(s store.OrgState) *store.OrgChange {
			if len(s.Repos) != want {
				t.Fatalf("%d repos have moved, want %d", len(s.Repos), want)
			}
			return &store.OrgChange{Checkpoint: s.Repos}
		})
	}
	place := store.AuditPlace{Seq: 1, Hash: [32]byte{1}}
	w.administer(t, store.About{}, func(store.OrgState) *store.OrgChange {
		return &store.OrgChange{Pruned: []store.AuditAnchor{{AuditPlace: place}, {Repo: head.ID, AuditPlace: place}}}
	})
	_, anchors, err := w.store.AuditEnds(t.Context(), w.org.ID)
	if err != nil || len(anchors) != 2 || anchors[0] != (store.AuditAnchor{AuditPlace: place}) || anchors[1].Repo != head.ID {
		t.Errorf("anchors: %+v, %v", anchors, err)
	}
	own, err := w.store.OrgAudit(t.Context(), w.org.ID, 0, 10)
	if err != nil || len(own) != 2 || own[0].Seq != 2 {
		t.Errorf("the organization's chain: %d records, %v", len(own), err)
	}
	repos, err := w.store.Audit(t.Context(), w.ref, 0, 10)
	if err != nil || len(repos) != 1 || repos[0].Seq != 2 {
		t.Errorf("the repo's chain: %d records, %v", len(repos), err)
	}
}

// testConcurrentAdministers: records are chained one after another.
func testConcurrentAdministers(t *testing.T, w *world) {
	const writers, each = 4, 5
	done := make(chan error, writers)
	for range writers {
		go func() {
			var err error
			for range each {
				_, one := w.store.Administer(context.WithoutCancel(t.Context()), w.org.ID, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
					return &store.OrgChange{Audit: audit.Record{At: at(1), Action: "test", Subject: []byte("{}")}}, nil
				})
				err = errors.Join(err, one)
			}
			done <- err
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	records, err := w.store.OrgAudit(t.Context(), w.org.ID, 0, 100)
	if err != nil || len(records) != writers*each {
		t.Fatalf("%d records, %v", len(records), err)
	}
	var trail audit.Trail
	for _, r := range records {
		if err := trail.Next(r); err != nil {
			t.Fatal(err)
		}
	}
}
