package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// organization makes one, and gives a repo in it.
func organization(t testing.TB, db *DB) store.RepoRef {
	t.Helper()
	org, err := db.CreateOrganization(t.Context(), store.Organization{UID: "org_1", Name: "acme", Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return store.RepoRef{Org: org.ID, Slug: "acme/widgets"}
}

func nothing(store.State) (*store.Change, error) { return nil, nil }

// wantIdle waits until every connection is back in the pool and has no transaction.
func (db *DB) wantIdle(t *testing.T, control *DB) {
	t.Helper()
	const open = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`
	for deadline := time.Now().Add(10 * time.Second); ; {
		stat := db.pool.Stat()
		var transactions int
		if err := control.pool.QueryRow(t.Context(), open).Scan(&transactions); err != nil {
			t.Fatal(err)
		}
		if stat.AcquiredConns() == 0 && transactions == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are in use, %d transactions are open", stat.AcquiredConns(), transactions)
		}
	}
}

// TestPoolOfTwo: with two connections, and two and then ten commits inside their
// transactions at once, none waits for a connection it holds itself (BR-48).
func TestPoolOfTwo(t *testing.T) {
	dsn := pgtest.DSN(t)
	control := open(t, dsn)
	defer func() { _ = control.Close() }()
	db := open(t, dsn+"&pool_max_conns=2")
	defer func() { _ = db.Close() }()
	ref := organization(t, db)
	for _, writers := range []int{2, 10} {
		var group errgroup.Group
		inside := make(chan struct{}, writers)
		both := make(chan struct{})
		for i := range writers {
			own := ref
			own.Slug = api.RepoSlug(fmt.Sprintf("acme/%d-%d", writers, i))
			group.Go(func() error {
				_, err := db.Commit(t.Context(), own, []api.Key{"a.md"}, func(store.State) (*store.Change, error) {
					inside <- struct{}{}
					<-both
					return nil, nil
				})
				return err
			})
		}
		<-inside
		<-inside // two are in their transactions, and there is no third connection
		close(both)
		if err := group.Wait(); err != nil {
			t.Fatalf("%d writers: %v", writers, err)
		}
		db.wantIdle(t, control)
	}
}

// TestNoFreeConnection: the wait for a connection ends, and is not an error of
// the request.
func TestNoFreeConnection(t *testing.T) {
	db := open(t, pgtest.DSN(t)+"&pool_max_conns=1")
	defer func() { _ = db.Close() }()
	db.acquireWait = 100 * time.Millisecond
	ref := organization(t, db)
	_, err := db.Commit(t.Context(), ref, nil, func(store.State) (*store.Change, error) {
		_, err := db.Head(t.Context(), ref)
		return nil, err
	})
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("Head without a free connection: %v, want ErrBusy", err)
	}
	if _, err := db.Head(t.Context(), ref); err != nil {
		t.Errorf("Head afterwards: %v", err)
	}
}

// TestLockWaitEnds: so does the wait for the repo's row.
func TestLockWaitEnds(t *testing.T) {
	dsn := pgtest.DSN(t)
	db := open(t, dsn)
	defer func() { _ = db.Close() }()
	db.lockWait = 100 * time.Millisecond
	ref := organization(t, db)
	other := open(t, dsn)
	defer func() { _ = other.Close() }()
	_, err := other.Commit(t.Context(), ref, nil, func(store.State) (*store.Change, error) {
		_, err := db.Commit(t.Context(), ref, nil, nothing)
		return nil, err
	})
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("Commit behind another server's that does not end: %v, want ErrBusy", err)
	}
	db.acquireWait = 100 * time.Millisecond
	_, err = db.Commit(t.Context(), ref, nil, func(store.State) (*store.Change, error) {
		_, err := db.Commit(t.Context(), ref, nil, nothing)
		return nil, err
	})
	db.acquireWait = defaultAcquireWait
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("Commit behind one of this server that does not end: %v, want ErrBusy", err)
	}
	if _, err := db.Commit(t.Context(), ref, nil, nothing); err != nil {
		t.Errorf("Commit afterwards: %v", err)
	}
}

// TestCallerLeaves: a caller who leaves at any point of a commit leaves no
// transaction behind (BR-48).
func TestCallerLeaves(t *testing.T) {
	dsn := pgtest.DSN(t)
	control := open(t, dsn)
	defer func() { _ = control.Close() }()
	db := open(t, dsn+"&pool_max_conns=2")
	defer func() { _ = db.Close() }()
	ref := organization(t, db)
	t.Run("while deciding", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := db.Commit(ctx, ref, nil, func(store.State) (*store.Change, error) {
			cancel()
			return nil, errors.New("too late")
		})
		if err == nil || err.Error() != "too late" {
			t.Errorf("Commit: %v, want decide's error", err)
		}
		db.wantIdle(t, control)
	})
	t.Run("while waiting for the lock", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan error, 1)
		_, err := control.Commit(t.Context(), ref, nil, func(store.State) (*store.Change, error) {
			go func() {
				_, err := db.Commit(ctx, ref, nil, nothing)
				waiting <- err
			}()
			awaitLock(t, control)
			cancel()
			return nil, <-waiting
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the commit of a caller who left: %v, want context.Canceled", err)
		}
		db.wantIdle(t, control)
	})
	t.Run("panicking", func(t *testing.T) {
		func() {
			defer func() { _ = recover() }()
			_, _ = db.Commit(t.Context(), ref, nil, func(store.State) (*store.Change, error) { panic("in decide") })
		}()
		db.wantIdle(t, control)
	})
	if _, err := db.Commit(t.Context(), ref, nil, nothing); err != nil {
		t.Errorf("Commit afterwards: %v", err)
	}
}

// awaitLock waits until somebody waits for a lock.
func awaitLock(t *testing.T, control *DB) {
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	for deadline := time.Now().Add(10 * time.Second); ; {
		var n int
		if err := control.pool.QueryRow(t.Context(), waiting).Scan(&n); err != nil || n > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Error("nobody waits for the lock")
			return
		}
	}
}

// TestBrokenOffIsRepeated: what the database breaks off for another's sake is
// tried again, a bounded number of times.
func TestBrokenOffIsRepeated(t *testing.T) {
	dsn := pgtest.DSN(t)
	db := open(t, dsn)
	defer func() { _ = db.Close() }()
	ref := organization(t, db)
	control := session(t, dsn)
	// A deadlock on demand: the sequence counts the tries, which no rollback undoes.
	exec(t, control, "CREATE SEQUENCE tries")
	for _, test := range []struct {
		failures int
		busy     bool
	}{{attempts - 1, false}, {1000, true}} {
		exec(t, control, "ALTER SEQUENCE tries RESTART")
		exec(t, control, fmt.Sprintf(`CREATE OR REPLACE FUNCTION break_off() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('tries') <= %d THEN RAISE EXCEPTION 'broken off' USING ERRCODE = 'deadlock_detected'; END IF;
	RETURN NEW;
END $$`, test.failures))
		exec(t, control, "CREATE OR REPLACE TRIGGER break_off BEFORE INSERT ON repos FOR EACH ROW EXECUTE FUNCTION break_off()")
		_, err := db.Commit(t.Context(), ref, nil, nothing)
		if busy := errors.Is(err, store.ErrBusy); busy != test.busy || !busy && err != nil {
			t.Errorf("after %d failures: %v", test.failures, err)
		}
	}
	var tries int
	if err := control.QueryRow(t.Context(), "SELECT last_value FROM tries").Scan(&tries); err != nil || tries != attempts {
		t.Errorf("%d tries, %v; want %d", tries, err, attempts)
	}
}

// TestDatabaseGoes: a database that ends its connections is busy, and served
// from again when it is back.
func TestDatabaseGoes(t *testing.T) {
	dsn := pgtest.DSN(t)
	db := open(t, dsn)
	defer func() { _ = db.Close() }()
	ref := organization(t, db)
	control := session(t, dsn)
	_, err := db.Commit(t.Context(), ref, nil, func(store.State) (*store.Change, error) {
		exec(t, control, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		return nil, nil
	})
	if err != nil {
		t.Errorf("a commit of nothing: %v", err)
	}
	for range 3 {
		// A pooled connection may be dead; each is met once at most.
		if _, err = db.Head(t.Context(), ref); err == nil {
			return
		}
		if !errors.Is(err, store.ErrBusy) {
			t.Fatalf("Head over a connection that was ended: %v, want ErrBusy", err)
		}
	}
	t.Errorf("Head does not get a living connection: %v", err)
}
