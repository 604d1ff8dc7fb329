package ledger

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// S3: of concurrent pushes with one precondition exactly one wins, and the others
// change nothing, not even the audit.
func TestOneOfManyWins(t *testing.T) {
	preconditions := map[string]func(head store.Head, push *api.Push) api.Tags{
		"If-Match": func(head store.Head, _ *api.Push) api.Tags { return named(head.Checksum) },
		"baseChecksums": func(_ store.Head, push *api.Push) api.Tags {
			push.BaseChecksums = bases{"a": based("0")}
			return api.Tags{}
		},
	}
	for store, open := range openStores {
		for name, precondition := range preconditions {
			t.Run(store+" "+name, func(t *testing.T) { oneOfManyWins(t, boxOn(t, open(t), 1), precondition) })
		}
	}
}

func oneOfManyWins(t *testing.T, b *box, precondition func(store.Head, *api.Push) api.Tags) {
	head := b.push(t, api.Push{Entries: texts{"a": "0"}}, api.Tags{})
	const writers = 16
	answers := make([]error, writers)
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			push := api.Push{Entries: texts{"a": fmt.Sprintf("from writer %d", i)}}
			tags := precondition(head, &push)
			_, answers[i] = b.Push(context.Background(), b.caller, repo, push, tags)
		})
	}
	wait.Wait()
	var winners []int
	for i, err := range answers {
		switch api.CodeOf(err) {
		case "":
			winners = append(winners, i)
		case api.Conflict:
		default:
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if len(winners) != 1 {
		t.Fatalf("%d writers won", len(winners))
	}
	view := b.view(t, 0)
	if got, want := b.texts(t, view.Live)["a"], fmt.Sprintf("from writer %d", winners[0]); got != want {
		t.Errorf("%q stands, but %q won", got, want)
	}
	if records := b.trail(t); view.Head.Version != 2 || len(records) != 2 {
		t.Errorf("version %d with %d audit records, want 2 and 2", view.Head.Version, len(records))
	}
}

// S5 and S7: a push whose contents already stand changes neither version, time,
// checksum nor audit.
func TestReplay(t *testing.T) {
	b := newBox(t)
	pushes := []struct {
		push    api.Push
		ifMatch api.Tags
	}{
		{api.Push{Entries: texts{"a": "1", "b": "1"}}, api.Tags{}},
		{api.Push{Entries: texts{"a": "2"}, Deletions: []api.Key{"b"}, BaseChecksums: bases{"a": based("1"), "b": based("1")}}, api.Tags{}},
		{api.Push{Entries: texts{"b": "1"}, BaseChecksums: bases{"b": nil}}, api.Tags{}},
	}
	for i, p := range pushes {
		first := b.push(t, p.push, p.ifMatch)
		b.clock = b.clock.Add(time.Minute)
		again := b.push(t, p.push, p.ifMatch)
		if again.Version != first.Version || again.Checksum != first.Checksum || !again.LastModified.Equal(first.LastModified) {
			t.Errorf("push %d: replayed, it answers version %d, was %d", i, again.Version, first.Version)
		}
		if n := len(b.trail(t)); n != i+1 {
			t.Errorf("push %d: %d audit records after its replay", i, n)
		}
	}
}

// S8: what comes back is what was sent, byte for byte.
func TestByteExact(t *testing.T) {
	contents := texts{
		"bom.md":             "\ufeff---\r\nname: x\r\n---\r\n",
		"crlf.md":            "a\r\nb\rc\n",
		"empty.md":           "",
		"nfc.md":             "caf\u00e9",
		"nfd.md":             "cafe\u0301",
		"caf\u00e9/x.md":     "a key of one form",
		"the\u0301/x.md":     "and one of the other",
		"zeros.md":           "a\x00b\u200b\u2028\ufffd",
		"no-final-line.md":   "- a\n- b",
		"long.md":            strings.Repeat("it packs well\n", 10_000),
		"space at end .md":   " \n\t",
		"<angle> \"quo\".md": `{"json": "\u0041"}`,
	}
	b := newBox(t)
	b.push(t, api.Push{Entries: contents}, api.Tags{})
	view := b.view(t, 0)
	if got := b.texts(t, view.Live); !maps.Equal(got, contents) {
		t.Errorf("got %q", got)
	}
	for _, row := range view.Live {
		if row.Checksum != api.ChecksumOfString(contents[row.Key]) {
			t.Errorf("%q has checksum %s", row.Key, row.Checksum)
		}
	}
}

// Rows of one content share one body; each is still given.
func TestTwoKeysWithOneContent(t *testing.T) {
	b := newBox(t)
	want := texts{"a": "same", "b": "same", "c": "other", "d": "same"}
	b.push(t, api.Push{Entries: want}, api.Tags{})
	if got := b.texts(t, b.view(t, 0).Live); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A push that asks for nothing makes no memory, and tells a state that the next
// push may name.
func TestPushOfNothing(t *testing.T) {
	b := newBox(t)
	head := b.push(t, api.Push{Deletions: []api.Key{"never/there.md"}}, named(api.ChecksumOfString("x")))
	if head.Version != 0 {
		t.Errorf("version %d", head.Version)
	}
	if _, err := b.Head(context.Background(), b.caller, repo); api.CodeOf(err) != api.NotFound {
		t.Errorf("there is a memory now: %v", err)
	}
	head = b.push(t, api.Push{Entries: texts{"a": "1"}}, named(head.Checksum))
	emptied := b.push(t, api.Push{Deletions: []api.Key{"a"}}, named(head.Checksum))
	if emptied.Version != 2 || emptied.Entries != 0 || emptied.Bytes != 0 || emptied.Checksum != new(set).checksum() {
		t.Errorf("an emptied repo has head %+v", emptied)
	}
}

// Nothing of one organization is seen or changed by another, S11.
func TestOrganizationsAreApart(t *testing.T) {
	b := newBox(t)
	b.push(t, api.Push{Entries: texts{"a": "ours"}}, api.Tags{})
	other, err := b.store.CreateOrganization(context.Background(), store.Organization{UID: "org_2", Name: "other", Created: noon})
	if err != nil {
		t.Fatal(err)
	}
	stranger := b.caller
	stranger.Org, stranger.OrgUID = other.ID, other.UID
	if _, err := b.View(context.Background(), stranger, repo, 0); api.CodeOf(err) != api.NotFound {
		t.Errorf("the other organization's repo of the same name: %v", err)
	}
	rows := b.view(t, 0).Live
	err = b.Bodies(context.Background(), stranger, rows, func(store.Row, []byte) error { return nil })
	if err == nil {
		t.Error("the other organization was given our content by its checksum")
	}
	if _, err := b.Push(context.Background(), stranger, repo, api.Push{Entries: texts{"a": "theirs"}}, api.Tags{}); err != nil {
		t.Errorf("the other organization's first push: %v", err)
	}
	if got := b.texts(t, b.view(t, 0).Live)["a"]; got != "ours" {
		t.Errorf("our entry holds %q", got)
	}
}

// failing is a store that cannot serve.
type failing struct {
	Store
	err error
}

func (f failing) Head(context.Context, store.RepoRef) (store.Head, error) {
	return store.Head{}, f.err
}

func (f failing) Commit(context.Context, store.RepoRef, []api.Key, store.Decide) (store.Head, error) {
	return store.Head{}, f.err
}

func (f failing) Policy(context.Context, store.OrgID) (store.Policy, error) {
	return store.Policy{}, nil
}

// A temporary fault is a 503 with Retry-After, damage a 500 and an alarm.
func TestWhatAFailingStoreIsCalled(t *testing.T) {
	cases := []struct {
		err    error
		status int
		code   string
		wait   time.Duration
		alarm  bool
	}{
		{fmt.Errorf("begin: %w", store.ErrBusy), 503, api.ErrorCodeBusy, time.Second, false},
		{fmt.Errorf("lock: %w", context.DeadlineExceeded), 503, api.ErrorCodeBusy, time.Second, false},
		{fmt.Errorf("set: %w", store.ErrCorrupt), 500, api.ErrorCodeCorrupt, 0, true},
	}
	for _, c := range cases {
		b := newBox(t)
		b.Ledger.store = failing{err: c.err}
		_, headErr := b.Head(context.Background(), b.caller, repo)
		_, pushErr := b.Push(context.Background(), b.caller, repo, api.Push{Entries: texts{"a": "1"}}, anyState)
		for _, err := range []error{headErr, pushErr} {
			e, ok := api.AsError(err)
			if !ok || e.HTTPStatus() != c.status || e.Details.ErrorCode != c.code || e.RetryAfter != c.wait {
				t.Errorf("%v became %v", c.err, err)
			}
		}
		if alarmed := strings.Contains(b.log.String(), "alarm="); alarmed != c.alarm {
			t.Errorf("%v: the log says %q", c.err, b.log.String())
		}
	}
}
