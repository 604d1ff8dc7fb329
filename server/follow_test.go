package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

// followed is a ledger whose commits a follower hears of.
type followed struct {
	*testing.T
	db     *memory.Store
	rules  *ledger.Ledger
	caller ledger.Caller
	log    bytes.Buffer
	*follower
}

func newFollowed(t *testing.T) *followed {
	f := &followed{T: t, db: memory.New()}
	org, err := f.db.CreateOrganization(t.Context(), store.Organization{UID: "org_1", Name: "acme", Created: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	token, err := f.db.CreateToken(t.Context(), store.Token{
		UID: "tok_1", Org: org.ID, UserName: "dana", Role: api.Member, Hash: sha256.Sum256([]byte("1")), Prefix: "tm_1", Created: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.caller = ledger.Caller{Org: org.ID, OrgUID: org.UID, User: token.User, UserName: "dana", Token: token.ID, TokenUID: token.UID, Role: api.Member}
	log := slog.New(slog.NewTextHandler(&f.log, nil))
	f.rules = ledger.New(log, f.db, time.Now, api.DefaultLimits, nil, func(e events.Event) { f.changed(e.Organization) })
	f.follower = newFollower(log, f.db, f.rules)
	return f
}

// write pushes one version of so many new entries.
func (f *followed) write(repo api.RepoSlug, name string, n int) {
	f.Helper()
	push := api.Push{Entries: map[api.Key]string{}, BaseChecksums: map[api.Key]*api.Checksum{}}
	for i := range n {
		key := api.Key(fmt.Sprintf("%s%d.md", name, i))
		push.Entries[key], push.BaseChecksums[key] = "a note", nil
	}
	if _, err := f.rules.Push(f.Context(), f.caller, repo, push, api.Tags{}); err != nil {
		f.Fatal(err)
	}
}

// lacking are the repos of which the index lacks something.
func (f *followed) lacking() (all []string) {
	f.Helper()
	lags, err := f.db.SearchLags(context.WithoutCancel(f.Context()), f.caller.Org)
	if err != nil {
		f.Fatal(err)
	}
	for _, lag := range lags {
		all = append(all, string(lag.Slug))
	}
	return all
}

// bubble runs a test with a clock of its own. The packer of contents is made before: it
// outlives the bubble.
func bubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	if _, err := store.Pack(api.ChecksumOfString("text"), []byte("text")).Unpack(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, test)
}

// The index follows the start and every commit once it is quiet, and at the latest after
// the ceiling where it never is.
func TestTheIndexFollows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFollowed(t)
		f.write("acme/before", "old", 3*followStep)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.run(ctx); close(ended) }()
		time.Sleep(2 * followQuiet)
		if got := f.lacking(); got != nil {
			t.Errorf("after the start the index lacks some of %v", got)
		}
		f.write("acme/web", "a", 1)
		time.Sleep(followQuiet / 2)
		if got := f.lacking(); len(got) != 1 {
			t.Errorf("the index follows while it is not quiet: it lacks %v", got)
		}
		time.Sleep(followQuiet)
		if got := f.lacking(); got != nil {
			t.Errorf("after a commit the index lacks some of %v", got)
		}
		followed := false
		for i := range int(2 * followCeiling / followQuiet * 2) {
			f.write("acme/busy", fmt.Sprintf("n%d-", i), 1)
			time.Sleep(followQuiet / 2)
			synctest.Wait() // what the follower does at this instant is done
			followed = followed || f.lacking() == nil
		}
		if !followed {
			t.Error("where something is always written the index does not follow")
		}
		end()
		<-ended
	})
}

// What could not be added is added later, and said once.
func TestTheIndexFollowsAfterAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFollowed(t)
		index := f.index
		var fails atomic.Bool
		fails.Store(true)
		f.index = func(ctx context.Context, caller ledger.Caller, most int) (bool, error) {
			if fails.Load() {
				return false, errors.New("no connection")
			}
			return index(ctx, caller, most)
		}
		f.write("acme/web", "a", 1)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.run(ctx); close(ended) }()
		time.Sleep(followRetry / 2)
		fails.Store(false)
		if got := f.lacking(); len(got) != 1 {
			t.Errorf("it lacks %v", got)
		}
		time.Sleep(followRetry)
		if got := f.lacking(); got != nil {
			t.Errorf("after the pause it lacks %v", got)
		}
		end()
		<-ended
		if n := strings.Count(f.log.String(), "added to the index for search later"); n != 1 {
			t.Errorf("it is said %d times:\n%s", n, f.log.String())
		}
	})
}
