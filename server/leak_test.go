package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// A database that was restored from a backup of before a redaction has it done again by
// the next start, on both stores; and so has one in which it was broken off.
func TestRedactionsOutliveARestore(t *testing.T) {
	for name, database := range map[string]func(t *testing.T) (address string, backup func() string){
		"sqlite": func(t *testing.T) (string, func() string) {
			dir := t.TempDir()
			path, copied := filepath.Join(dir, "teammem.db"), filepath.Join(dir, "backup.db")
			return "sqlite://" + path, func() string {
				content, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(copied, content, 0o600); err != nil {
					t.Fatal(err)
				}
				return "sqlite://" + copied
			}
		},
		"postgres": func(t *testing.T) (string, func() string) {
			dsn := pgtest.DSN(t)
			return dsn, func() string { return pgtest.Copy(t, dsn) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			address, backup := database(t)
			restored(t, address, backup)
		})
	}
}

const withdrawnText = "the text that is withdrawn\n"

func restored(t *testing.T, address string, backup func() string) {
	data := t.TempDir()
	cfg := server.DefaultConfig(data)
	cfg.Listen, cfg.Database = "127.0.0.1:0", address
	with := func(address string, fn func(ctx context.Context, s store.Store, org store.Organization)) {
		t.Helper()
		cfg.Database = address
		s, err := server.New(t.Context(), quiet(), cfg, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		org, err := s.Store().Organization(t.Context(), server.FirstOrganization)
		if err != nil {
			t.Fatal(err)
		}
		fn(t.Context(), s.Store(), org)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sum := api.ChecksumOfString(withdrawnText)
	with(address, func(ctx context.Context, s store.Store, org store.Organization) {
		rules := ledger.New(quiet(), s, time.Now, api.DefaultLimits, nil, nil)
		push := api.Push{Entries: map[api.Key]string{"a.md": withdrawnText, "b.md": "another\n"}}
		if _, err := rules.Push(ctx, leak.Operator(org), "acme/widgets", push, api.Tags{}); err != nil {
			t.Fatal(err)
		}
	})
	older := backup()
	with(address, func(ctx context.Context, s store.Store, org store.Organization) {
		desk, err := server.LeakDesk(quiet(), s, cfg, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		ask := api.Redact{Repo: "acme/widgets", Key: "a.md", Reason: "withdrawn"}
		done, err := desk.Redact(ctx, leak.Operator(org), ask, true, nil)
		if err != nil || len(done.Versions) != 1 || !done.Rewritten {
			t.Fatalf("Redact: %+v, %v", done, err)
		}
	})
	list, err := os.ReadFile(filepath.Join(data, "redactions.jsonl"))
	if err != nil || !strings.Contains(string(list), string(sum)) || strings.Contains(string(list), "the text") {
		t.Fatalf("the list says %s, %v", list, err)
	}
	gone := func(ctx context.Context, s store.Store, org store.Organization) {
		t.Helper()
		ref := store.RepoRef{Org: org.ID, Slug: "acme/widgets"}
		view, err := s.View(ctx, ref, 0)
		if err != nil || view.Head.Version != 2 || view.Head.Entries != 1 || len(view.Redacted) != 1 || view.Redacted[0] != sum {
			t.Errorf("the repo: %+v, %v", view, err)
		}
		err = s.Bodies(ctx, org.ID, []api.Checksum{sum}, func(api.Checksum, []byte) error { return nil })
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("the text is there: %v", err)
		}
		all, err := s.Redactions(ctx, org.ID, nil)
		if err != nil || len(all) != 1 || !all[0].Done || all[0].User != "(operator)" || all[0].Reason != "withdrawn" {
			t.Errorf("what was withdrawn: %+v, %v", all, err)
		}
	}
	with(address, gone)
	with(older, gone)
	with(older, gone) // and once is enough

	// A redaction that was broken off after the list was written.
	late := api.ChecksumOfString("another\n")
	with(older, func(ctx context.Context, s store.Store, org store.Organization) {
		r := store.Redaction{Checksum: late, At: time.Now(), User: "ada", Reason: "broken off"}
		if err := s.Withdraw(ctx, org.ID, []store.Redaction{r}); err != nil {
			t.Fatal(err)
		}
	})
	with(older, func(ctx context.Context, s store.Store, org store.Organization) {
		view, err := s.View(ctx, store.RepoRef{Org: org.ID, Slug: "acme/widgets"}, 0)
		if err != nil || view.Head.Version != 3 || view.Head.Entries != 0 || len(view.Redacted) != 2 {
			t.Errorf("after a redaction that was broken off: %+v, %v", view, err)
		}
	})
	list, _ = os.ReadFile(filepath.Join(data, "redactions.jsonl"))
	if !strings.Contains(string(list), string(late)) {
		t.Errorf("the list lacks what the database says was withdrawn: %s", list)
	}
}
