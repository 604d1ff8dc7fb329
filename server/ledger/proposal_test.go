package ledger

import (
	"context"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// team is the rules of proposals once more, as naively as they can be written: a map
// for everybody and one for each author.
type team struct {
	version  api.Version
	public   texts
	open     map[store.UserID]map[api.Key]*posed
	rejected map[store.UserID]map[api.Key]string
}

// posed is one open proposal.
type posed struct {
	deleted   bool
	text      string
	base      *string
	approvals int
}

func (m *team) sees(user store.UserID) texts {
	seen := maps.Clone(m.public)
	for key, p := range m.open[user] {
		if delete(seen, key); !p.deleted {
			seen[key] = p.text
		}
	}
	return seen
}

func (m *team) stands(key api.Key) *string {
	if text, ok := m.public[key]; ok {
		return &text
	}
	return nil
}

func equal(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// put carries out a write, or a deletion where text is nil, that names as its base
// what the user sees.
func (m *team) put(user store.UserID, key api.Key, text *string, ruled bool) {
	seen, isSeen := m.sees(user)[key]
	if text == nil && !isSeen || text != nil && isSeen && seen == *text {
		return
	}
	if rejected, ok := m.rejected[user][key]; ok && text != nil && rejected == *text {
		return
	}
	m.version++
	p := m.open[user][key]
	delete(m.rejected[user], key)
	switch {
	case p != nil && (equal(text, m.stands(key)) || text == nil && !p.deleted):
		delete(m.open[user], key)
		return
	case ruled || p != nil && !equal(p.base, m.stands(key)):
		next := &posed{deleted: text == nil, base: m.stands(key)}
		if text != nil {
			next.text = *text
		}
		if p != nil {
			next.base = p.base
		}
		m.open[user][key] = next
		return
	}
	delete(m.open[user], key)
	m.public = maps.Clone(m.public)
	if delete(m.public, key); text != nil {
		m.public[key] = *text
	}
}

// approve gives whether the approval is taken.
func (m *team) approve(author store.UserID, key api.Key, needed int) bool {
	p := m.open[author][key]
	if !equal(p.base, m.stands(key)) {
		return false
	}
	m.version++
	if p.approvals++; p.approvals < needed {
		return true
	}
	delete(m.open[author], key)
	m.public = maps.Clone(m.public)
	if delete(m.public, key); !p.deleted {
		m.public[key] = p.text
	}
	return true
}

// Random people push, approve and reject; after each step everybody sees what the
// model says, whole and as what has changed since any version, and nothing else.
func TestProposalsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBox(t)
		ctx := context.Background()
		m := &team{public: texts{}, open: map[store.UserID]map[api.Key]*posed{}, rejected: map[store.UserID]map[api.Key]string{}}
		people := []Caller{b.caller}
		for i, role := range []api.Role{api.Member, api.Maintainer, api.Admin} {
			token, err := b.store.CreateToken(ctx, store.Token{UID: "tok_x" + string(role), Org: b.caller.Org, UserName: "user " + string(role), Role: role, Hash: [32]byte{byte(i + 1)}})
			if err != nil {
				t.Fatalf("token: %v", err)
			}
			caller := b.caller
			caller.User, caller.UserName, caller.Role = token.User, token.UserName, role
			people = append(people, caller)
		}
		const needed = 1
		rules := api.PolicyChange{Policy: api.Policy{Review: []api.ReviewRule{{Role: api.Member, Pattern: "r*", Approvals: needed}}}}
		if _, err := b.SetPolicy(ctx, people[3], rules, api.Tags{}); err != nil {
			t.Fatalf("policy: %v", err)
		}
		past := []map[store.UserID]texts{{}} // by version
		for _, p := range people {
			m.open[p.User], m.rejected[p.User], past[0][p.User] = map[api.Key]*posed{}, map[api.Key]string{}, texts{}
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			step(t, b, m, people, needed)
			for len(past) <= int(m.version) {
				past = append(past, map[store.UserID]texts{})
			}
			for _, p := range people {
				past[m.version][p.User] = m.sees(p.User)
				agreeFor(t, b, m, p, past)
			}
		}
	})
}

// step does one thing, here and in the model.
func step(t *rapid.T, b *box, m *team, people []Caller, needed int) {
	ctx := context.Background()
	if rapid.IntRange(0, 2).Draw(t, "what") > 0 {
		who := rapid.SampledFrom(people).Draw(t, "who")
		key := rapid.SampledFrom([]api.Key{"ra", "rb", "c"}).Draw(t, "key")
		push := api.Push{BaseChecksums: bases{key: nil}}
		if seen, ok := m.sees(who.User)[key]; ok {
			push.BaseChecksums = bases{key: based(seen)}
		}
		var text *string
		if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			push.Deletions = []api.Key{key}
		} else {
			drawn := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "text")
			text, push.Entries = &drawn, texts{key: drawn}
		}
		if _, err := b.Push(ctx, who, repo, push, api.Tags{}); err != nil {
			t.Fatalf("push: %v", err)
		}
		m.put(who.User, key, text, who.Role == api.Member && key[0] == 'r')
		return
	}
	open, err := b.Proposals(ctx, people[3], store.ProposalQuery{State: api.ProposalOpen, Limit: 100})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	if len(open) == 0 {
		return
	}
	p := open[rapid.IntRange(0, len(open)-1).Draw(t, "proposal")]
	reviewer := people[rapid.IntRange(2, 3).Draw(t, "reviewer")]
	if rapid.IntRange(0, 2).Draw(t, "reject") == 0 {
		if _, err := b.Reject(ctx, reviewer, p.UID, "no"); err != nil {
			t.Fatalf("reject: %v", err)
		}
		m.version++
		if !m.open[p.Author][p.Key].deleted {
			m.rejected[p.Author][p.Key] = m.open[p.Author][p.Key].text
		}
		delete(m.open[p.Author], p.Key)
		return
	}
	_, err = b.Approve(ctx, reviewer, p.UID, api.Approve{Checksum: p.Checksum})
	want := api.Conflict
	if reviewer.User == p.Author {
		want = api.Permission
	} else if m.approve(p.Author, p.Key, needed) {
		want = ""
	}
	if api.CodeOf(err) != want {
		t.Fatalf("approve %s of %s: %v, want %q", p.Key, p.User, err, want)
	}
}

// agreeFor holds what one person is served against the model.
func agreeFor(t *rapid.T, b *box, m *team, who Caller, past []map[store.UserID]texts) {
	ctx := context.Background()
	if m.version == 0 {
		return
	}
	seen := m.sees(who.User)
	head, err := b.Head(ctx, who, repo)
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	if want := stateOf(seen, nil).Head; head.Version != m.version || head.Checksum != checksumOfHead(want) && len(seen) > 0 || head.Entries != len(seen) {
		t.Fatalf("%s is told version %d, %s, %d entries; want %d, %s, %d", who.UserName, head.Version, head.Checksum.Short(), head.Entries, m.version, want.Checksum.Short(), len(seen))
	}
	since := api.Version(rapid.IntRange(0, int(m.version)).Draw(t, "since"))
	view, err := b.View(ctx, who, repo, since)
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	if view.Head.Checksum != head.Checksum {
		t.Fatalf("GET says %s, and If-None-Match is held against %s", view.Head.Checksum.Short(), head.Checksum.Short())
	}
	// Whoever had what stood at since has what stands now.
	had := texts{}
	if view.Partial {
		had = maps.Clone(past[since][who.User])
	}
	for _, row := range view.Deleted {
		delete(had, row.Key)
	}
	maps.Copy(had, b.texts(t, view.Live))
	if !maps.Equal(had, seen) {
		t.Fatalf("%s, from version %d on: %v, want %v", who.UserName, since, had, seen)
	}
}
