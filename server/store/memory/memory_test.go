package memory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func organization(t *testing.T, s *Store) store.RepoRef {
	t.Helper()
	org, err := s.CreateOrganization(context.Background(), store.Organization{UID: "org_1", Name: "acme", Created: noon})
	if err != nil {
		t.Fatal(err)
	}
	return store.RepoRef{Org: org.ID, Slug: "acme/widgets"}
}

// commit writes one key and gives the version it made.
func commit(t *testing.T, s *Store, ref store.RepoRef, key api.Key, content string) api.Version {
	t.Helper()
	head, err := s.Commit(context.Background(), ref, []api.Key{key}, func(state store.State) (*store.Change, error) {
		sum := api.ChecksumOfString(content)
		head := state.Head
		head.Version++
		head.Checksum = api.ChecksumFromSum(sha256.Sum256(fmt.Append(nil, head.Checksum, key, sum)))
		head.LastModified = noon
		record := audit.Record{Seq: int64(head.Version), At: noon, Action: audit.ActionPush, Subject: []byte("{}")}.Chain(head.AuditHead)
		head.AuditHead = record.Hash
		return &store.Change{Head: head, Audit: record, Writes: []store.Write{{
			Key: key, Fold: key.Fold(), Checksum: sum, Previous: state.Rows[key].Checksum, Size: len(content), Modified: noon,
			Body: store.Pack(sum, []byte(content)),
		}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return head.Version
}

// contents reads all live entries.
func contents(t *testing.T, s *Store, ref store.RepoRef) string {
	t.Helper()
	view, err := s.View(context.Background(), ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint("v", view.Head.Version)
	for _, row := range view.Rows {
		err := s.Bodies(context.Background(), ref.Org, []api.Checksum{row.Checksum}, func(_ api.Checksum, content []byte) error {
			all += fmt.Sprintf(" %s=%s", row.Key, content)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// A snapshot is not touched by what happens later, can be put back more than
// once, and its futures do not touch each other.
func TestSnapshotAndRestore(t *testing.T) {
	s := New()
	ref := organization(t, s)
	commit(t, s, ref, "a", "1")
	snapshot := s.Snapshot()
	epoch, err := s.Epoch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, future := range []string{"one", "another"} {
		commit(t, s, ref, "a", future)
		commit(t, s, ref, "b", future)
		if got, want := contents(t, s, ref), "v3 a="+future+" b="+future; got != want {
			t.Errorf("before the crash: %s, want %s", got, want)
		}
		s.SetEpoch(api.Epoch(future))
		s.Restore(snapshot)
		if got := contents(t, s, ref); got != "v1 a=1" {
			t.Errorf("after the crash: %s", got)
		}
		if past, err := s.History(context.Background(), ref, "", 0, 10); err != nil || len(past) != 1 {
			t.Errorf("after the crash history has %d changes (%v)", len(past), err)
		}
		if again, err := s.Epoch(context.Background()); err != nil || again != epoch {
			t.Errorf("after the crash the epoch is %s (%v), was %s", again, err, epoch)
		}
	}
	if other, err := New().Epoch(context.Background()); err != nil || other == epoch {
		t.Errorf("two stores have one epoch (%v)", err)
	}
}

// Two stores made from one snapshot live apart.
func TestSnapshotMovesToAnotherStore(t *testing.T) {
	s, other := New(), New()
	ref := organization(t, s)
	commit(t, s, ref, "a", "1")
	other.Restore(s.Snapshot())
	commit(t, s, ref, "a", "here")
	commit(t, other, ref, "a", "there")
	if here, there := contents(t, s, ref), contents(t, other, ref); here != "v2 a=here" || there != "v2 a=there" {
		t.Errorf("%s and %s", here, there)
	}
}

// Nobody is answered who does not wait any more, and nothing is written for him.
func TestNobodyWaits(t *testing.T) {
	s := New()
	ref := organization(t, s)
	gone, leave := context.WithCancel(context.Background())
	leave()
	if err := s.Ping(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("ping: %v", err)
	}
	if _, err := s.View(gone, ref, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("view: %v", err)
	}
	_, err := s.Commit(gone, ref, nil, func(store.State) (*store.Change, error) {
		t.Error("decide was asked")
		return nil, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
}
