package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/syncer"
)

// machine is one client and the person at it.
type machine struct {
	w      *world
	name   string
	skew   time.Duration // of its clock
	disk   *disk
	memory *memo
	client *remote.Client
	syncer *syncer.Syncer
	opts   syncer.Options
	typed  map[string]bool // every text that a person saved here
	lag    time.Duration   // of its state behind what was agreed
	fuse   int             // operations until the process is killed; 0: it lives
}

func newMachine(w *world, n int) (*machine, error) {
	m := &machine{w: w, name: string(rune('A' + n)), typed: map[string]bool{}}
	m.skew = time.Duration(w.rng.IntN(3)-1) * time.Duration(w.rng.IntN(3600)) * time.Second
	m.disk = &disk{
		m: m, files: map[api.Key]*file{},
		grain:  []time.Duration{time.Nanosecond, time.Millisecond, time.Second, 2 * time.Second}[w.rng.IntN(4)],
		ctimes: w.rng.IntN(4) > 0, inodes: w.rng.IntN(4) > 0, folds: w.rng.IntN(4) == 0,
	}
	m.lag = []time.Duration{0, 100 * time.Millisecond, 5 * time.Second}[w.rng.IntN(3)]
	m.memory = &memo{m: m, texts: map[api.Checksum]string{}}
	m.opts = syncer.Options{
		Repo: repo, Limits: api.DefaultLimits,
		PerKey: true, Propagate: w.rng.IntN(4) == 0,
	}
	if m.disk.folds {
		m.opts.Same = m.disk.same
	}
	var err error
	m.client, err = remote.New(remote.Options{Server: "http://server", Tries: 1, Transport: wire{m}})
	w.logf("%s: clock %v, grain %v, ctime %v, inode %v, folds %v, propagates %v, saves %v late", m.name, m.skew,
		m.disk.grain, m.disk.ctimes, m.disk.inodes, m.disk.folds, m.opts.Propagate, m.lag)
	m.start(false)
	return m, err
}

func (m *machine) now() time.Time { return m.w.clock.Add(m.skew) }

// start begins anew from what is on disk.
func (m *machine) start(accept bool) {
	opts := m.opts
	opts.Accept = accept
	m.syncer = syncer.New(slog.New(slog.DiscardHandler), m.disk, m.client, m.memory, openGuard{}, m.now,
		func(syncer.Event) {}, m.memory.load(), opts)
	m.syncer.SaveLate(m.lag)
}

// openGuard lets everything out: what the simulation is about comes after that.
type openGuard struct{}

func (openGuard) Refresh(context.Context) (bool, error) { return false, nil }

func (openGuard) Forget() {}

func (openGuard) Reviews() bool { return true }

func (openGuard) Judge(api.Key, []byte) ([]guard.Judged, error) { return nil, nil }

// killed ends a process between any two of its operations.
type killed struct{}

func (m *machine) step() {
	if m.fuse > 0 {
		if m.fuse--; m.fuse == 0 {
			panic(killed{})
		}
	}
}

// round runs a round as the daemon does, and a person answers when it asks.
func (m *machine) round(mode syncer.Mode) (*syncer.Report, error) {
	report, err := m.guarded(mode)
	for tries := 0; err == nil && report.Pending && tries < 3; tries++ {
		m.w.clock = m.w.clock.Add(50 * time.Millisecond)
		var next *syncer.Report
		if next, err = m.guarded(syncer.Both); err == nil {
			report.Add(next)
		}
	}
	if !errors.Is(err, syncer.ErrHalted) {
		return report, err
	}
	if m.w.restores == 0 {
		m.w.violation("%s stopped and asks, though nothing is wrong: %v", m.name, err)
		return report, err
	}
	m.w.logf("%s: accepts: %v", m.name, err)
	m.start(true)
	report, err = m.guarded(syncer.Both)
	m.start(false)
	return report, err
}

var errKilled = errors.New("killed")

// guarded runs one round; when the process is killed in it, it starts anew.
func (m *machine) guarded(mode syncer.Mode) (report *syncer.Report, err error) {
	m.disk.beginRound()
	if m.w.chance(0.12) {
		m.fuse = 1 + m.w.rng.IntN(40)
	}
	defer func() {
		m.fuse = 0
		switch v := recover().(type) {
		case nil:
			m.w.logf("%s: round %d: %s", m.name, mode, outcome(report, err))
		case killed:
			m.w.logf("%s: killed", m.name)
			m.disk.crash()
			m.memory.crash()
			m.start(false)
			report, err = &syncer.Report{}, errKilled
		default:
			panic(v)
		}
	}()
	return m.syncer.Round(context.Background(), mode)
}

func outcome(r *syncer.Report, err error) string {
	return fmt.Sprintf("up %v, down %v, merged %v, removed %v, deleted %v, kept %v, failed %v, pending %v: %v",
		r.Uploaded, r.Downloaded, r.Merged, r.Removed, r.Deleted, r.Conflicts, r.Failed, r.Pending, err)
}

// beginRound notes what a disk that does not keep what it was told would lose.
func (d *disk) beginRound() {
	if d.m.w.fault != faultStateLeads {
		return
	}
	d.before = map[api.Key]file{}
	for key, f := range d.files {
		d.before[key] = *f
	}
}

func (d *disk) crash() {
	if d.m.w.fault != faultStateLeads {
		return
	}
	for key, f := range d.before {
		if now := d.files[key]; now != nil && !d.m.typed[now.text] {
			*now = f
		}
	}
}

// mustBeTrashed holds a removal against the promise that nothing is removed into
// nothing.
func (m *machine) mustBeTrashed(key api.Key, text string) {
	for _, kept := range m.memory.trash {
		if kept.text == text {
			return
		}
	}
	m.w.violation("%s removed %s without a copy in the trash: %s", m.name, key, show(text))
}

// held reports whether a file stays here by its name, which a person has been told.
func (m *machine) held(key api.Key) bool {
	return m.syncer.Agreed().Refused[key].Kind == syncer.RefusedKey
}

var (
	_ syncer.Directory  = (*disk)(nil)
	_ syncer.Memory     = (*memo)(nil)
	_ http.RoundTripper = wire{}
)
