package syncer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
)

// Directory is the memory directory, as memdir.Dir is one.
type Directory interface {
	Check(memdir.Marker) error
	Scan(ctx context.Context, now time.Time, maxBytes int, known memdir.Known) (memdir.Listing, error)
	Read(key api.Key, maxBytes int) ([]byte, error)
	Write(now time.Time, key api.Key, content []byte, modified time.Time, expect *memdir.File) (memdir.File, error)
	Remove(key api.Key, expect memdir.File) error
	Reap(before time.Time, fn func(key api.Key, content []byte) error) error
	Redact(sums []api.Checksum) error
	// Flush brings to the disk what was written and removed. The state is saved after
	// it, so that it never leads the files.
	Flush() error
}

// Server is the repo's server, as remote.Client is one.
type Server interface {
	Get(ctx context.Context, repo api.RepoSlug, q remote.Query) (remote.Answer, error)
	Put(ctx context.Context, repo api.RepoSlug, push api.Push, ifMatch api.Checksum) (api.PushResult, error)
}

// Memory is what the client remembers of the agreement, as state.Store is one.
type Memory interface {
	Save(*state.Agreement) error
	PutText(sum api.Checksum, content []byte) error
	Text(sum api.Checksum) ([]byte, bool)
	Keep(kept state.Kept, mine []byte) (state.Kept, error)
	Trash(trashed state.Trashed, content []byte) (state.Trashed, error)
	Redact(sums []api.Checksum) error
}

// Guard says what must not leave, as guard.Guard does.
type Guard interface {
	// Refresh asks for the policy where what is known of it is old, and reports
	// whether it has changed. Forget makes the next call ask in any case.
	Refresh(ctx context.Context) (changed bool, err error)
	Forget()
	Judge(key api.Key, content []byte) ([]guard.Judged, error)
	// Reviews reports whether the server keeps what policy holds apart until
	// somebody has approved it. Where it does not, such a file stays here.
	Reviews() bool
}

// Options are a syncer's settings.
type Options struct {
	Repo   api.RepoSlug
	Marker memdir.Marker
	Limits api.Limits
	// PerKey is set when the server takes baseChecksums (protocol 2.1). Without
	// it the whole set's checksum is the precondition, chained from reply to
	// reply.
	PerKey    bool
	Propagate bool // a file deleted by hand is deleted at the server
	Accept    bool // a person has agreed to what stopped the last round
	NoPush    bool
	NoPull    bool
	DryRun    bool
	// Same reports whether two spellings of a name lead to one file of the
	// directory, as on a file system that folds letter case. Nil: they never do.
	Same func(a, b api.Key) bool
	// Pause waits before a push that was refused as stale is planned anew, the
	// longer the more often it was: where many write one key at once, one gets
	// through at a time. Nil is no wait.
	Pause func(ctx context.Context, tries int) error
	// Progress is called as entries are done; nil is allowed.
	Progress func(verb string, done, total int)
}

// Syncer carries out rounds. It belongs to one goroutine.
type Syncer struct {
	log    *slog.Logger
	dir    Directory
	server Server
	memory Memory
	guard  Guard
	now    func() time.Time
	tell   func(Event)
	opts   Options

	agreed *state.Agreement
	dirty  bool            // agreed differs from what is saved
	lag    time.Duration   // by which what is saved may be older, see SaveLate
	saved  time.Time       // when it was last
	halted string          // what it says of a halt
	named  map[string]bool // what was told once and need not be told again
	unsure bool            // see doubt
}

// New builds a syncer on what was agreed before. tell is called with every event,
// from the goroutine that runs the round.
func New(log *slog.Logger, dir Directory, server Server, memory Memory, guard Guard, now func() time.Time, tell func(Event), agreed *state.Agreement, opts Options) *Syncer {
	if agreed.Entries == nil {
		agreed.Entries = map[api.Key]state.Entry{}
	}
	if agreed.Tombstones == nil {
		agreed.Tombstones = map[api.Key]api.Checksum{}
	}
	if agreed.Refused == nil {
		agreed.Refused = map[api.Key]state.Refusal{}
	}
	if opts.Progress == nil {
		opts.Progress = func(string, int, int) {}
	}
	if opts.Pause == nil {
		opts.Pause = func(context.Context, int) error { return nil }
	}
	return &Syncer{
		log: log, dir: dir, server: server, memory: memory, guard: guard, now: now, tell: tell, opts: opts,
		agreed: agreed, named: map[string]bool{},
	}
}

// Agreed is what both sides last agreed on. The caller must not change it.
func (s *Syncer) Agreed() *state.Agreement { return s.agreed }

// SetLimits tells the syncer what the server takes now. A refusal for a limit
// that has changed is forgotten, so that the file is tried again; it reports whether
// there was one.
func (s *Syncer) SetLimits(limits api.Limits, perKey bool) (again bool) {
	if limits != s.opts.Limits {
		again = s.forgiveRefusals(RefusedLimit)
	}
	s.opts.Limits, s.opts.PerKey = limits, perKey
	return again
}

// ForgiveAll forgets every refusal of the server, after a new login or a new
// configuration: one of them may have been the cause.
func (s *Syncer) ForgiveAll() {
	s.forgiveRefusals(RefusedLimit, RefusedClash, RefusedServer, RefusedPolicy)
}

// ErrHalted is wrapped by a round that stopped to ask a person. Nothing was
// changed on either side, or no more than the round's report says.
var ErrHalted = errors.New("stopped")

// Halt is the error of a round that stopped.
type Halt struct {
	Why  string
	Hint string
	Err  error // what it stopped on; may be nil
}

func (e *Halt) Error() string { return e.Why }

// Unwrap makes a Halt an ErrHalted.
func (e *Halt) Unwrap() []error { return []error{ErrHalted, e.Err} }

// SetDirectory goes on with the directory opened anew, after it was away.
func (s *Syncer) SetDirectory(dir Directory) { s.dir = dir }

// Mode says what a round looks at.
type Mode int

// The modes.
const (
	// Both asks the server and looks through the directory.
	Both Mode = iota
	// Edits looks through the directory and takes what the server has from
	// memory; a push that meets news goes on as Both.
	Edits
	// News asks the server, and goes on as Both only when it has any.
	News
)

// Round looks at the sides that mode names and makes them agree. The report is
// never nil.
func (s *Syncer) Round(ctx context.Context, mode Mode) (*Report, error) {
	report := &Report{}
	known := s.agreed.Version
	for tries := 0; ; tries++ {
		err := s.attempt(ctx, mode, report)
		if !errors.Is(err, errStale) {
			return report, s.finish(err)
		}
		if tries >= staleTries && s.agreed.Version <= known {
			return report, s.finish(api.Errorf(api.Conflict, "the server refuses the push as stale, though nothing changed there"))
		}
		known, mode = s.agreed.Version, Both
		if err := s.opts.Pause(ctx, tries); err != nil {
			return report, s.finish(err)
		}
	}
}

// staleTries is how often a push may be refused as stale while the repo's version
// does not move; while it moves, team-mates are writing, and there is no limit.
const staleTries = 2

// errStale says that the server has news that the plan did not know.
var errStale = errors.New("stale")

func (s *Syncer) finish(err error) error {
	var halt *Halt
	switch {
	case errors.As(err, &halt):
		if s.agreed.Halted != halt.Why {
			s.agreed.Halted, s.dirty = halt.Why, true
		}
	case err == nil:
		if s.agreed.Halted != "" {
			s.agreed.Halted, s.dirty = "", true
		}
		if s.dirty || s.now().Sub(s.agreed.Synced) > syncedGrain {
			s.agreed.Synced, s.dirty = s.now(), true
		}
	}
	if saveErr := s.save(); saveErr != nil {
		return errors.Join(err, saveErr)
	}
	return err
}

// syncedGrain is how exactly the time of the last good round is kept on disk: a
// client at rest writes its state no more often than this.
const syncedGrain = time.Minute

// SaveLate lets the state on disk be older than what was agreed, by up to lag: each
// saving waits for the disk, and many rounds may follow each other closely. That costs
// a comparison after a crash (C4). A halt is saved at once, for others look for it.
// The caller calls [Syncer.Save] when lag has passed since a round, and at the end.
func (s *Syncer) SaveLate(lag time.Duration) { s.lag = lag }

// Unsaved reports whether there is something to save.
func (s *Syncer) Unsaved() bool { return s.dirty && !s.opts.DryRun }

// save saves unless it was saved a short while ago.
func (s *Syncer) save() error {
	if age := s.now().Sub(s.saved); age >= 0 && age < s.lag && s.halted == s.agreed.Halted {
		return nil
	}
	return s.Save()
}

// Save saves what has not been saved.
func (s *Syncer) Save() error {
	if !s.Unsaved() {
		return nil
	}
	if err := s.dir.Flush(); err != nil {
		return err
	}
	if err := s.memory.Save(s.agreed); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	s.dirty, s.saved, s.halted = false, s.now(), s.agreed.Halted
	return nil
}

// attempt is one look, one plan and its execution.
func (s *Syncer) attempt(ctx context.Context, mode Mode, report *Report) error {
	if err := s.dir.Check(s.opts.Marker); err != nil {
		return &Halt{Why: err.Error(), Hint: "put the directory back; nothing was sent, and syncing goes on by itself when it is there", Err: err}
	}
	there, news, err := s.fetch(ctx, mode)
	if err != nil || !news && mode == News {
		return err
	}
	if there.version != s.agreed.Version || there.restored {
		s.forgiveRefusals(RefusedClash)
		s.forgiveFull(len(there.live))
	}
	if err := s.reap(); err != nil {
		return err
	}
	here, err := s.look(ctx, there)
	if err != nil {
		return err
	}
	report.Version, report.Checksum, report.Entries = there.version, there.checksum, len(there.live)
	if here.rests {
		return nil
	}
	plan, err := s.plan(here, there)
	if s.opts.DryRun {
		report.Plan = plan
	}
	if err != nil || s.opts.DryRun {
		return err
	}
	if s.opts.NoPull {
		report.Waiting = keysOf(plan, Conflict)
	} else {
		if err := s.pull(ctx, plan, here, there, report); err != nil {
			return err
		}
		// What was pulled and merged is on disk now; the rest is to be pushed. Where
		// there was nothing to do, there still is not.
		if len(plan) > 0 {
			plan = Plan(s.input(here, there))
		}
	}
	if s.opts.NoPush {
		return nil
	}
	err = s.push(ctx, plan, here, there, report)
	report.Version, report.Checksum, report.Entries = s.agreed.Version, s.agreed.Checksum, s.entries()
	return err
}

// entries counts what is live at the server, as far as we know.
func (s *Syncer) entries() (n int) {
	for _, entry := range s.agreed.Entries {
		if entry.Remote != "" {
			n++
		}
	}
	return n
}

func (s *Syncer) input(here *here, there *there) Input {
	in := Input{
		Local:     make(map[api.Key]Local, len(here.files)),
		Base:      make(map[api.Key]api.Checksum, len(s.agreed.Entries)),
		Remote:    there.live,
		Deleted:   there.deleted,
		Applied:   s.agreed.Tombstones,
		Propagate: s.opts.Propagate,
		Offer:     there.restored,
		Redacted:  there.redacted,
		Seen: func(sum api.Checksum) bool {
			_, seen := s.memory.Text(sum)
			return seen
		},
	}
	for key, file := range here.files {
		in.Local[key] = Local{Checksum: file.Checksum}
	}
	for key := range here.blocked {
		in.Local[key] = Local{Blocked: true}
	}
	for key, entry := range s.agreed.Entries {
		if entry.Base != "" {
			in.Base[key] = entry.Base
		}
	}
	return in
}

// setEntry keeps an entry as long as it says something.
func (s *Syncer) setEntry(key api.Key, entry state.Entry) {
	if entry == (state.Entry{}) {
		delete(s.agreed.Entries, key)
	} else {
		s.agreed.Entries[key] = entry
	}
	s.dirty = true
}

// agree notes that both sides hold these bytes.
func (s *Syncer) agree(key api.Key, sum api.Checksum) {
	entry := s.agreed.Entries[key]
	entry.Base, entry.Remote = sum, sum
	s.setEntry(key, entry)
	delete(s.agreed.Tombstones, key)
}

// doubt notes that the state is not, or may not be, that of the version it names: it
// holds a part of what came after, or a push of ours may have arrived unheard. Until
// the server was heard in full, neither "nothing changed since then" nor the number
// of our own next version tells the whole.
func (s *Syncer) doubt() {
	s.unsure = true
	if s.agreed.Checksum != "" {
		s.agreed.Checksum, s.dirty = "", true
	}
}

// once tells of a thing that stays as it is only the first time.
func (s *Syncer) once(e Event, why string) {
	id := fmt.Sprint(e.Kind, e.Keys, why)
	if !s.named[id] {
		s.named[id] = true
		s.tell(e)
	}
}

// reap saves what somebody wrote into a file just as it was replaced: it had that
// file open, and its words are nowhere else.
func (s *Syncer) reap() error {
	if s.opts.DryRun {
		return nil
	}
	err := s.dir.Reap(s.now().Add(-reapAfter), func(key api.Key, content []byte) error {
		kept, err := s.memory.Keep(state.Kept{
			Key: key, At: s.now(), Mine: api.ChecksumOf(content), Theirs: s.agreed.Entries[key].Remote,
			Reason: "written into the file while a newer text took its place",
		}, content)
		if err != nil {
			return err
		}
		s.tellConflict(kept, "was written while a team-mate's text took its place; theirs is in place, yours is kept")
		return nil
	})
	if err != nil {
		return fmt.Errorf("look after replaced files: %w", err)
	}
	return nil
}

// reapAfter is how long a displaced file is watched for late writes.
const reapAfter = 5 * time.Second

func (s *Syncer) tellConflict(kept state.Kept, text string) {
	s.tell(Event{Kind: EventConflict, Keys: []api.Key{kept.Key}, Text: text, Hint: "client conflicts", Kept: kept.ID})
}

// there is the server as the round found it.
type there struct {
	version   api.Version
	epoch     api.Epoch
	checksum  api.Checksum
	live      map[api.Key]api.Checksum
	deleted   map[api.Key]api.Checksum
	displaced map[api.Key]displaced // keys that gave way to another spelling
	texts     map[api.Key]string    // bodies that came with this answer
	modified  map[api.Key]api.Time  // times that came with it
	heard     bool                  // from the server just now, not remembered
	restored  bool                  // from a backup, and a person has agreed
	redacted  map[api.Checksum]bool // contents that were withdrawn
	foul      bool                  // something in the answer could not be verified
}

// remembered is the server as it was last seen.
func (s *Syncer) remembered() *there {
	t := &there{
		version: s.agreed.Version, epoch: s.agreed.Epoch, checksum: s.agreed.Checksum,
		live: make(map[api.Key]api.Checksum, len(s.agreed.Entries)), deleted: maps.Clone(s.agreed.Tombstones),
		texts: map[api.Key]string{}, modified: map[api.Key]api.Time{}, displaced: map[api.Key]displaced{},
	}
	for key, entry := range s.agreed.Entries {
		if entry.Remote != "" {
			t.live[key] = entry.Remote
		}
	}
	return t
}

// SetPush says whether the next rounds may push.
func (s *Syncer) SetPush(allowed bool) { s.opts.NoPush = !allowed }

// WaitsForLimits reports whether a file is held back because the server takes no
// more.
func (s *Syncer) WaitsForLimits() bool {
	for _, r := range s.agreed.Refused {
		if r.Kind == RefusedLimit {
			return true
		}
	}
	return false
}
