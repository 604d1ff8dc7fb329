package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Asked is a Commit that is carried out with others.
type Asked struct {
	Touched []api.Key
	Decide  store.Decide
}

// Together lends the suite two hands of an implementation whose commits share
// transactions. together carries several out in one transaction, as Commit does with
// those that wait, and says what each is told. spoil sees to it that no transaction
// can be committed in which a version of the client [Spoiler] was written.
func Together(together func(t *testing.T, s store.Store, ref store.RepoRef, all []Asked) ([]store.Head, []error), spoil func(t *testing.T, s store.Store)) Option {
	return func(s *suite) { s.together, s.spoil = together, spoil }
}

// Spoiler is the client of a change that cannot be committed.
const Spoiler = "spoiler"

// What goes wrong with every how manyth writer of a gathering.
var gathered = []struct {
	name  string
	spoil func(w *world, state store.State, edits []edit) (*store.Change, error)
	is    func(err error) bool
}{
	{
		name: "refused", is: func(err error) bool { return err == error(errConflict) },
		spoil: func(*world, store.State, []edit) (*store.Change, error) { return nil, errConflict },
	},
	{
		name: "a twin, which the database does not take", is: failed,
		spoil: func(w *world, state store.State, edits []edit) (*store.Change, error) {
			return w.change(state, append(edits, write("NOTE.md", "twin"))), nil
		},
	},
	{
		name: "a change that is none", is: failed,
		spoil: func(w *world, state store.State, edits []edit) (*store.Change, error) {
			change := w.change(state, edits)
			change.Head.Version++
			return change, nil
		},
	},
	{
		name: "panics", is: func(err error) bool { return errors.Is(err, errPanicked) },
		spoil: func(*world, store.State, []edit) (*store.Change, error) { panic(errPlanted) },
	},
	{
		name: "withdrawn", is: func(err error) bool {
			var refused *store.RedactedError
			return errors.As(err, &refused)
		},
		spoil: func(w *world, state store.State, edits []edit) (*store.Change, error) {
			return w.change(state, append(edits, write("secret.md", "withdrawn"))), nil
		},
	},
	{
		name: "nothing to do", is: func(err error) bool { return err == nil },
		spoil: func(*world, store.State, []edit) (*store.Change, error) { return nil, nil },
	},
}

var (
	errConflict = &api.Error{Code: api.Conflict, Message: "no"}
	errPlanted  = errors.New("planted")
	errPanicked = errors.New("decide panicked")
)

func failed(err error) bool { return err != nil && !errors.Is(err, store.ErrBusy) }

// asked is the n-th of a gathering: a write of its own and of a counter, which is made
// of what it is shown; or, of every second, what goes wrong.
func (w *world) asked(n int) (Asked, func(error) bool) {
	edits := []edit{write(api.Key(fmt.Sprintf("%d.md", n)), fmt.Sprint(n)), write("counter.md", "")}
	all := Asked{Touched: append(keysOf(edits), "NOTE.md", "secret.md")}
	if n%2 == 1 {
		wrong := gathered[n/2%len(gathered)]
		all.Decide = func(state store.State) (*store.Change, error) { return wrong.spoil(w, state, edits) }
		return all, wrong.is
	}
	all.Decide = func(state store.State) (*store.Change, error) { return w.counted(state, edits) }
	return all, func(err error) bool { return err == nil }
}

// gather makes ready what a gathering goes wrong by, which takes one version.
func (w *world) gather(t *testing.T) {
	t.Helper()
	w.commit(t, write("note.md", "n"), write("counter.md", "1"))
	all := []store.Redaction{{Checksum: api.ChecksumOfString("withdrawn"), At: at(1), User: "ada", Reason: "leaked"}}
	if err := w.store.Withdraw(t.Context(), w.org.ID, all); err != nil {
		t.Fatalf("Withdraw: %v", err)
	}
}

const crowd = 32

// testGathered: of many at once each gets what is its own, whoever carries it out. The
// first is held until all have come, so that they meet.
func testGathered(t *testing.T, w *world) {
	w.gather(t)
	var coming, all sync.WaitGroup
	coming.Add(crowd - 1)
	errs, heads := make([]error, crowd), make([]store.Head, crowd)
	for n := range crowd {
		asked, _ := w.asked(n)
		all.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[n] = errPanicked
				}
			}()
			if n > 0 {
				coming.Done()
			}
			heads[n], errs[n] = w.store.Commit(t.Context(), w.ref, asked.Touched, func(state store.State) (*store.Change, error) {
				if n == 0 {
					coming.Wait()
				}
				return asked.Decide(state)
			})
		})
	}
	all.Wait()
	w.wantGathered(t, heads, errs)
}

// testGatheredTogether is the same where it is certain that they share a transaction.
func (s *suite) testGatheredTogether(t *testing.T, w *world) {
	w.gather(t)
	all := make([]Asked, crowd)
	for n := range all {
		all[n], _ = w.asked(n)
		if n/2%len(gathered) == 3 && n%2 == 1 { // a panic needs a goroutine of its own
			all[n].Decide = func(store.State) (*store.Change, error) { return nil, errPanicked }
		}
	}
	heads, errs := s.together(t, w.store, w.ref, all)
	w.wantGathered(t, heads, errs)
	for n := 2; n < crowd; n += 2 {
		if heads[n].Version != heads[n-2].Version+1 {
			t.Errorf("%d made version %d after %d", n, heads[n].Version, heads[n-2].Version)
		}
	}
}

// testGatheredWriters: what many write in one transaction are versions of their own.
func (s *suite) testGatheredWriters(t *testing.T, w *world) {
	all := make([]Asked, crowd)
	for n := range all {
		edits := []edit{write(api.Key(fmt.Sprintf("%d.md", n)), fmt.Sprint(n)), write("counter.md", "")}
		all[n] = Asked{Touched: keysOf(edits), Decide: func(state store.State) (*store.Change, error) { return w.counted(state, edits) }}
	}
	heads, errs := s.together(t, w.store, w.ref, all)
	for n, head := range heads {
		if errs[n] != nil || head.Version != api.Version(n+1) || head.Entries != n+2 {
			t.Errorf("%d of those who write is told %s, %v", n, public(head), errs[n])
		}
	}
	if head := w.head(t); public(head) != public(heads[crowd-1]) {
		t.Errorf("what stands is\n%s, and the last was told\n%s", public(head), public(heads[crowd-1]))
	}
	w.wantChain(t, crowd)
}

// testGatheredAgain: what is decided again, because another's write failed, is what
// counts: here the first has nothing to do any more, and the second no reason to refuse.
func (s *suite) testGatheredAgain(t *testing.T, w *world) {
	w.commit(t, write("note.md", "n"))
	asked := 0
	first := Asked{Touched: []api.Key{"first.md"}, Decide: func(state store.State) (*store.Change, error) {
		if asked++; asked > 1 {
			return nil, nil
		}
		return w.change(state, []edit{write("first.md", "1")}), nil
	}}
	second := Asked{Touched: []api.Key{"first.md", "second.md"}, Decide: func(state store.State) (*store.Change, error) {
		if _, stands := state.Rows["first.md"]; stands {
			return nil, errConflict
		}
		return w.change(state, []edit{write("second.md", "2")}), nil
	}}
	twin := Asked{Touched: []api.Key{"NOTE.md"}, Decide: func(state store.State) (*store.Change, error) {
		return w.change(state, []edit{write("NOTE.md", "twin")}), nil
	}}
	heads, errs := s.together(t, w.store, w.ref, []Asked{first, second, twin})
	if errs[0] != nil || heads[0].Version != 1 || errs[1] != nil || heads[1].Version != 2 || errs[2] == nil {
		t.Errorf("they are told %v, of versions %d and %d", errs, heads[0].Version, heads[1].Version)
	}
	if rows := w.view(t, 1).Rows; len(rows) != 1 || rows[0].Key != "second.md" {
		t.Errorf("what was written is\n%s", show(rows))
	}
	w.wantChain(t, 2)
}

// wantGathered holds what each was told against what stands.
func (w *world) wantGathered(t *testing.T, heads []store.Head, errs []error) {
	t.Helper()
	var made []api.Version
	for n, err := range errs {
		if _, right := w.asked(n); !right(err) {
			t.Errorf("%d of the gathering is told: %v", n, err)
		}
		if n%2 == 0 {
			made = append(made, heads[n].Version)
			if past := w.history(t, api.Key(fmt.Sprintf("%d.md", n)), 0, 5); len(past) != 1 || past[0].Version != heads[n].Version {
				t.Errorf("%d was told of version %d; history has %v", n, heads[n].Version, past)
			}
		}
	}
	slices.Sort(made)
	for i, v := range made {
		if v != api.Version(i+2) {
			t.Fatalf("the versions are %v", made)
		}
	}
	if head := w.head(t); head.Version != api.Version(len(made)+1) || head.Entries != len(made)+2 {
		t.Errorf("%d wrote, and the head is %s", len(made), public(head))
	}
	w.wantChain(t, len(made)+1)
}

// wantChain holds the repo's trail to be so long, and unbroken.
func (w *world) wantChain(t *testing.T, length int) {
	t.Helper()
	records, err := w.store.Audit(t.Context(), w.ref, 0, 10*crowd)
	if err != nil || len(records) != length {
		t.Fatalf("%d audit records, %v; want %d", len(records), err, length)
	}
	var previous [32]byte
	for i, r := range records {
		if r.Seq != int64(i+1) || !r.Verify(previous) {
			t.Errorf("the chain breaks at record %d, which is number %d", i+1, r.Seq)
		}
		previous = r.Hash
	}
}

// testGatheredCommitFails: a transaction that cannot be committed leaves nothing, and
// all that shared it are told, also who had nothing to write: what that one was
// shown does not stand.
func (s *suite) testGatheredCommitFails(t *testing.T, w *world) {
	s.spoil(t, w.store)
	first := w.commit(t, write("note.md", "n"), write("counter.md", "1"))
	var all []Asked
	for n := range 3 {
		one, _ := w.asked(2 * n)
		all = append(all, one)
	}
	spoiling := *w
	spoiling.author.Client = Spoiler
	all = append(all, Asked{Touched: []api.Key{"spoilt.md"}, Decide: func(state store.State) (*store.Change, error) {
		return spoiling.change(state, []edit{write("spoilt.md", "s")}), nil
	}}, Asked{Decide: func(store.State) (*store.Change, error) { return nil, nil }})
	_, errs := s.together(t, w.store, w.ref, all)
	for n, err := range errs {
		if err == nil {
			t.Errorf("%d of a transaction that cannot be committed is told nothing", n)
		}
	}
	if head := w.head(t); public(head) != public(first) {
		t.Errorf("what stands then is\n%s, want\n%s", public(head), public(first))
	}
	w.wantChain(t, 1)
	if next := w.commit(t, write("note.md", "after")); next.Version != 2 {
		t.Errorf("the next version is %d", next.Version)
	}
}

// testGatheredLeave: of callers who leave while others wait, each was carried out or
// was not, and is told which.
func testGatheredLeave(t *testing.T, w *world) {
	w.commit(t, write("counter.md", "1"))
	var coming, all sync.WaitGroup
	coming.Add(crowd - 1)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	errs := make([]error, crowd)
	for n := range crowd {
		edits := []edit{write(api.Key(fmt.Sprintf("%d.md", n)), ""), write("counter.md", "")}
		own := ctx
		if n%2 == 0 {
			own = t.Context()
		}
		all.Go(func() {
			if n > 0 {
				coming.Done()
			}
			_, errs[n] = w.store.Commit(own, w.ref, keysOf(edits), func(state store.State) (*store.Change, error) {
				if n == 0 {
					coming.Wait()
					leave()
				}
				return w.counted(state, edits)
			})
		})
	}
	all.Wait()
	stands := 0
	for n, err := range errs {
		if err == nil {
			stands++
		}
		if past := w.history(t, api.Key(fmt.Sprintf("%d.md", n)), 0, 5); (err == nil) != (len(past) == 1) {
			t.Errorf("%d is told %v, and has %d versions", n, err, len(past))
		}
		if err != nil && (n%2 == 0 || !errors.Is(err, context.Canceled)) {
			t.Errorf("%d is told %v", n, err)
		}
	}
	w.wantChain(t, stands+1)
}
