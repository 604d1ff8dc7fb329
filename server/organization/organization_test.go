package organization

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

// desk is an organization with an admin, on the store in memory.
type desk struct {
	t      *testing.T
	store  *memory.Store
	rules  *Rules
	ledger *ledger.Ledger
	org    store.Organization
	by     By
	now    time.Time
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, store: memory.New(), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return d.now }
	d.rules = New(d.store, clock, nil)
	d.ledger = ledger.New(slog.New(slog.DiscardHandler), d.store, clock, api.DefaultLimits, nil, nil)
	var err error
	if d.org, err = d.store.CreateOrganization(t.Context(), auth.NewOrganization("acme", d.now)); err != nil {
		t.Fatal(err)
	}
	d.by = By{Org: d.org.ID, User: "root", TokenUID: "tok_1", Client: "laptop", How: "token", From: "192.0.2.1"}
	d.want(d.rules.SetMember(t.Context(), d.by, "root", api.Admin, false), "")
	return d
}

// want checks an error's code; empty for none.
func (d *desk) want(err error, errorCode string) {
	d.t.Helper()
	e, _ := api.AsError(err)
	if errorCode == "" && err != nil || errorCode != "" && (e == nil || e.Details.ErrorCode != errorCode) {
		d.t.Fatalf("the error is %v, want %q", err, errorCode)
	}
}

// records are those of the organization's chain.
func (d *desk) records() []audit.Record {
	d.t.Helper()
	all, err := d.store.OrgAudit(context.Background(), d.org.ID, 0, 1000)
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

func (d *desk) push(key api.Key, text string) {
	d.t.Helper()
	caller := ledger.Caller{Org: d.org.ID, OrgUID: d.org.UID, User: 1, UserName: "dana", Role: api.Member}
	push := api.Push{Entries: map[api.Key]string{key: text}}
	var tags api.Tags
	if head, err := d.ledger.Head(d.t.Context(), caller, "acme/web"); err == nil {
		tags, _ = api.ParseTags([]string{head.Checksum.ETag()})
	}
	if _, err := d.ledger.Push(d.t.Context(), caller, "acme/web", push, tags); err != nil {
		d.t.Fatal(err)
	}
}

// What changes nothing leaves no record; what does says before and after, by whom,
// how and from where.
func TestEveryChangeIsOneRecord(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	grant := store.Grant{Kind: store.ForGroup, Name: "red", Pattern: "Acme/*", Role: api.Viewer}
	for _, step := range []struct {
		do   func() error
		want string // in the newest record; empty: none
	}{
		{func() error { return d.rules.SetMember(ctx, d.by, "dana", api.Viewer, false) }, `{"how":"token","from":"192.0.2.1","of":"dana","after":{"role":"viewer","service":false}}`},
		{func() error { return d.rules.SetMember(ctx, d.by, "dana", api.Viewer, false) }, ""},
		{func() error { return d.rules.SetMember(ctx, d.by, "dana", api.Member, false) }, `"before":{"role":"viewer","service":false},"after":{"role":"member"`},
		{func() error { return d.rules.SetGrant(ctx, d.by, grant) }, `"of":"group red","repo":"acme/*","after":"viewer"`},
		{func() error { return d.rules.SetGrant(ctx, d.by, grant) }, ""},
		{func() error { return d.rules.RemoveGrant(ctx, d.by, grant) }, `"before":"viewer"`},
		{func() error { most := 3; _, err := d.rules.Set(ctx, d.by, Settings{MaxRepos: &most}); return err }, `"maxRepos":"3"`},
		{func() error { most := 3; _, err := d.rules.Set(ctx, d.by, Settings{MaxRepos: &most}); return err }, ""},
		{func() error { return d.rules.RemoveMember(ctx, d.by, "dana") }, `"of":"dana","before":{"role":"member"}`},
	} {
		before := len(d.records())
		d.want(step.do(), "")
		after := d.records()
		if step.want == "" {
			if len(after) != before {
				t.Errorf("a change of nothing left %s", after[len(after)-1].Subject)
			}
			continue
		}
		if last := after[len(after)-1]; len(after) != before+1 || !strings.Contains(string(last.Subject), step.want) || last.User != "root" || last.Client != "laptop" {
			t.Errorf("%d records more, the last %s %s; want %s", len(after)-before, last.Action, last.Subject, step.want)
		}
	}
}

func TestThereIsAlwaysAnAdmin(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	d.want(d.rules.RemoveMember(ctx, d.by, "root"), api.ErrorCodeLastAdmin)
	d.want(d.rules.SetMember(ctx, d.by, "root", api.Maintainer, false), api.ErrorCodeLastAdmin)
	d.want(d.rules.SetMember(ctx, d.by, "lee", api.Admin, false), "")
	d.want(d.rules.RemoveMember(ctx, d.by, "root"), "")
	d.want(d.rules.RemoveMember(ctx, d.by, "root"), api.ErrorCodeUnknown)
	d.want(d.rules.RemoveMember(ctx, d.by, "lee"), api.ErrorCodeLastAdmin)
}

func TestWhatCannotBeSet(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	d.want(d.rules.SetMember(ctx, d.by, "da\nna", api.Viewer, false), api.ErrorCodeBadBody)
	d.want(d.rules.SetMember(ctx, d.by, "dana", "king", false), api.ErrorCodeBadBody)
	for _, g := range []store.Grant{
		{Kind: "nobody", Name: "x", Pattern: "**", Role: api.Viewer},
		{Kind: store.ForMember, Name: "x", Role: api.Viewer},
		{Kind: store.ForEveryone, Pattern: "a/[", Role: api.Viewer},
		{Kind: store.ForGroup, Pattern: "**", Role: api.Viewer},
		{Kind: store.ForGroup, Name: "x", Pattern: "**", Role: "king"},
	} {
		d.want(d.rules.SetGrant(ctx, d.by, g), api.ErrorCodeBadBody)
	}
}

func TestRenames(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	d.push("a.md", "a")
	d.want(d.rules.Rename(ctx, d.by, "acme/none", "acme/x"), api.ErrorCodeUnknown)
	d.want(d.rules.Rename(ctx, d.by, "acme/web", "acme/site"), "")
	d.want(d.rules.Rename(ctx, d.by, "acme/web", "acme/other"), api.ErrorCodeUnknown)
	d.push2("acme/web2")
	d.want(d.rules.Rename(ctx, d.by, "acme/web2", "acme/site"), api.ErrorCodeExists)
	d.want(d.rules.Rename(ctx, d.by, "acme/web2", "acme/web"), api.ErrorCodeExists)
	// Back again: the old name is the name of now.
	d.want(d.rules.Rename(ctx, d.by, "acme/site", "acme/web"), "")
	access, err := d.rules.Get(ctx, d.org.ID)
	if err != nil || len(access.Aliases) != 1 || access.Aliases["acme/site"] != "acme/web" {
		t.Errorf("old names are %v, %v", access.Aliases, err)
	}
	d.want(d.rules.ForgetName(ctx, d.by, "acme/site"), "")
	d.want(d.rules.ForgetName(ctx, d.by, "acme/site"), api.ErrorCodeUnknown)
}

func (d *desk) push2(repo api.RepoSlug) {
	d.t.Helper()
	caller := ledger.Caller{Org: d.org.ID, OrgUID: d.org.UID, User: 1, UserName: "dana", Role: api.Member}
	if _, err := d.ledger.Push(d.t.Context(), caller, repo, api.Push{Entries: map[api.Key]string{"a.md": "a"}}, api.Tags{}); err != nil {
		d.t.Fatal(err)
	}
}

// tampered is the store with one record of a chain that comes out changed.
type tampered struct {
	*memory.Store
	org, repo func([]audit.Record) []audit.Record
}

func (s tampered) OrgAudit(ctx context.Context, org store.OrgID, after int64, limit int) ([]audit.Record, error) {
	records, err := s.Store.OrgAudit(ctx, org, after, limit)
	if s.org != nil {
		records = s.org(records)
	}
	return records, err
}

func (s tampered) Audit(ctx context.Context, ref store.RepoRef, after int64, limit int) ([]audit.Record, error) {
	records, err := s.Store.Audit(ctx, ref, after, limit)
	if s.repo != nil {
		records = s.repo(records)
	}
	return records, err
}

func TestVerifyNamesTheFirstBrokenLink(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	for i := range 4 {
		d.push("a.md", fmt.Sprint(i))
		d.want(d.rules.SetMember(ctx, d.by, fmt.Sprint("m", i), api.Viewer, false), "")
	}
	d.want(d.rules.Checkpoint(ctx, d.org.ID), "")
	if n, err := d.rules.Verify(ctx, d.org.ID); err != nil || n != 10 {
		t.Fatalf("%d records, %v", n, err)
	}
	change := func(i int) func([]audit.Record) []audit.Record {
		return func(r []audit.Record) []audit.Record {
			if len(r) > i {
				r[i].User = "mallory"
			}
			return r
		}
	}
	// A chain that was computed anew from the change on; only the checkpoint, or the
	// head, knows better.
	rehash := func(r []audit.Record) []audit.Record {
		if len(r) > 0 {
			r[0].User = "mallory"
			for i := range r {
				var before [32]byte
				if i > 0 {
					before = r[i-1].Hash
				}
				r[i] = r[i].Chain(before)
			}
		}
		return r
	}
	cut := func(r []audit.Record) []audit.Record { return r[:max(0, len(r)-1)] }
	for name, c := range map[string]struct {
		store tampered
		chain string
		seq   int64
	}{
		"a record of the organization's": {tampered{d.store, change(1), nil}, "organization", 2},
		"a record of a repo's":           {tampered{d.store, nil, change(2)}, "acme/web", 3},
		"a repo's chain computed anew":   {tampered{d.store, nil, rehash}, "acme/web", 4},
		"the end cut off":                {tampered{d.store, nil, cut}, "acme/web", 4},
	} {
		rules := New(c.store, func() time.Time { return d.now }, nil)
		_, err := rules.Verify(ctx, d.org.ID)
		var broken *BrokenError
		if !errors.As(err, &broken) || !errors.Is(err, audit.ErrBroken) || broken.Chain != c.chain || broken.Seq != c.seq {
			t.Errorf("%s: %v, want %s at %d", name, err, c.chain, c.seq)
		}
	}
}

// What is older than the organization keeps goes, again and again, and what stays can
// still be verified. Taken away beside that, it is noticed.
func TestRetentionKeepsTheChainProvable(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	days := 30
	org, err := d.rules.Set(ctx, d.by, Settings{AuditDays: &days})
	d.want(err, "")
	for round := range 4 {
		for i := range 3 {
			d.push("a.md", fmt.Sprint(round, i))
			d.want(d.rules.SetMember(ctx, d.by, fmt.Sprint("m", round, i), api.Viewer, false), "")
		}
		d.now = d.now.Add(31 * 24 * time.Hour)
		d.want(d.rules.Prune(ctx, org), "")
		if round == 1 {
			d.want(d.rules.Rename(ctx, d.by, "acme/web", "acme/old"), "")
			d.want(d.rules.Rename(ctx, d.by, "acme/old", "acme/web"), "")
		}
		n, err := d.rules.Verify(ctx, d.org.ID)
		if err != nil || n > 6 {
			t.Fatalf("round %d: %d records, %v", round, n, err)
		}
	}
	before := len(d.records())
	d.want(d.rules.Prune(ctx, org), "")
	if after := len(d.records()); after > before {
		t.Errorf("pruning nothing left %d records more", after-before)
	}
	records := d.records()
	last := records[len(records)-1]
	_, err = d.store.Administer(ctx, d.org.ID, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
		change := &store.OrgChange{Pruned: []store.AuditAnchor{{AuditPlace: store.AuditPlace{Seq: last.Seq, Hash: last.Hash}}}}
		change.Audit = d.by.record(d.now, "nothing", audit.Deed{})
		return change, nil
	})
	d.want(err, "")
	if _, err := d.rules.Verify(ctx, d.org.ID); !errors.Is(err, audit.ErrBroken) {
		t.Errorf("records that nobody vouches for are gone: %v", err)
	}
}

func TestCheckpointsOnlyNoteWhatMoved(t *testing.T) {
	d := newDesk(t)
	d.push("a.md", "a")
	for range 3 {
		d.want(d.rules.Checkpoint(t.Context(), d.org.ID), "")
	}
	d.push("a.md", "b")
	d.want(d.rules.Checkpoint(t.Context(), d.org.ID), "")
	notes := 0
	for _, r := range d.records() {
		if r.Action == audit.ActionCheckpoint {
			notes++
		}
	}
	if notes != 2 {
		t.Errorf("%d checkpoints of two changes", notes)
	}
}

// A flood of refusals is a few rows, and none of them is lost from the count of
// those that are alike.
func TestAFloodOfRefusalsIsAFewRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		k := NewKeeper(slog.New(slog.DiscardHandler), d.rules, time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Run(ctx); close(done) }()
		k.Refused(auth.Refusal{Org: d.org.ID, User: "eve", Why: "role", What: "putTeamMemory"})
		time.Sleep(time.Second) // of the bubble
		if last := d.records()[len(d.records())-1]; last.Action != audit.ActionRefused || last.User != "eve" {
			t.Errorf("a second later the last record is %s by %s", last.Action, last.User)
		}
		before := len(d.records())
		const flood = 50_000
		for i := range flood {
			k.Refused(auth.Refusal{Org: d.org.ID, User: fmt.Sprint("u", i), Why: "token_invalid", From: fmt.Sprint(i)})
			if i%1000 == 0 {
				time.Sleep(time.Second)
			}
		}
		if rows := len(d.records()) - before; rows > refusalBurst+refusalRows+1 {
			t.Errorf("a minute's flood left %d rows", rows)
		}
		if len(k.waiting) > mostRefusals+1 {
			t.Errorf("%d refusals wait", len(k.waiting))
		}
		stop()
		<-done
		if _, err := d.rules.Verify(context.Background(), d.org.ID); err != nil {
			t.Error(err)
		}
	})
}

func TestTokensOfMembers(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	_, _, err := d.rules.CreateToken(ctx, d.by, TokenAsk{User: "nobody"})
	d.want(err, api.ErrorCodeUnknown)
	secret, token, err := d.rules.CreateToken(ctx, d.by, TokenAsk{User: "root", Most: api.Member, Scope: api.ReadScope, Repos: []string{"Acme/*"}})
	d.want(err, "")
	if !strings.HasPrefix(secret, auth.SecretPrefix) || token.Role != api.Member || token.Repos != "acme/*" {
		t.Errorf("the token is %+v", token)
	}
	for _, r := range d.records() {
		if strings.Contains(string(r.Subject), secret) {
			t.Error("a record holds the secret")
		}
	}
	d.want(d.rules.RevokeToken(ctx, d.by, token.UID, "dana"), api.ErrorCodeUnknown)
	before := len(d.records())
	d.want(d.rules.RevokeToken(ctx, d.by, token.UID, "root"), "")
	d.want(d.rules.RevokeToken(ctx, d.by, token.UID, ""), "")
	if n := len(d.records()) - before; n != 1 {
		t.Errorf("revoking twice left %d records", n)
	}
	// An operator's token makes its user what it needs, and says so only when asked.
	_, _, err = d.rules.CreateToken(ctx, d.by, TokenAsk{User: "ci", Role: api.Viewer, Join: true, Service: true})
	d.want(err, "")
	_, token, err = d.rules.CreateToken(ctx, d.by, TokenAsk{User: "ci", Role: api.Member, Join: true})
	d.want(err, "")
	members, _ := d.rules.Members(ctx, d.org.ID)
	if members[0].Name != "ci" || members[0].Role != api.Viewer || !members[0].Service || token.Role != api.Member {
		t.Errorf("the user is %+v, the token %s", members[0], token.Role)
	}
	_, _, err = d.rules.CreateToken(ctx, d.by, TokenAsk{User: "ci", Role: api.Maintainer, Join: true, Raise: true})
	d.want(err, "")
	if members, _ = d.rules.Members(ctx, d.org.ID); members[0].Role != api.Maintainer {
		t.Errorf("the user is %s", members[0].Role)
	}
}

// The token with which an organization begins is recorded like every other.
func TestTheFirstTokenIsRecorded(t *testing.T) {
	d := newDesk(t)
	_, token := auth.NewToken(d.org.ID, "first", api.Admin, d.now, time.Time{})
	d.want(d.rules.FirstToken(t.Context(), token), "")
	found, err := d.store.TokenByHash(t.Context(), token.Hash)
	if err != nil || found.Member.Role != api.Admin || found.UserName != "first" {
		t.Errorf("the token is %+v, %v", found, err)
	}
	all := d.records()
	if last := all[len(all)-1]; last.Action != audit.ActionTokenCreate || last.User != "server" || !strings.Contains(string(last.Subject), token.UID) {
		t.Errorf("the record is %s of %s: %s", last.Action, last.User, last.Subject)
	}
}

// TestInvitationsAreChained: each leaves a record with what was before, and one that
// cannot be leaves none.
func TestInvitationsAreChained(t *testing.T) {
	d := newDesk(t)
	for what, c := range map[string]struct{ email, name, role string }{
		"no address": {"dana", "", ""}, "a line": {"a@b\nc", "", ""}, "no role": {"a@b.example", "", "king"}, "no name": {"a@b.example", "a\x1bb", ""},
	} {
		if err := d.rules.Invite(t.Context(), d.by, c.email, c.name, api.Role(c.role)); api.CodeOf(err) != api.InvalidRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.rules.Uninvite(t.Context(), d.by, "lee@acme.example"); api.CodeOf(err) != api.NotFound {
		t.Errorf("taken back before it was made: %v", err)
	}
	if err := errors.Join(
		d.rules.Invite(t.Context(), d.by, " Lee@ACME.example ", "", api.Viewer),
		d.rules.Invite(t.Context(), d.by, "lee@acme.example", "lee", api.NoRole),
		d.rules.Uninvite(t.Context(), d.by, "LEE@acme.example")); err != nil {
		t.Fatal(err)
	}
	records, err := d.store.OrgAudit(t.Context(), d.org.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		if strings.HasPrefix(r.Action, "invitation.") {
			got = append(got, r.Action+" "+string(r.Subject))
		}
	}
	want := []string{
		`invitation.set {"how":"token","from":"192.0.2.1","of":"lee@acme.example","after":{"role":"viewer","user":""}}`,
		`invitation.set {"how":"token","from":"192.0.2.1","of":"lee@acme.example","before":{"role":"viewer","user":""},"after":{"role":"","user":"lee"}}`,
		`invitation.remove {"how":"token","from":"192.0.2.1","of":"lee@acme.example","before":{"role":"","user":"lee"}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the chain holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
