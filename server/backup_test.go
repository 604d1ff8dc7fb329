package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/backup"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// lived is a server on which a little of everything has happened, and its database.
func lived(t *testing.T, options ...servertest.Option) (*servertest.Server, string) {
	t.Helper()
	box := servertest.Start(t, options...)
	s, admin := stranger{t, box}, box.Token(api.Admin)
	must := func(r reply) {
		t.Helper()
		if r.status >= 300 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	for i := range 3 {
		must(s.put(box.Token(api.Member), "acme/widgets", map[string]any{
			fmt.Sprintf("note%d.md", i): strings.Repeat("a note of ours\n", 200*i), fmt.Sprintf("empty%d.md", i): "",
		}))
	}
	must(s.do(http.MethodPut, api.PathTeamMemory+"?repo=acme/widgets", admin, `{"deletions":["empty1.md"],"baseChecksums":{"empty1.md":"`+string(api.ChecksumOfString(""))+`"}}`))
	must(s.put(admin, "acme/widgets", map[string]any{"held.md": "hidden \u202e text"}))
	must(s.put(admin, "acme/gadgets", map[string]any{"fünf.md": "Grüße, \U0001F600\r\n"}))
	must(s.do(http.MethodPost, "/api/v1/tokens", admin, `{"user":"member","role":"viewer"}`))
	return box, box.Config.DatabaseURL()
}

// contents are all rows of a database, by table, in an order of their own.
func contents(t *testing.T, database string) map[string][]string {
	t.Helper()
	s, err := server.OpenStore(t.Context(), quiet(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := map[string][]string{}
	var table string
	err = s.(store.Copier).Export(t.Context(), func(next store.Table) error {
		table = fmt.Sprint(next.Name, next.Columns)
		all[table] = nil
		return nil
	}, func(values []any) error {
		all[table] = append(all[table], fmt.Sprintf("%q", values))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range all {
		slices.Sort(rows)
	}
	return all
}

func wantSame(t *testing.T, was, is map[string][]string) {
	t.Helper()
	for table, rows := range was {
		if got, ok := is[table]; !ok || !slices.Equal(got, rows) {
			t.Errorf("%s:\n%q\nwant\n%q", table, got, rows)
		}
	}
	if len(was) != len(is) {
		t.Errorf("%d tables, want %d", len(is), len(was))
	}
}

// emptyDatabases are where a backup may go.
var emptyDatabases = map[string]func(*testing.T) string{
	"sqlite":   func(t *testing.T) string { return "sqlite://" + filepath.Join(t.TempDir(), "new.db") },
	"postgres": func(t *testing.T) string { return pgtest.DSN(t) },
}

// TestBackup: what is restored is what was kept, row by row, from either database into
// either, while the server runs; the new database works, in an epoch of its own.
func TestBackup(t *testing.T) {
	for from, options := range onStores {
		box, database := lived(t, options(t)...)
		file := filepath.Join(t.TempDir(), "x.backup")
		kept, err := server.Backup(t.Context(), quiet(), database, file, time.Now(), nil)
		if err != nil || kept.Bodies == 0 || kept.Rows["proposals"] != 1 {
			t.Fatalf("%+v, %v", kept, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v", info, err)
		}
		before := contents(t, database)
		for into, empty := range emptyDatabases {
			t.Run(from+" into "+into, func(t *testing.T) {
				target := empty(t)
				if _, err := server.Restore(t.Context(), quiet(), target, file, nil); err != nil {
					t.Fatal(err)
				}
				wantSame(t, before, contents(t, target))
				token := box.Token(api.Viewer)
				restored := servertest.Start(t, func(_ testing.TB, s *servertest.Server) { s.Config.Database = target })
				answer := stranger{t, restored}.put(restored.Token(api.Member), "acme/new", map[string]any{"a.md": "after"})
				if answer.status != http.StatusOK {
					t.Errorf("a push after the restore: %d %s", answer.status, answer.body)
				}
				wantFound(t, restored, "fünf", 1)
				wantFound(t, restored, "note", 2)
				old, err := box.Store().Epoch(t.Context())
				if now, nowErr := restored.Store().Epoch(t.Context()); err != nil || nowErr != nil || now == old {
					t.Errorf("the epoch is %s, and was %s: %v, %v", now, old, err, nowErr)
				}
				if got := (stranger{t, restored}).do(http.MethodGet, api.PathTeamMemory+"?repo=acme/new", token, ""); got.status != http.StatusUnauthorized {
					t.Errorf("a token made after the backup is answered %d", got.status)
				}
				if _, err := server.Restore(t.Context(), quiet(), target, file, nil); err == nil || !strings.Contains(err.Error(), "holds memory already") {
					t.Errorf("restored twice: %v", err)
				}
			})
		}
	}
}

// wantFound waits until the index has followed what was restored, and then asks it.
func wantFound(t *testing.T, box *servertest.Server, question string, want int) {
	t.Helper()
	org, err := box.Store().Organization(t.Context(), server.FirstOrganization)
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(20 * time.Second); ; {
		lags, err := box.Store().SearchLags(t.Context(), org.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(lags) == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("the index lacks %+v, and nobody adds it", lags)
		}
	}
	answer := stranger{t, box}.do(http.MethodGet, api.PathSearch+"?q="+url.QueryEscape(question), box.Token(api.Viewer), "")
	var result api.SearchResult
	if err := json.Unmarshal(answer.body, &result); err != nil || result.Found != want || !result.Complete {
		t.Errorf("%s: %d %s, want %d", question, answer.status, answer.body, want)
	}
}

// TestMove: one command takes an organization from SQLite to Postgres.
func TestMove(t *testing.T) {
	box, database := lived(t)
	box.Close()
	target := pgtest.DSN(t)
	if _, err := server.Move(t.Context(), quiet(), database, target, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	wantSame(t, contents(t, database), contents(t, target))
}

// rowsIn are the rows that a backup gives; an error is that of [backup.Reader.Next].
func rowsIn(text []byte) (all []string, err error) {
	r, err := backup.Open(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		table, values, err := r.Next()
		if err != nil || table.Name == "" {
			return all, err
		}
		all = append(all, fmt.Sprintf("%s %q", table.Name, values))
	}
}

// TestADamagedBackup: a file that was cut off, or gives other rows than were written, is
// no backup, wherever it was changed. A bit that packing does not use changes none.
func TestADamagedBackup(t *testing.T) {
	_, database := lived(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "x.backup")
	if _, err := server.Backup(t.Context(), quiet(), database, file, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowsIn(whole)
	if err != nil || len(rows) == 0 {
		t.Fatal(err)
	}
	unused := 0
	damaged := func(what string, text []byte) {
		t.Helper()
		var damage *backup.DamagedError
		got, err := rowsIn(text)
		if err == nil && slices.Equal(got, rows) && len(text) == len(whole) {
			unused++
		} else if !errors.As(err, &damage) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := range len(whole) {
		if at%37 == 0 || at > len(whole)-40 {
			damaged(fmt.Sprintf("cut off after %d of %d bytes", at, len(whole)), whole[:at])
		}
		if at%11 == 0 {
			changed := slices.Clone(whole)
			changed[at] ^= 0x10
			damaged(fmt.Sprintf("changed at %d of %d bytes", at, len(whole)), changed)
		}
	}
	if unused > len(whole)/100 {
		t.Errorf("%d changes of a bit changed nothing", unused)
	}
	damaged("followed by another", slices.Concat(whole, whole))
	target := "sqlite://" + filepath.Join(dir, "new.db")
	cut := filepath.Join(dir, "cut.backup")
	if err := os.WriteFile(cut, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Restore(t.Context(), quiet(), target, cut, nil); err == nil {
		t.Error("it was restored")
	}
	if _, err := server.Restore(t.Context(), quiet(), target, file, nil); err != nil {
		t.Errorf("the whole one into the same database afterwards: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Backup(ctx, quiet(), database, filepath.Join(dir, "never.backup"), time.Now(), nil); err == nil {
		t.Error("it was kept though broken off")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".never*")); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
