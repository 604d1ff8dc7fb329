package ledger

import (
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
)

// Who edits a text that has changed is told by whom, and nothing is written.
func TestEditNamesWhoWasQuicker(t *testing.T) {
	b := newBox(t)
	b.push(t, api.Push{Entries: texts{"a.md": "one"}}, api.Tags{})
	seen := api.ChecksumOfString("one")
	done, err := b.Edit(t.Context(), b.caller, repo, api.Edit{Key: "a.md", Content: "two", Base: &seen, Reason: "it was wrong"})
	if err != nil || done.Version != 2 {
		t.Fatalf("version %d, held %+v, %v", done.Version, done.Held, err)
	}
	_, err = b.Edit(t.Context(), b.caller, repo, api.Edit{Key: "a.md", Content: "three", Base: &seen})
	e, _ := api.AsError(err)
	if api.CodeOf(err) != api.Conflict || e.Details.Quicker == nil || e.Details.Quicker.Version != 2 || e.Details.Quicker.User != "dana" || e.Details.Quicker.Client != "laptop" {
		t.Errorf("%+v", err)
	}
	if _, err = b.Remove(t.Context(), b.caller, repo, "a.md", seen, ""); api.CodeOf(err) != api.Conflict {
		t.Errorf("a deletion of what has changed: %v", err)
	}
	if got := b.texts(t, b.view(t, 0).Live); got["a.md"] != "two" {
		t.Errorf("%v", got)
	}
	if _, err = b.Remove(t.Context(), b.caller, repo, "a.md", api.ChecksumOfString("two"), "it is over"); err != nil {
		t.Error(err)
	}
	var reasons []string
	for _, record := range b.trail(t) {
		push, err := audit.ParsePush(record.Subject)
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, push.Reason)
	}
	if len(reasons) != 3 || reasons[1] != "it was wrong" || reasons[2] != "it is over" {
		t.Errorf("the trail says %q", reasons)
	}
}

func TestMove(t *testing.T) {
	b := newBox(t)
	b.push(t, api.Push{Entries: texts{"a.md": "a", "b.md": "b"}}, api.Tags{})
	if _, err := b.Move(t.Context(), b.caller, repo, api.Move{Key: "a.md", To: "b.md"}); api.CodeOf(err) != api.Conflict {
		t.Errorf("onto another: %v", err)
	}
	if _, err := b.Move(t.Context(), b.caller, repo, api.Move{Key: "none.md", To: "c.md"}); api.CodeOf(err) != api.NotFound {
		t.Errorf("what is not there: %v", err)
	}
	before := b.view(t, 0).Live[0].Modified
	b.clock = b.clock.Add(1e9)
	done, err := b.Move(t.Context(), b.caller, repo, api.Move{Key: "a.md", To: "sub/a.md", Reason: "it belongs there"})
	if err != nil || done.Version != 2 || len(done.Held) != 0 {
		t.Fatalf("version %d, held %+v, %v", done.Version, done.Held, err)
	}
	view := b.view(t, 0)
	if got := b.texts(t, view.Live); len(got) != 2 || got["sub/a.md"] != "a" || view.Deleted[0].Key != "a.md" || !view.Live[1].Modified.Equal(before) {
		t.Errorf("%v, %+v", got, view)
	}
	trail := b.trail(t)
	push, err := audit.ParsePush(trail[1].Subject)
	if err != nil || trail[1].Action != audit.ActionMove || len(push.Keys) != 2 || push.Reason != "it belongs there" {
		t.Errorf("%s %s, %v", trail[1].Action, trail[1].Subject, err)
	}
	if again, err := b.Move(t.Context(), b.caller, repo, api.Move{Key: "a.md", To: "sub/a.md"}); err != nil || again.Version != 2 || again.Changed {
		t.Errorf("again: version %d, %v", again.Version, err)
	}
	if _, err := b.Move(t.Context(), b.caller, repo, api.Move{Key: "a.md", To: "c.md"}); api.CodeOf(err) != api.NotFound {
		t.Errorf("what was deleted: %v", err)
	}
}

// Where a rule holds one half of a move the other waits with it: nobody sees half.
func TestAMoveIsHeldAsAWhole(t *testing.T) {
	b := newBox(t)
	b.push(t, api.Push{Entries: texts{"a.md": "a"}}, api.Tags{})
	rules := api.PolicyChange{Policy: api.Policy{Review: []api.ReviewRule{{Role: api.Member, Pattern: "reviewed/*", Approvals: 1}}}}
	if _, err := b.SetPolicy(t.Context(), b.caller, rules, api.Tags{}); err != nil {
		t.Fatal(err)
	}
	done, err := b.Move(t.Context(), b.caller, repo, api.Move{Key: "a.md", To: "reviewed/a.md"})
	if err != nil || len(done.Held) != 2 {
		t.Fatalf("version %d, held %+v, %v", done.Version, done.Held, err)
	}
	others := b.caller
	others.User, others.UserName = b.caller.User+100, "lee"
	view, err := b.View(t.Context(), others, repo, 0)
	if err != nil || len(view.Live) != 1 || view.Live[0].Key != "a.md" {
		t.Errorf("others see %+v, %v", view.Live, err)
	}
}
