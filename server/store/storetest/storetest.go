// Package storetest is the suite that every implementation of store.Store must
// pass. An implementation calls [Run] from a test of its own:
//
//	func TestStore(t *testing.T) { storetest.Run(t, open) }
//
// The suite goes through the contract method by method, then lets many writers
// and readers loose on one repo, and last compares the store with a model of a
// few maps over random sequences of commits. It opens one store and gives each
// test an organization of its own.
package storetest

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Option adds to the suite what needs the implementation's help.
type Option func(*suite)

// Corrupt lends the suite a hand that damages a stored body: it flips a bit of
// the data stored for the checksum, behind the store's back.
func Corrupt(damage func(t *testing.T, s store.Store, org store.OrgID, sum api.Checksum)) Option {
	return func(s *suite) { s.damage = damage }
}

type suite struct {
	store  store.Store
	damage func(t *testing.T, s store.Store, org store.OrgID, sum api.Checksum)

	together func(t *testing.T, s store.Store, ref store.RepoRef, all []Asked) ([]store.Head, []error)
	spoil    func(t *testing.T, s store.Store)
}

// Run runs the suite on the store that open gives, and closes it.
func Run(t *testing.T, open func(t *testing.T) store.Store, options ...Option) {
	s := &suite{store: open(t)}
	for _, option := range options {
		option(s)
	}
	t.Cleanup(func() {
		if err := s.store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if s.together != nil {
		t.Run("GatheredWriters", func(t *testing.T) { s.testGatheredWriters(t, newWorld(t, s.store)) })
		t.Run("GatheredAgain", func(t *testing.T) { s.testGatheredAgain(t, newWorld(t, s.store)) })
		t.Run("GatheredTogether", func(t *testing.T) { s.testGatheredTogether(t, newWorld(t, s.store)) })
		t.Run("GatheredCommitFails", func(t *testing.T) { s.testGatheredCommitFails(t, newWorld(t, s.store)) })
	}
	for _, test := range []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"Epoch", testEpoch},
		{"Organizations", testOrganizations},
		{"Tokens", testTokens},
		{"TokenNames", testTokenNames},
		{"TokenRevocation", testTokenRevocation},
		{"TokenUse", testTokenUse},
		{"Proposals", testProposals},
		{"Redaction", testRedaction},
		{"RedactionOfFindings", testRedactionOfFindings},
		{"Pulls", testPulls},
		{"Scans", testScans},
		{"Policy", testPolicy},
		{"Findings", testFindings},
		{"Members", testMembers},
		{"SeveralOrganizations", testSeveralOrganizations},
		{"Grants", testGrants},
		{"Limits", testLimits},
		{"AdministerTokens", testAdministerTokens},
		{"Rename", testRename},
		{"OrgAudit", testOrgAudit},
		{"AuditTenancy", testAuditTenancy},
		{"CheckpointAndPrune", testCheckpointAndPrune},
		{"ConcurrentAdministers", testConcurrentAdministers},
		{"Identities", testIdentities},
		{"Vouching", testVouching},
		{"Sessions", testSessions},
		{"SessionsOfUser", testSessionsOfUser},
		{"Invitations", testInvitations},
		{"Head", testHead},
		{"View", testView},
		{"ViewSince", testViewSince},
		{"ViewFarBehind", testViewFarBehind},
		{"Bodies", testBodies},
		{"BodiesMissing", testBodiesMissing},
		{"BodiesCorrupt", s.testBodiesCorrupt},
		{"CommitReturns", testCommitReturns},
		{"CommitNothing", testCommitNothing},
		{"CommitRefused", testCommitRefused},
		{"CommitBreaksContract", testCommitBreaksContract},
		{"CommitUnknownOrganization", testCommitUnknownOrganization},
		{"CommitCancelled", testCommitCancelled},
		{"StateOfTouched", testStateOfTouched},
		{"StateOfTwins", testStateOfTwins},
		{"StateOfDirectories", testStateOfDirectories},
		{"Tombstones", testTombstones},
		{"RenameToTwin", testRenameToTwin},
		{"TwinRefused", testTwinRefused},
		{"StrangeKeys", testStrangeKeys},
		{"History", testHistory},
		{"HistoryPages", testHistoryPages},
		{"Vacuum", testVacuum},
		{"VacuumBesideWriters", testVacuumBesideWriters},
		{"Authors", testAuthors},
		{"Figures", testFigures},
		{"Reads", testReads},
		{"Clients", testClients},
		{"Audit", testAudit},
		{"Tenancy", testTenancy},
		{"ConcurrentCommits", testConcurrentCommits},
		{"ConcurrentRepos", testConcurrentRepos},
		{"Gathered", testGathered},
		{"GatheredLeave", testGatheredLeave},
		{"ViewIsOneInstant", testViewIsOneInstant},
		{"SearchIndex", testSearchIndex},
		{"Search", testSearch},
		{"SearchFilters", testSearchFilters},
		{"SearchHostile", testSearchHostile},
		{"SearchRedaction", testSearchRedaction},
		{"SearchTenancy", testSearchTenancy},
		{"SearchModel", testSearchModel},
		{"Model", testModel},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newWorld(t, s.store)) })
	}
}

// world is what one test plays in: an organization of its own, a repo without
// memory, and somebody to write.
type world struct {
	store  store.Store
	org    store.Organization
	author store.Author
	token  store.Token
	ref    store.RepoRef
}

func newWorld(t *testing.T, s store.Store) *world {
	t.Helper()
	ctx := t.Context()
	org, err := s.CreateOrganization(ctx, store.Organization{UID: random("org_"), Name: random("acme-"), Created: at(0)})
	if err != nil {
		t.Fatalf("CreateOrganization: %v", err)
	}
	token, err := s.CreateToken(ctx, newToken(org.ID, "dana"))
	if err != nil {
		t.Fatalf("CreateToken: %v", err)
	}
	return &world{
		store: s, org: org, token: token,
		author: store.Author{User: token.User, Token: token.ID, Client: "dana-laptop"},
		ref:    store.RepoRef{Org: org.ID, Slug: "acme/widgets"},
	}
}

func newToken(org store.OrgID, user string) store.Token {
	token := store.Token{UID: random("tok_"), Org: org, UserName: user, Role: api.Member, Prefix: "tm_abcd", Created: at(0)}
	_, _ = rand.Read(token.Hash[:]) // never fails
	return token
}

// random is a name that no other test has.
func random(prefix string) string { return prefix + rand.Text() }

func (w *world) head(t *testing.T) store.Head {
	t.Helper()
	head, err := w.store.Head(t.Context(), w.ref)
	if err != nil {
		t.Fatalf("Head: %v", err)
	}
	return head
}

func (w *world) view(t *testing.T, since api.Version) store.View {
	t.Helper()
	view, err := w.store.View(t.Context(), w.ref, since)
	if err != nil {
		t.Fatalf("View since %d: %v", since, err)
	}
	return view
}

func (w *world) history(t *testing.T, key api.Key, before api.Version, limit int) []store.Past {
	t.Helper()
	past, err := w.store.History(t.Context(), w.ref, key, before, limit)
	if err != nil {
		t.Fatalf("History of %q: %v", key, err)
	}
	return past
}

// commit carries the edits out and gives the head that stands then.
func (w *world) commit(t *testing.T, edits ...edit) store.Head {
	t.Helper()
	head, err := w.tryCommit(t.Context(), edits...)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return head
}

func (w *world) tryCommit(ctx context.Context, edits ...edit) (store.Head, error) {
	return w.store.Commit(ctx, w.ref, keysOf(edits), func(state store.State) (*store.Change, error) {
		return w.change(state, edits), nil
	})
}

// state shows what Commit shows to decide for these keys.
func (w *world) state(t *testing.T, touched ...api.Key) (shown store.State) {
	t.Helper()
	_, err := w.store.Commit(t.Context(), w.ref, touched, func(state store.State) (*store.Change, error) {
		shown = state
		return nil, nil
	})
	if err != nil {
		t.Fatalf("Commit of nothing: %v", err)
	}
	return shown
}
