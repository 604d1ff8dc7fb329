package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// waiting makes a database whose commits wait for standbys where the server has any,
// which those of other tests do not.
func waiting(t *testing.T) string {
	t.Helper()
	return pgtest.Start(t).Database(t) + "&options=-csynchronous_commit%3Don"
}

// TestWhatStandsIsReplicated: where commits wait for a standby, who is told that what
// they ask stands already waits too. What is visible on a primary that was cut off may
// be on no other machine.
func TestWhatStandsIsReplicated(t *testing.T) {
	dsn := waiting(t)
	db := open(t, dsn)
	defer func() { _ = db.Close() }()
	ref := organization(t, db)
	control := session(t, dsn)
	exec(t, control, "INSERT INTO repos (org_id, slug, version, entries, bytes, audit_head) VALUES (1, 'acme/widgets', 0, 0, 0, decode(repeat('00', 32), 'hex'))")

	standby := func(name string) {
		exec(t, control, "ALTER SYSTEM SET synchronous_standby_names = '"+name+"'")
		exec(t, control, "SELECT pg_reload_conf()")
	}
	defer standby("")
	exec(t, control, "SET synchronous_commit = local")
	standby("nobody")
	told := make(chan error, 1)
	ask := func() {
		_, err := db.Commit(t.Context(), ref, []api.Key{"a.md"}, func(store.State) (*store.Change, error) { return nil, nil })
		told <- err
	}
	go ask()
	const inLine = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'`
	for deadline, n := time.Now().Add(time.Minute), 0; n == 0; <-time.After(5 * time.Millisecond) {
		if err := control.QueryRow(t.Context(), inLine).Scan(&n); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-told: // Postgres has not noticed yet that there is a standby to wait for
			if err != nil {
				t.Fatal(err)
			}
			go ask()
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("whoever asks is told that it stands, and no standby has it")
		}
	}
	standby("")
	if err := <-told; err != nil {
		t.Errorf("once there is no standby to wait for: %v", err)
	}
}

// TestCommitIsNotBrokenOff: where no standby confirms, whoever writes is told in time that
// nobody knows whether it stands, and nobody is shown it before a standby has it.
func TestCommitIsNotBrokenOff(t *testing.T) {
	dsn := waiting(t)
	db := open(t, dsn)
	defer func() { _ = db.Close() }()
	db.commitWait = 300 * time.Millisecond
	ref := organization(t, db)
	control := session(t, dsn)
	exec(t, control, "SET synchronous_commit = local")
	wait, free := "ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "ALTER SYSTEM SET synchronous_standby_names = ''"
	exec(t, control, wait)
	defer exec(t, control, "SELECT pg_reload_conf()")
	defer exec(t, control, free)
	exec(t, control, "SELECT pg_reload_conf()")

	version, unsure := api.Version(0), false
	for deadline := time.Now().Add(time.Minute); !unsure; {
		_, err := db.Commit(t.Context(), ref, nil, func(state store.State) (*store.Change, error) {
			version = state.Head.Version + 1
			record := audit.Record{Seq: int64(version), At: time.Unix(1, 0)}.Chain(state.Head.AuditHead)
			head := store.Head{Version: version, Checksum: api.ChecksumOfString("a"), LastModified: time.Unix(1, 0), AuditHead: record.Hash}
			return &store.Change{Head: head, Audit: record}, nil
		})
		unsure = errors.Is(err, store.ErrUnsure)
		if err != nil && !unsure || time.Now().After(deadline) {
			t.Fatalf("Commit without a standby: %v, want ErrUnsure", err)
		}
	}
	head, err := db.Head(t.Context(), ref)
	if err != nil || head.Version >= version {
		t.Errorf("shown is version %d, %v; %d is on no standby", head.Version, err, version)
	}
	exec(t, control, free)
	exec(t, control, "SELECT pg_reload_conf()")
	for deadline := time.Now().Add(time.Minute); head.Version < version; <-time.After(5 * time.Millisecond) {
		if head, err = db.Head(t.Context(), ref); err != nil || time.Now().After(deadline) {
			t.Fatalf("the version does not come: %v", err)
		}
	}
	other := open(t, dsn)
	defer func() { _ = other.Close() }()
	db.wantIdle(t, other)
}
