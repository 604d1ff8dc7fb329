package leak_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

var oneScanner = sync.OnceValue(func() *scan.Scanner {
	scanner, err := scan.New(scan.Options{})
	if err != nil {
		panic(err)
	}
	return scanner
})

// box is a desk on a store in memory that lets everything in.
type box struct {
	t      *testing.T
	store  *memory.Store
	org    store.Organization
	rules  *ledger.Ledger
	desk   *leak.Desk
	caller ledger.Caller
	list   string
	log    bytes.Buffer
	now    time.Time
}

func newBox(t *testing.T) *box {
	b := &box{t: t, store: memory.New(), list: filepath.Join(t.TempDir(), "deep", "redactions.jsonl"), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	b.org, err = b.store.CreateOrganization(t.Context(), store.Organization{UID: "org_1", Name: "acme", FingerprintKey: [32]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	b.caller = leak.Operator(b.org)
	// The rules that push have no scanner: what comes in here got past one.
	b.rules = ledger.New(slog.New(slog.DiscardHandler), b.store, b.clock, api.DefaultLimits, nil, nil)
	b.desk = b.newDesk(b.store)
	return b
}

func (b *box) clock() time.Time { return b.now }

func (b *box) newDesk(s leak.Store) *leak.Desk {
	log := slog.New(slog.NewTextHandler(&b.log, nil))
	return leak.New(log, s, ledger.New(log, b.store, b.clock, api.DefaultLimits, oneScanner(), nil), b.clock, leak.NewList(b.list), nil)
}

func (b *box) push(repo api.RepoSlug, key api.Key, text string) {
	b.t.Helper()
	push := api.Push{Entries: map[api.Key]string{key: text}}
	tags, err := api.ParseTags([]string{"*"})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.rules.Head(b.t.Context(), b.caller, repo); err != nil {
		tags = api.Tags{}
	}
	if _, err := b.rules.Push(b.t.Context(), b.caller, repo, push, tags); err != nil {
		b.t.Fatal(err)
	}
}

func secret() string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	text := []byte("ghp_")
	for range 36 {
		text = append(text, letters[rand.IntN(len(letters))])
	}
	return string(text)
}

// stopping is a store that has a scan broken off after some steps.
type stopping struct {
	leak.Store
	steps int
	stop  context.CancelFunc
}

func (s *stopping) SaveScan(ctx context.Context, scan store.Scan, found [][]byte) error {
	err := s.Store.SaveScan(ctx, scan, found)
	if s.steps--; s.steps <= 0 {
		s.stop()
	}
	return err
}

// A scan that is broken off, wherever, is gone on with, and finds in all what one finds
// that runs through.
func TestScanIsGoneOnWith(t *testing.T) {
	b := newBox(t)
	for i := range 230 {
		text := fmt.Sprintf("note %d\n", i)
		if i%50 == 0 {
			text += "token: " + secret() + "\n"
		}
		b.push("acme/widgets", api.Key(fmt.Sprintf("n%d.md", i%7)), text)
	}
	b.push("acme/gadgets", "g.md", "token: "+secret()+"\n")
	run := func(restart bool, steps int) (api.Scan, error) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		desk := b.newDesk(&stopping{b.store, steps, stop})
		scan, err := desk.StartScan(ctx, b.caller, api.StartScan{Restart: restart}, leak.ByCommand)
		if err != nil {
			t.Fatal(err)
		}
		scan, ran := desk.RunScan(ctx, b.caller, scan, nil)
		report, err := desk.Scan(t.Context(), b.caller, scan.UID, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return report, ran
	}
	whole, err := run(false, 1000)
	if err != nil || whole.State != api.ScanDone || whole.Found != 6 || whole.Texts != 231 || whole.Versions != (api.Progress{Done: 231, Of: 231}) {
		t.Fatalf("a scan: %+v, %v", whole, err)
	}
	first, err := run(true, 1)
	if !errors.Is(err, context.Canceled) || first.State != api.ScanRunning || first.Found >= 6 || first.ID == whole.ID {
		t.Fatalf("broken off: %+v, %v", first, err)
	}
	for {
		again, err := run(false, 1)
		if again.ID != first.ID {
			t.Fatalf("another scan was begun: %+v", again)
		}
		if again.State == api.ScanDone {
			if again.Found != whole.Found || again.Texts != whole.Texts || again.Versions != whole.Versions || len(again.Findings) != whole.Found {
				t.Errorf("in pieces %+v, in one %+v, %v", again, whole, err)
			}
			break
		}
	}
	// Of two that go on with one scan the slower stops.
	scan, err := b.desk.StartScan(t.Context(), b.caller, api.StartScan{Restart: true}, leak.ByCommand)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.desk.RunScan(t.Context(), b.caller, scan, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.desk.RunScan(t.Context(), b.caller, scan, nil); !errors.Is(err, store.ErrExists) {
		t.Errorf("the slower of two: %v", err)
	}
}

// A fingerprint takes every text that holds the value, however it is wrapped, and no
// other one.
func TestRedactByFingerprint(t *testing.T) {
	b := newBox(t)
	leaked, other := secret(), secret()
	b.push("acme/widgets", "a.md", "token: "+leaked+"\n")
	b.push("acme/widgets", "b.md", "token: "+other+"\n")
	b.push("acme/gadgets", "c.md", "> quoted\n> `"+leaked+"`\n")
	b.push("acme/gadgets", "d.md", "fine\n")
	scan, err := b.desk.StartScan(t.Context(), b.caller, api.StartScan{Repo: "acme/widgets"}, leak.ByCommand)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = b.desk.RunScan(t.Context(), b.caller, scan, nil); err != nil {
		t.Fatal(err)
	}
	report, err := b.desk.Scan(t.Context(), b.caller, scan.UID, 0, 10)
	if err != nil || report.Found != 2 || report.Findings[0].Key != "a.md" {
		t.Fatalf("the scan of one repo: %+v, %v", report, err)
	}
	done, err := b.desk.Redact(t.Context(), b.caller, api.Redact{Fingerprint: report.Findings[0].Fingerprint, Reason: "leaked"}, false, nil)
	if err != nil || len(done.Checksums) != 2 || len(done.Versions) != 2 {
		t.Fatalf("Redact: %+v, %v", done, err)
	}
	for repo, want := range map[api.RepoSlug]int{"acme/widgets": 1, "acme/gadgets": 1} {
		view, err := b.rules.View(t.Context(), b.caller, repo, 0)
		if err != nil || len(view.Live) != want || len(view.Deleted) != 1 || len(view.Redacted) != 1 {
			t.Errorf("%s: %+v, %v", repo, view, err)
		}
	}
	list, err := os.ReadFile(b.list)
	if err != nil || strings.Count(string(list), `"leaked"`) != 2 || strings.Contains(string(list)+b.log.String(), leaked[4:12]) {
		t.Errorf("the list: %s, %v; the log: %s", list, err, b.log.String())
	}
}

// A line of the list that was cut off is told of and passed over, and what is added
// after it can be read.
func TestListThatWasCutOff(t *testing.T) {
	b := newBox(t)
	b.push("acme/widgets", "a.md", "one\n")
	b.push("acme/widgets", "b.md", "two\n")
	if err := os.MkdirAll(filepath.Dir(b.list), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.list, []byte(`{"organization":"org_1","checksum":"sha2`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.desk.Redact(t.Context(), b.caller, api.Redact{Repo: "acme/widgets", Key: "a.md", Reason: "r"}, false, nil); err != nil {
		t.Fatal(err)
	}
	if n, _, err := b.desk.Apply(t.Context(), false); err != nil || n != 0 {
		t.Errorf("Apply where all is done: %d, %v", n, err)
	}
	if !strings.Contains(b.log.String(), "line=1") {
		t.Errorf("the log says nothing of the line: %s", b.log.String())
	}
	head, err := b.rules.Head(t.Context(), b.caller, "acme/widgets")
	if err != nil || head.Version != 3 {
		t.Errorf("the repo is at version %d, %v: want the one that redacted", head.Version, err)
	}
}

// What is noted is bounded, and a client is noted once however often it reads.
func TestNotesAreBounded(t *testing.T) {
	b := newBox(t)
	b.push("acme/widgets", "a.md", "one\n")
	ref := store.RepoRef{Org: b.org.ID, Slug: "acme/widgets"}
	head, err := b.store.Head(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	reader := b.caller
	for i := range 20_000 {
		reader.User = store.UserID(1 + i%10_000) // of whom fewer are kept between two writes
		reader.Client = "desk"
		b.desk.Pulled(reader, head.ID, api.Version(1+i%3))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.desk.Run(ctx)
	pulls, err := b.store.Pulls(t.Context(), ref)
	if err != nil || len(pulls) != 8192 || pulls[0].Oldest > pulls[0].Newest {
		t.Errorf("%d clients are noted, %v", len(pulls), err)
	}
	if !strings.Contains(b.log.String(), "more clients were served in a second than can be noted") {
		t.Errorf("the log says nothing of the others: %s", b.log.String())
	}
}
