package server_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/backup"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store"
)

// Every table is copied with an organization, or stays for a reason, so that a new one is
// not forgotten.
func TestEveryTableIsAnOrganizationsOrStays(t *testing.T) {
	box := servertest.Start(t)
	err := box.Store().(store.Copier).Export(t.Context(), func(table store.Table) error {
		_, stays := store.OrgLeft[table.Name]
		if copied := store.OrgTableOf(table.Name) != nil; copied == stays {
			t.Errorf("table %s is copied with an organization: %v, and stays: %v", table.Name, copied, stays)
		}
		return nil
	}, func([]any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// TestOrgCopy: one organization comes from either store into either, beside another one
// and while that server runs, with all that people see of it.
func TestOrgCopy(t *testing.T) {
	for from, options := range onStores {
		box, database := lived(t, options(t)...)
		withdraw(t, box, "acme/widgets", "note1.md")
		org, err := box.Store().Organization(t.Context(), "local")
		if err != nil {
			t.Fatal(err)
		}
		// Older records have gone from the chains, and checkpoints and anchors name them by number.
		rules := organization.New(box.Store(), func() time.Time { return time.Now().Add(48 * time.Hour) }, nil)
		days := 1
		for _, do := range []error{
			rules.Checkpoint(t.Context(), org.ID),
			func() error {
				_, err := rules.Set(t.Context(), organization.Operator(org.ID), organization.Settings{AuditDays: &days})
				return err
			}(),
		} {
			if do != nil {
				t.Fatal(do)
			}
		}
		org.AuditDays = days
		if err := rules.Prune(t.Context(), org); err != nil {
			t.Fatal(err)
		}
		if _, err := box.Store().Administer(t.Context(), org.ID, store.About{}, bind); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "local.teammem")
		kept, err := server.ExportOrg(t.Context(), quiet(), database, "local", file, time.Now(), nil)
		if err != nil || kept.Rows["repos"] != 2 || kept.Rows["proposals"] != 1 || kept.Rows["audit_anchors"] == 0 || kept.Rows["audit_checkpoints"] == 0 {
			t.Fatalf("%+v, %v", kept, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v", info, err)
		}
		for into, empty := range emptyDatabases {
			if into == from {
				continue // each is read and written by the other pair
			}
			t.Run(from+" into "+into, func(t *testing.T) {
				target := servertest.Start(t, func(_ testing.TB, s *servertest.Server) { s.Config.Database = empty(t) })
				// Others stand there already, with numbers of their own.
				busy := stranger{t, target}
				busy.put(target.TokenOf("other", "ada", api.Member), "acme/theirs", map[string]any{"x.md": "x"})
				is, err := server.ImportOrg(t.Context(), quiet(), target.Config, file, "moved", time.Now(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if is.UID != org.UID || is.Records == 0 {
					t.Errorf("it is %+v, and was %s", is, org.UID)
				}
				sameMemory(t, box, "local", target, "moved")
				token := target.TokenOf("moved", "member", api.Member)
				answer := stranger{t, target}.put(token, "acme/new", map[string]any{"a.md": "after"})
				if answer.status != http.StatusOK {
					t.Errorf("a push afterwards: %d %s", answer.status, answer.body)
				}
				// What was withdrawn does not come back.
				again := stranger{t, target}.put(token, "acme/new", map[string]any{"b.md": strings.Repeat("a note of ours\n", 200)})
				if again.status != http.StatusUnprocessableEntity {
					t.Errorf("what was withdrawn is taken: %d %s", again.status, again.body)
				}
				here := organization.New(target.Store(), time.Now, nil)
				if err := here.Checkpoint(t.Context(), is.ID); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"moved", "other"} {
					org, err := target.Store().Organization(t.Context(), name)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := here.Verify(t.Context(), org.ID); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				if _, err := server.ImportOrg(t.Context(), quiet(), target.Config, file, "", time.Now(), nil); err == nil || !strings.Contains(err.Error(), "already") {
					t.Errorf("imported twice: %v", err)
				}
				second, err := server.ImportOrg(t.Context(), quiet(), target.Config, file, "twin", time.Now(), nil)
				if err != nil || second.UID == org.UID {
					t.Errorf("a copy beside it: %+v, %v", second, err)
				}
			})
		}
	}
}

// bind leaves one more record at the end.
func bind(store.OrgState) (*store.OrgChange, error) {
	change := &store.OrgChange{}
	change.Audit.Action, change.Audit.Subject, change.Audit.At = "refused", []byte(`{}`), time.Now()
	return change, nil
}

// withdraw redacts an entry as it stands.
func withdraw(t *testing.T, box *servertest.Server, repo, key string) {
	t.Helper()
	answer := stranger{t, box}.do(http.MethodPost, api.PathRedactions, box.Token(api.Admin), fmt.Sprintf(`{"repo":%q,"key":%q,"reason":"a test"}`, repo, key))
	if answer.status != http.StatusOK {
		t.Fatalf("redact: %d %s", answer.status, answer.body)
	}
}

// sameMemory compares what two organizations hold, by what their stores say of it.
func sameMemory(t *testing.T, a *servertest.Server, nameA string, b *servertest.Server, nameB string) {
	t.Helper()
	told := func(box *servertest.Server, name string) map[string]string {
		ctx, all := t.Context(), map[string]string{}
		org, err := box.Store().Organization(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		repos, err := box.Store().Repos(ctx, org.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, repo := range repos {
			ref := store.RepoRef{Org: org.ID, Slug: repo.Slug}
			view, err := box.Store().View(ctx, ref, 0)
			if err != nil {
				t.Fatal(err)
			}
			past, err := box.Store().History(ctx, ref, "", 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			authors, err := box.Store().Authors(ctx, ref)
			if err != nil {
				t.Fatal(err)
			}
			records, err := box.Store().Audit(ctx, ref, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			view.Head.ID = 0
			all[string(repo.Slug)] = fmt.Sprintf("%+v\n%+v\n%+v\n%+v", view, past, authors, records)
		}
		members, err := box.Store().Members(ctx, org.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			m.Org, m.User = 0, 0
			all["member "+m.Name] = fmt.Sprintf("%+v", m)
		}
		return all
	}
	was, is := told(a, nameA), told(b, nameB)
	if !maps.Equal(was, is) {
		for _, key := range slices.Sorted(maps.Keys(was)) {
			if was[key] != is[key] {
				t.Errorf("%s is\n%s\nand was\n%s", key, is[key], was[key])
			}
		}
	}
}

// A file of an older server is brought up to date on the way.
func TestOrgOfAnOlderServer(t *testing.T) {
	box, database := lived(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "local.teammem")
	if _, err := server.ExportOrg(t.Context(), quiet(), database, "local", file, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	// Before retention there was neither the table nor the settings.
	later := []string{"history_days", "history_keep", "trash_days"}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := backup.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	head := r.Head()
	head.Schema = 12
	var older bytes.Buffer
	_, err = backup.Write(t.Context(), &older, forger{r, func(table *store.Table, values []any) []any {
		if table.Name != "organizations" {
			return values
		}
		var columns []string
		var kept []any
		for i, column := range table.Columns {
			if !slices.Contains(later, column) {
				columns, kept = append(columns, column), append(kept, values[i])
			}
		}
		table.Columns = columns
		return kept
	}}, head, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, older.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	target := servertest.Start(t)
	if _, err := server.ImportOrg(t.Context(), quiet(), target.Config, file, "moved", time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	sameMemory(t, box, "local", target, "moved")
}

// A file that somebody made cannot reach into another organization's rows.
func TestOrgFilesOfStrangers(t *testing.T) {
	_, database := lived(t)
	file := filepath.Join(t.TempDir(), "local.teammem")
	if _, err := server.ExportOrg(t.Context(), quiet(), database, "local", file, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(table *store.Table, values []any) []any{
		"a token": func(table *store.Table, values []any) []any {
			if table.Name == "memberships" {
				table.Name = "tokens"
			}
			return values
		},
		"another's repo": func(table *store.Table, values []any) []any {
			if table.Name == "entries" {
				values[0] = values[0].(int64) - 1_000_000
			}
			return values
		},
		"another's organization": func(table *store.Table, values []any) []any {
			if table.Name == "bodies" {
				values[0] = int64(-1)
			}
			return values
		},
		"a column that is a statement": func(table *store.Table, values []any) []any {
			if table.Name == "policies" || table.Name == "history" {
				table.Columns = slices.Clone(table.Columns)
				table.Columns[len(table.Columns)-1] = `x") VALUES (1); --`
			}
			return values
		},
	} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := backup.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		var forged bytes.Buffer
		_, err = backup.Write(t.Context(), &forged, forger{r, change}, r.Head(), nil)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := backup.VerifyOrg(bytes.NewReader(forged.Bytes())); err == nil {
			t.Errorf("%s came through", name)
		}
	}
}

// forger writes a file anew with some rows changed.
type forger struct {
	from   *backup.Reader
	change func(*store.Table, []any) []any
}

func (f forger) Export(_ context.Context, begin func(store.Table) error, row func([]any) error) error {
	var at string
	for {
		table, values, err := f.from.Next()
		if err != nil || table.Name == "" {
			return err
		}
		was := table.Name
		values = f.change(&table, values)
		if was != at {
			at = was
			if err := begin(table); err != nil {
				return err
			}
		}
		if err := row(values); err != nil {
			return err
		}
	}
}
