package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// testRedaction: what is withdrawn is not stored again, a repo tells of it from the
// version on that says so, and its bytes go while its rows stay.
func testRedaction(t *testing.T, w *world) {
	ctx := t.Context()
	sum := api.ChecksumOfString("secret")
	w.commit(t, write("a", "secret"), write("b", "kept"))
	w.commit(t, write("a", "clean"))
	w.commit(t, write("c", "secret"))
	holders, err := w.store.Holders(ctx, w.ref, store.HolderQuery{Sums: []api.Checksum{sum}, Limit: 9})
	if err != nil || len(holders) != 2 || holders[0].Key != "a" || holders[0].Version != 1 || holders[0].Until != 2 || holders[1].Key != "c" ||
		holders[1].Until != 0 || holders[0].UserName != "dana" || holders[0].Client != w.author.Client || !holders[0].At.Equal(at(1)) {
		t.Fatalf("Holders: %+v, %v", holders, err)
	}
	if policy, err := w.store.Policy(ctx, w.org.ID); err != nil || policy.Redacted {
		t.Errorf("before anything was withdrawn the policy says %v, %v", policy.Redacted, err)
	}
	r := store.Redaction{Checksum: sum, At: at(4), User: "ada", TokenUID: "tok_1", Reason: "leaked"}
	for range 2 { // the second time nothing changes
		if err := w.store.Withdraw(ctx, w.org.ID, []store.Redaction{r}); err != nil {
			t.Fatalf("Withdraw: %v", err)
		}
		r.Reason, r.At = "another", at(9)
	}
	r.Reason, r.At = "leaked", at(4)
	check := func(what string, sums []api.Checksum, want ...store.Redaction) {
		t.Helper()
		got, err := w.store.Redactions(ctx, w.org.ID, sums)
		if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
	}
	check("withdrawn", nil, r)
	check("named", []api.Checksum{sum}, r)
	check("another", []api.Checksum{api.ChecksumOfString("kept")})
	if policy, err := w.store.Policy(ctx, w.org.ID); err != nil || !policy.Redacted {
		t.Errorf("the policy says %v, %v", policy.Redacted, err)
	}
	var refused *store.RedactedError
	if _, err := w.tryCommit(ctx, write("new", "secret")); !errors.As(err, &refused) || refused.Reason != "leaked" || refused.User != "ada" {
		t.Errorf("writing what was withdrawn: %v", err)
	}
	if head := w.head(t); head.Version != 3 || head.Redacted != 0 {
		t.Errorf("the head after a refusal: %+v", head)
	}
	w.redact(t, sum, "c")
	if err := w.store.Erase(ctx, w.org.ID, []api.Checksum{sum}); err != nil {
		t.Fatalf("Erase: %v", err)
	}
	r.Done = true
	check("erased", nil, r)
	if n, err := w.store.CountErased(ctx); err != nil || n < 1 {
		t.Errorf("CountErased: %d, %v", n, err)
	}
	for since, want := range map[api.Version]int{0: 1, 3: 1, 4: 0} {
		view := w.view(t, since)
		if len(view.Redacted) != want || want > 0 && view.Redacted[0] != sum || view.Head.Redacted != 4 {
			t.Errorf("since %d: %v, head %d", since, view.Redacted, view.Head.Redacted)
		}
	}
	if err := w.store.Bodies(ctx, w.org.ID, []api.Checksum{sum}, func(api.Checksum, []byte) error { return nil }); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("the body of what was erased: %v", err)
	}
	if past := w.history(t, "a", 2, 1); len(past) != 1 || past[0].Checksum != sum || past[0].UserName != "dana" {
		t.Errorf("the row of what was withdrawn: %+v", past)
	}
	if rest, err := w.store.Holders(ctx, w.ref, store.HolderQuery{Limit: 9}); err != nil || len(rest) != 2 || rest[0].Key != "b" || rest[1].Version != 2 {
		t.Errorf("what is left to look through: %+v, %v", rest, err)
	}
	if after, err := w.store.Holders(ctx, w.ref, store.HolderQuery{Version: 1, Key: "b", Limit: 9}); err != nil || len(after) != 1 {
		t.Errorf("from a place on: %+v, %v", after, err)
	}
	other := newWorld(t, w.store)
	other.commit(t, write("a", "secret")) // of another organization it is not withdrawn
	if _, err := w.store.Scrub(ctx, true); err != nil {
		t.Errorf("Scrub: %v", err)
	}
	if head := w.commit(t, write("after", "1")); head.Redacted != 4 {
		t.Errorf("the head afterwards: %+v", head)
	}
}

// redact commits the version that tells of a withdrawn content.
func (w *world) redact(t *testing.T, sum api.Checksum, keys ...api.Key) store.Head {
	t.Helper()
	edits := make([]edit, len(keys))
	for i, key := range keys {
		edits[i] = remove(key)
	}
	head, err := w.store.Commit(t.Context(), w.ref, keys, func(state store.State) (*store.Change, error) {
		change := w.change(state, edits)
		change.Head.Redacted, change.Redacted = change.Head.Version, []api.Checksum{sum}
		return change, nil
	})
	if err != nil {
		t.Fatalf("Commit of a redaction: %v", err)
	}
	return head
}

// testRedactionOfFindings: with a redaction go the findings in what is withdrawn, and
// open proposals of it are closed; the others stay.
func testRedactionOfFindings(t *testing.T, w *world) {
	sum := api.ChecksumOfString("mine")
	p := store.Proposal{
		UID: w.org.UID + "p", Slug: w.ref.Slug, Key: "p", Author: w.token.User, User: "dana", State: api.ProposalOpen, Standing: true,
		Checksum: sum, Size: 4, Modified: modifiedAt(1), Version: 1, At: at(1), Detail: []byte(`{}`),
	}
	_, err := w.store.Commit(t.Context(), w.ref, []api.Key{"a", "b"}, func(state store.State) (*store.Change, error) {
		change := w.change(state, []edit{write("a", "mine"), write("b", "1")})
		change.Head.Proposals = 1
		change.Proposals = []store.ProposalWrite{{Proposal: p}}
		for _, key := range []api.Key{"a", "b"} {
			change.Findings = append(change.Findings, store.Finding{Key: key, Rule: "r", Class: api.ClassSecret, Line: 1, Fingerprint: "f"})
		}
		return change, nil
	})
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	if err := w.store.Withdraw(t.Context(), w.org.ID, []store.Redaction{{Checksum: sum, At: at(2), User: "ada", Reason: "leaked"}}); err != nil {
		t.Fatalf("Withdraw: %v", err)
	}
	w.redact(t, sum) // a stays live here: what a ledger does about it is its business
	found, err := w.store.Findings(t.Context(), w.ref, "", 9)
	if err != nil || len(found) != 1 || found[0].Key != "b" {
		t.Errorf("findings left: %+v, %v", found, err)
	}
	closed, err := w.store.Proposal(t.Context(), w.org.ID, p.UID)
	if err != nil || closed.State != api.ProposalRejected || closed.Closed != 2 || !closed.Standing || closed.Reason == "" {
		t.Errorf("the proposal: %+v, %v", closed, err)
	}
}

// testPulls: the oldest and the newest version that a client was served are kept, for a
// bounded number of clients each.
func testPulls(t *testing.T, w *world) {
	head := w.commit(t, write("a", "1"))
	note := func(client string, oldest, newest api.Version) {
		t.Helper()
		p := store.Pull{Repo: head.ID, User: w.token.User, Token: w.token.ID, Client: client, Oldest: oldest, Newest: newest, At: at(newest)}
		if err := w.store.NotePulls(t.Context(), []store.Pull{p}); err != nil {
			t.Fatalf("NotePulls: %v", err)
		}
	}
	note("laptop", 5, 5)
	note("laptop", 3, 4)
	note("laptop", 8, 8)
	pulls, err := w.store.Pulls(t.Context(), w.ref)
	want := store.Pull{Repo: head.ID, User: w.token.User, Token: w.token.ID, Client: "laptop", Oldest: 3, Newest: 8, At: at(8), UserName: "dana", TokenUID: w.token.UID}
	if err != nil || len(pulls) != 1 || !reflect.DeepEqual(pulls[0], want) {
		t.Fatalf("Pulls: %+v, %v; want %+v", pulls, err, want)
	}
	many := make([]store.Pull, 0, 2*store.MostClients)
	for i := range 2 * store.MostClients {
		many = append(many, store.Pull{Repo: head.ID, User: w.token.User, Token: w.token.ID, Client: fmt.Sprintf("client %03d", i), Oldest: 1, Newest: 2, At: at(2)})
	}
	if err := w.store.NotePulls(t.Context(), many); err != nil {
		t.Fatalf("NotePulls: %v", err)
	}
	note("laptop", 9, 9)
	pulls, err = w.store.Pulls(t.Context(), w.ref)
	others := func(p store.Pull) bool { return p.Client == store.OtherClients }
	if err != nil || len(pulls) != store.MostClients+1 || !slices.ContainsFunc(pulls, others) || pulls[0].Client != "laptop" || pulls[0].Newest != 9 {
		t.Errorf("%d clients are kept apart, %v", len(pulls), err)
	}
	if other, err := newWorld(t, w.store).store.Pulls(t.Context(), store.RepoRef{Org: 1 << 40, Slug: w.ref.Slug}); err != nil || len(other) != 0 {
		t.Errorf("pulls of another organization: %+v, %v", other, err)
	}
}

// testScans: a scan is gone on with by whoever saves the next step first.
func testScans(t *testing.T, w *world) {
	ctx := t.Context()
	scan, err := w.store.CreateScan(ctx, store.Scan{
		UID: random("scan_"), Org: w.org.ID, Slug: "acme/widgets", Origin: "server", User: "ada", State: api.ScanRunning, At: at(1), Updated: at(1), Place: []byte(`{}`),
	})
	if err != nil || scan.ID == 0 {
		t.Fatalf("CreateScan: %+v, %v", scan, err)
	}
	scan.Step, scan.Updated, scan.Found, scan.Place = 1, at(2), 2, []byte(`{"version":7}`)
	if err := w.store.SaveScan(ctx, scan, [][]byte{[]byte(`{"n":0}`), []byte(`{"n":1}`)}); err != nil {
		t.Fatalf("SaveScan: %v", err)
	}
	if err := w.store.SaveScan(ctx, scan, [][]byte{[]byte(`{"n":9}`)}); !errors.Is(err, store.ErrExists) {
		t.Errorf("SaveScan of a step that was made: %v, want ErrExists", err)
	}
	got, err := w.store.Scan(ctx, w.org.ID, scan.UID)
	if err != nil || !reflect.DeepEqual(got, scan) {
		t.Errorf("Scan: %+v, %v; want %+v", got, err, scan)
	}
	scan.Step, scan.State, scan.Found = 2, api.ScanDone, 3
	if err := w.store.SaveScan(ctx, scan, [][]byte{[]byte(`{"n":2}`)}); err != nil {
		t.Fatalf("SaveScan: %v", err)
	}
	found, err := w.store.ScanFindings(ctx, scan.ID, 1, 9)
	if err != nil || len(found) != 2 || string(found[0]) != `{"n":1}` || string(found[1]) != `{"n":2}` {
		t.Errorf("ScanFindings: %s, %v", found, err)
	}
	newer, err := w.store.CreateScan(ctx, store.Scan{UID: random("scan_"), Org: w.org.ID, Origin: "server", State: api.ScanRunning, At: at(3), Updated: at(3), Place: []byte(`{}`)})
	if err != nil {
		t.Fatalf("CreateScan: %v", err)
	}
	all, err := w.store.Scans(ctx, w.org.ID, 9)
	if err != nil || len(all) != 2 || all[0].UID != newer.UID || all[1].State != api.ScanDone {
		t.Errorf("Scans: %+v, %v", all, err)
	}
	if _, err := w.store.Scan(ctx, newWorld(t, w.store).org.ID, scan.UID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Scan of another organization: %v, want ErrNotFound", err)
	}
}
