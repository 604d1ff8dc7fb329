package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// rows is a copier of rows that are written out.
type rows []struct {
	table  store.Table
	values [][]any
}

// Export gives the rows.
func (r rows) Export(_ context.Context, begin func(store.Table) error, row func([]any) error) error {
	for _, t := range r {
		if err := begin(t.table); err != nil {
			return err
		}
		for _, values := range t.values {
			if err := row(values); err != nil {
				return err
			}
		}
	}
	return nil
}

func tableOf(name string, columns ...string) store.Table {
	return store.Table{Name: name, Columns: columns}
}

// small is an organization of one repo with one entry.
func small(t testing.TB) []byte {
	t.Helper()
	sum := sha256.Sum256([]byte("text"))
	var b bytes.Buffer
	_, err := Write(context.Background(), &b, rows{
		{tableOf("organizations", "id", "uid", "name", "audit_seq", "audit_head"), [][]any{{int64(3), "org_a", "acme", int64(1), make([]byte, 32)}}},
		{tableOf("users", "id", "created"), [][]any{{int64(7), int64(0)}, {int64(8), int64(0)}}},
		{tableOf("memberships", "org_id", "user_id", "name"), [][]any{{int64(3), int64(7), "dana"}, {int64(3), int64(8), "lee"}}},
		{tableOf("repos", "id", "org_id", "slug"), [][]any{{int64(5), int64(3), "acme/widgets"}}},
		{tableOf("audit_anchors", "org_id", "repo_id", "seq"), [][]any{{int64(3), int64(0), int64(1)}}},
		{tableOf("bodies", "org_id", "checksum", "size", "coding", "data"), [][]any{{int64(3), sum[:], int64(4), int64(store.Plain), []byte("text")}}},
		{tableOf("identities", "issuer", "subject", "user_id"), [][]any{{"https://id", "1", int64(7)}}},
		{tableOf("versions", "repo_id", "version", "user_id", "token_id"), [][]any{{int64(5), int64(1), int64(8), int64(99)}}},
	}, Head{Organization: &Org{ID: "org_a", Name: "acme"}, At: api.NewTime(time.Unix(1, 0))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Numbers move behind those that are taken, a known person keeps theirs, a token is
// nobody's, and nobody's chain stays the organization's own.
func TestPlacing(t *testing.T) {
	file := small(t)
	o, err := VerifyOrg(bytes.NewReader(file))
	if err != nil || o.Highest["repos"] != 5 || len(o.Identities) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	r, err := Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := Placing{Name: "copy", UID: "org_b", Known: map[int64]int64{7: 1}, Dropped: map[Identity]bool{{Issuer: "https://id", Subject: "1"}: true}}
	next := p.Rows(t.Context(), r, store.Numbers{"organizations": 10, "users": 100, "repos": 1000}, nil)
	got := map[string][][]any{}
	for {
		table, values, err := next()
		if err != nil {
			t.Fatal(err)
		}
		if table.Name == "" {
			break
		}
		got[table.Name] = append(got[table.Name], values)
	}
	for table, want := range map[string][]any{
		"users": {int64(108)}, "memberships": {int64(13), int64(1), "dana"}, "repos": {int64(1005), int64(13)},
		"audit_anchors": {int64(13), int64(0), int64(1)}, "versions": {int64(1005), int64(1), int64(108), int64(0)},
		"organizations": {int64(13), "org_b", "copy", int64(2)}, "org_audit": {int64(13), int64(2)},
	} {
		if len(got[table]) == 0 {
			t.Errorf("%s has no row", table)
			continue
		}
		for i, value := range want {
			if got[table][0][i] != value {
				t.Errorf("%s: %v, want it to begin with %v", table, got[table][0], want)
				break
			}
		}
	}
	if len(got["identities"]) != 0 || len(got["users"]) != 1 {
		t.Errorf("who is known came once more: %v, %v", got["identities"], got["users"])
	}
}

// A file of strangers gives an error that says so, or rows of one organization.
func FuzzVerifyOrg(f *testing.F) {
	f.Add(small(f))
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, file []byte) {
		o, err := VerifyOrg(bytes.NewReader(file))
		var damaged *DamagedError
		switch {
		case err == nil && (o.org <= 0 || o.Organization == nil):
			t.Fatal("there is no organization in it")
		case err != nil && !errors.As(err, &damaged) && !bytes.Contains([]byte(err.Error()), []byte("a newer server")):
			t.Fatal(err)
		}
	})
}
