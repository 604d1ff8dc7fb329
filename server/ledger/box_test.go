package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
	"github.com/teammem/teammem/server/store/sqlite"
)

const repo = api.RepoSlug("acme/widgets")

// testing.T, testing.B and rapid.T alike.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// box is a ledger with a store of its own, a clock that stands still, and one
// caller.
type box struct {
	*Ledger
	store  store.Store
	caller Caller
	clock  time.Time
	log    bytes.Buffer
}

func newBox(t reporter) *box { return boxOn(t, memory.New(), 1) }

// boxOn makes a box on a store that has others: each is an organization of its
// own, by number.
func boxOn(t reporter, s store.Store, n int) *box {
	t.Helper()
	uid := fmt.Sprint(n)
	org, err := s.CreateOrganization(context.Background(), store.Organization{UID: "org_" + uid, Name: "acme " + uid, Created: noon})
	if err != nil {
		t.Fatalf("organization: %v", err)
	}
	token, err := s.CreateToken(context.Background(), store.Token{
		UID: "tok_" + uid, Org: org.ID, UserName: "dana", Role: api.Member, Hash: sha256.Sum256([]byte(uid)), Prefix: "tm_1", Created: noon,
	})
	if err != nil {
		t.Fatalf("token: %v", err)
	}
	b := &box{store: s, clock: noon}
	b.caller = Caller{Org: org.ID, OrgUID: org.UID, User: token.User, UserName: "dana", Token: token.ID, TokenUID: token.UID, Role: api.Member, Client: "laptop"}
	b.Ledger = New(slog.New(slog.NewTextHandler(&b.log, nil)), s, func() time.Time { return b.clock }, api.DefaultLimits, nil, nil)
	return b
}

// openStores are the stores that the rules are tried on, each empty.
var openStores = map[string]func(t testing.TB) store.Store{
	"memory": func(testing.TB) store.Store { return memory.New() },
	"sqlite": func(t testing.TB) store.Store {
		t.Helper()
		log, path := slog.New(slog.DiscardHandler), filepath.Join(t.TempDir(), "teammem.db")
		if err := sqlite.Migrate(context.Background(), log, path); err != nil {
			t.Fatal(err)
		}
		db, err := sqlite.Open(context.Background(), log, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	},
}

// push pushes and expects no error.
func (b *box) push(t reporter, push api.Push, ifMatch api.Tags) store.Head {
	t.Helper()
	head, err := b.Push(context.Background(), b.caller, repo, push, ifMatch)
	if err != nil {
		t.Fatalf("push: %v", err)
	}
	return head.Head
}

// view reads and expects no error.
func (b *box) view(t reporter, since api.Version) View {
	t.Helper()
	view, err := b.View(context.Background(), b.caller, repo, since)
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	return view
}

// texts reads the contents of live rows.
func (b *box) texts(t reporter, rows []store.Row) texts {
	t.Helper()
	got := texts{}
	err := b.Bodies(context.Background(), b.caller, rows, func(row store.Row, content []byte) error {
		got[row.Key] = string(content)
		return nil
	})
	if err != nil {
		t.Fatalf("bodies: %v", err)
	}
	return got
}

// trail reads the repo's audit trail and checks its chain.
func (b *box) trail(t reporter) []audit.Record {
	t.Helper()
	records, err := b.store.Audit(context.Background(), store.RepoRef{Org: b.caller.Org, Slug: repo}, 0, 1_000_000)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	var trail audit.Trail
	for _, r := range records {
		if err := trail.Next(r); err != nil {
			t.Errorf("audit: %v", err)
		}
	}
	return records
}

func keysOfRows(rows []store.Row) []api.Key {
	keys := []api.Key{}
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	return keys
}

var anyState = api.Tags{Sent: true, Any: true}

func named(sum api.Checksum) api.Tags { return api.Tags{Sent: true, List: []api.Checksum{sum}} }
