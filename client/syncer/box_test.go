package syncer_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
)

const repo api.RepoSlug = "acme/widgets"

// box is one client: a real directory, a real state, and whatever server the test
// gives it.
type box struct {
	t      *testing.T
	root   string
	dir    *memdir.Dir
	store  *state.Store
	memory syncer.Memory // nil: the store
	guard  *wordGuard
	marker memdir.Marker
	server syncer.Server
	opts   syncer.Options
	events []syncer.Event
	s      *syncer.Syncer
}

func newBox(t *testing.T, server syncer.Server) *box {
	t.Helper()
	b := &box{
		t: t, root: filepath.Join(t.TempDir(), "team"), server: server,
		guard: &wordGuard{}, marker: memdir.Marker{ID: "m1", Server: "s", Organization: "o", Repo: string(repo)},
		opts: syncer.Options{Repo: repo, Limits: api.DefaultLimits, PerKey: true},
	}
	if err := os.Mkdir(b.root, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.store, err = state.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	b.open()
	if err := b.dir.SetMarker(b.marker); err != nil {
		t.Fatal(err)
	}
	b.restart()
	return b
}

func (b *box) open() {
	b.t.Helper()
	dir, err := memdir.Open(b.root)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = dir.Close() })
	b.dir = dir
}

// restart begins anew from what is on disk.
func (b *box) restart() {
	b.t.Helper()
	agreed, err := b.store.Load()
	if err != nil {
		b.t.Fatal(err)
	}
	b.opts.Marker = b.marker
	if b.memory == nil {
		b.memory = b.store
	}
	b.s = syncer.New(slog.New(slog.DiscardHandler), b.dir, b.server, b.memory, b.guard, time.Now,
		func(e syncer.Event) { b.events = append(b.events, e) }, agreed, b.opts)
}

func (b *box) round() (*syncer.Report, error) {
	b.t.Helper()
	b.events = nil
	report, err := b.s.Round(context.Background(), syncer.Both)
	for tries := 0; err == nil && report.Pending && tries < 5; tries++ {
		var again *syncer.Report
		again, err = b.s.Round(context.Background(), syncer.Both)
		report.Add(again)
	}
	return report, err
}

func (b *box) mustRound() *syncer.Report {
	b.t.Helper()
	report, err := b.round()
	if err != nil {
		b.t.Fatalf("round: %v", err)
	}
	return report
}

func (b *box) write(key, text string) {
	b.t.Helper()
	path := filepath.Join(b.root, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(key string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(key)))
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// files lists what an agent sees.
func (b *box) files() []string {
	b.t.Helper()
	var names []string
	err := filepath.WalkDir(b.root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".teammem" {
			return filepath.SkipDir
		}
		if !entry.IsDir() {
			name, _ := filepath.Rel(b.root, path)
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

func (b *box) kept() []state.Kept {
	b.t.Helper()
	kept, err := b.store.Kept()
	if err != nil {
		b.t.Fatal(err)
	}
	return kept
}

// told reports whether an event of the kind spoke of the key.
func (b *box) told(kind syncer.EventKind, key string) bool {
	return slices.ContainsFunc(b.events, func(e syncer.Event) bool {
		return e.Kind == kind && (key == "" || slices.Contains(e.Keys, api.Key(key)))
	})
}

// wordGuard finds words, so that no test needs a secret: SECRET is refused and HIDDEN
// held, until policy says otherwise.
type wordGuard struct {
	policy    map[string]api.Verdict
	reviews   bool
	changed   bool // the next Refresh finds another policy
	refreshes int
	err       error // of Refresh
}

func (g *wordGuard) Refresh(context.Context) (bool, error) {
	g.refreshes++
	changed := g.changed
	g.changed = false
	return changed, g.err
}

func (g *wordGuard) Forget() {}

func (g *wordGuard) Reviews() bool { return g.reviews }

func (g *wordGuard) Judge(_ api.Key, content []byte) (found []guard.Judged, err error) {
	for i, line := range strings.Split(string(content), "\n") {
		for word, verdict := range map[string]api.Verdict{"SECRET": api.VerdictRefuse, "HIDDEN": api.VerdictHold} {
			if v, ok := g.policy[word]; ok {
				verdict = v
			}
			if strings.Contains(line, word) {
				found = append(found, guard.Judged{Finding: scan.Finding{Rule: "test-" + strings.ToLower(word), Line: i + 1}, Verdict: verdict})
			}
		}
	}
	return found, nil
}

// fakeServer is a small honest server: one repo, whole-set or per-key
// preconditions, tombstones, deltas. A test may stand between it and the client.
type fakeServer struct {
	version api.Version
	epoch   api.Epoch
	rows    map[api.Key]fakeRow
	puts    int
	gets    int
	before  func(push api.Push) error // may refuse, or change the state first
	after   func(push api.Push) error // may lose the reply
	answer  func(remote.Answer) remote.Answer
}

type fakeRow struct {
	text    string
	deleted bool
	version api.Version
}

func newFake() *fakeServer { return &fakeServer{epoch: "e1", rows: map[api.Key]fakeRow{}} }

func (f *fakeServer) checksum() api.Checksum {
	var all strings.Builder
	for _, key := range api.SortedKeys(f.rows) {
		if row := f.rows[key]; !row.deleted {
			all.WriteString(string(key) + "\x00" + row.text + "\x00")
		}
	}
	return api.ChecksumOfString(all.String())
}

// set is a team-mate's write.
func (f *fakeServer) set(key api.Key, text string) {
	f.version++
	f.rows[key] = fakeRow{text: text, version: f.version}
}

// remove is a team-mate's deletion.
func (f *fakeServer) remove(key api.Key) {
	f.version++
	f.rows[key] = fakeRow{text: f.rows[key].text, deleted: true, version: f.version}
}

func (f *fakeServer) Get(_ context.Context, _ api.RepoSlug, q remote.Query) (remote.Answer, error) {
	f.gets++
	answer := remote.Answer{}
	switch {
	case f.version == 0:
		answer.NoMemory = true
	case q.IfNoneMatch == f.checksum():
		answer.NotModified = true
	default:
		answer.Memory = f.memory(q.Since)
	}
	if f.answer != nil {
		answer = f.answer(answer)
	}
	return answer, nil
}

func (f *fakeServer) memory(since api.Version) api.Memory {
	m := api.Memory{
		OrganizationID: "o", Repo: repo, Version: f.version, Epoch: f.epoch, Checksum: f.checksum(),
		Partial: since > 0 && since <= f.version, Deleted: map[api.Key]api.Checksum{},
		Content: api.Content{Entries: map[api.Key]string{}, EntryChecksums: map[api.Key]api.Checksum{}},
	}
	for key, row := range f.rows {
		switch {
		case m.Partial && row.version <= since:
		case row.deleted && f.twinLives(key):
		case row.deleted:
			m.Deleted[key] = api.ChecksumOfString(row.text)
		default:
			m.Content.Entries[key] = row.text
			m.Content.EntryChecksums[key] = api.ChecksumOfString(row.text)
		}
	}
	return m
}

// twinLives reports whether a tombstone is void (protocol 1.7).
func (f *fakeServer) twinLives(key api.Key) bool {
	for twin, row := range f.rows {
		if twin != key && !row.deleted && twin.Fold() == key.Fold() {
			return true
		}
	}
	return false
}

func (f *fakeServer) Put(_ context.Context, _ api.RepoSlug, push api.Push, ifMatch api.Checksum) (api.PushResult, error) {
	f.puts++
	if f.before != nil {
		if err := f.before(push); err != nil {
			return api.PushResult{}, err
		}
	}
	if err := f.holds(push, ifMatch); err != nil {
		return api.PushResult{}, err
	}
	before := f.version
	f.apply(push)
	if f.after != nil {
		if err := f.after(push); err != nil {
			return api.PushResult{}, err
		}
	}
	var held []api.Held
	for _, key := range api.SortedKeys(push.Entries) {
		if strings.Contains(push.Entries[key], "HIDDEN") {
			held = append(held, api.Held{Key: key, Proposal: "p", State: api.ProposalOpen, Rule: "test-hidden", Line: 1, Reason: "test-hidden in line 1"})
		}
	}
	return api.PushResult{Held: held, OrganizationID: "o", Repo: repo, Version: f.version, Epoch: f.epoch, Checksum: f.checksum(), Changed: f.version > before}, nil
}

func (f *fakeServer) holds(push api.Push, ifMatch api.Checksum) error {
	p := api.Precondition{Base: push.BaseChecksums}
	if ifMatch != "" {
		p.IfMatch = api.Tags{Sent: true, List: []api.Checksum{ifMatch}}
	}
	var pending []api.Key
	for key, text := range push.Entries {
		if row, ok := f.rows[key]; !ok || row.deleted || row.text != text {
			pending = append(pending, key)
		}
	}
	for _, key := range push.Deletions {
		if row, ok := f.rows[key]; ok && !row.deleted {
			pending = append(pending, key)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	refusal := p.Holds(f.version, f.checksum(), func(key api.Key) api.Checksum {
		if row, ok := f.rows[key]; ok && !row.deleted {
			return api.ChecksumOfString(row.text)
		}
		return ""
	}, pending)
	if refusal != nil {
		return refusal
	}
	return nil
}

func (f *fakeServer) apply(push api.Push) {
	next := f.version + 1
	for key, text := range push.Entries {
		if row, ok := f.rows[key]; !ok || row.deleted || row.text != text {
			f.rows[key] = fakeRow{text: text, version: next}
			f.version = next
		}
	}
	for _, key := range push.Deletions {
		if row, ok := f.rows[key]; ok && !row.deleted {
			f.rows[key] = fakeRow{text: row.text, deleted: true, version: next}
			f.version = next
		}
	}
}

// lost is a reply that never came.
func lost() error {
	return &remote.Unreachable{Server: "s", Err: http.ErrHandlerTimeout}
}
