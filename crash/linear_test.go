package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

const (
	registers = 3 // keys of the repo
	callers   = 6
	calls     = 40 // of each caller
	// doubtful is the share of PUTs whose caller does not wait for the answer.
	doubtful    = 0.1
	checkedFor  = 2 * time.Minute
	historyRepo = "crash/history"
)

// registerKeys are compared and set one by one; their repo counts the changes.
var registerKeys = [registers]api.Key{"one.md", "two.md", "three.md"}

// registersState is what a repo holds: a text for each key, empty for none.
type registersState struct {
	version api.Version
	texts   [registers]string
}

// request is what a caller asked for: all registers, or to set one that holds base.
type request struct {
	set        bool
	register   int
	base, text string
}

// reply is what it was told. An unanswered request may have been carried out, now
// or at any time after.
type reply struct {
	answered, applied bool
	state             registersState // of a read; of a set its version only
	holds             api.Checksum   // where a set is refused: what stands there
}

// oneRepo is the model: what one careful server would do.
var oneRepo = porcupine.Model{
	Init: func() any { return registersState{} },
	Step: func(state, input, output any) (bool, any) {
		return step(state.(registersState), input.(request), output.(reply))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

func step(now registersState, asked request, told reply) (bool, registersState) {
	if !asked.set {
		return told.state == now, now
	}
	there := now.texts[asked.register]
	next := now
	stands := there == asked.text
	applies := stands || there == asked.base
	if applies && !stands {
		next.version++
		next.texts[asked.register] = asked.text
	}
	switch {
	case !told.answered:
		return true, next
	case told.applied:
		return applies && told.state.version == next.version, next
	}
	return !applies && told.state.version == now.version && told.holds == sumOrNone(there), now
}

func sumOrNone(text string) api.Checksum {
	if text == "" {
		return ""
	}
	return api.ChecksumOfString(text)
}

// record lets callers read and set the registers at once, each at the servers in
// turn, and gives what happened.
func record(t *testing.T, servers []*wire, seed uint64) (history []porcupine.Operation) {
	t.Helper()
	begun := time.Now()
	repo := fmt.Sprintf("%s-%d", historyRepo, seed)
	var mu sync.Mutex
	var running sync.WaitGroup
	for n := range callers {
		running.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			var seen registersState
			for i := range calls {
				to := servers[(n+i)%len(servers)]
				asked := request{set: r.IntN(5) > 1, register: r.IntN(registers), text: fmt.Sprintf("%d-%d", n, i)}
				asked.base = seen.texts[asked.register]
				op := porcupine.Operation{ClientId: n, Input: asked, Call: int64(time.Since(begun)), Return: math.MaxInt64}
				told, err := ask(t.Context(), to, repo, asked, r.Float64() < doubtful)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
				if told.answered {
					op.Return = int64(time.Since(begun))
				}
				if told.answered && !asked.set {
					seen = told.state
				} else if told.applied {
					seen.texts[asked.register] = asked.text
				}
				op.Output = told
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return history
}

// ask asks, and with hurry does not wait for the answer for long.
func ask(ctx context.Context, to *wire, repo string, asked request, hurry bool) (reply, error) {
	if !asked.set {
		m, err := to.memory(ctx, repo)
		told := reply{answered: true, state: registersState{version: m.Version}}
		for i, key := range registerKeys {
			told.state.texts[i] = m.Content.Entries[key]
		}
		return told, err
	}
	if hurry {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rand.N(5*time.Millisecond))
		defer cancel()
	}
	key := registerKeys[asked.register]
	push := api.Push{Entries: map[api.Key]string{key: asked.text}, BaseChecksums: map[api.Key]*api.Checksum{key: nil}}
	if base := sumOrNone(asked.base); base != "" {
		push.BaseChecksums[key] = &base
	}
	result, refused, err := to.put(ctx, repo, push)
	switch {
	case err != nil && hurry:
		return reply{}, nil
	case err != nil:
		return reply{}, err
	case refused == nil:
		return reply{answered: true, applied: true, state: registersState{version: result.Version}}, nil
	case len(refused.Details.Conflicts) != 1 || refused.Details.Conflicts[0].Key != key:
		return reply{}, fmt.Errorf("a conflict on %s names %v", key, refused.Details.Conflicts)
	}
	told := reply{answered: true, state: registersState{version: *refused.Details.Version}}
	if holds := refused.Details.Conflicts[0].Checksum; holds != nil {
		told.holds = *holds
	}
	return told, nil
}

// linearizable checks so many histories.
func linearizable(t *testing.T, n int, servers ...*wire) {
	t.Helper()
	operations, unanswered := 0, 0
	for range n {
		seed := rand.Uint64()
		history := record(t, servers, seed)
		if t.Failed() {
			return
		}
		operations += len(history)
		for _, op := range history {
			if !op.Output.(reply).answered {
				unanswered++
			}
		}
		if got := porcupine.CheckOperationsTimeout(oneRepo, history, checkedFor); got != porcupine.Ok {
			t.Fatalf("seed %d: the history is %s:\n%s", seed, got, describe(history))
		}
	}
	t.Logf("%d histories of %d operations in all, %d unanswered: linearizable", n, operations, unanswered)
}

func describe(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b bytes.Buffer
	for _, op := range history {
		fmt.Fprintf(&b, "%d: %d to %d: %s\n", op.ClientId, op.Call, op.Return, oneRepo.DescribeOperation(op.Input, op.Output))
	}
	return b.String()
}

// histories is how many are recorded: they take longer than a kill.
func histories(t *testing.T) int { return max(3, cycles(t, 0)/10) }

func TestLinearizable(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		s := servertest.Start(t)
		linearizable(t, histories(t), newWire(s.URL, s.Token(api.Member)))
	})
	t.Run("postgres", func(t *testing.T) {
		s := servertest.Start(t, servertest.OnPostgres())
		linearizable(t, histories(t), newWire(s.URL, s.Token(api.Member)))
	})
	t.Run("two servers on one postgres", func(t *testing.T) {
		dsn := pgtest.DSN(t)
		shared := servertest.Configured(func(c *server.Config) { c.Database = dsn })
		one, two := servertest.Start(t, shared), servertest.Start(t, shared)
		token := one.Token(api.Member)
		linearizable(t, histories(t), newWire(one.URL, token), newWire(two.URL, token))
	})
}

// old serves every fifth read from an earlier one.
type old struct {
	http.RoundTripper
	mu    sync.Mutex
	reads int
	kept  map[string][]byte
}

func (o *old) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return o.RoundTripper.RoundTrip(r)
	}
	o.mu.Lock()
	o.reads++
	kept, stale := o.kept[r.URL.String()], o.reads%5 == 0
	o.mu.Unlock()
	if stale && kept != nil {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(kept)), Request: r}, nil
	}
	got, err := o.RoundTripper.RoundTrip(r)
	if err != nil || got.StatusCode != http.StatusOK {
		return got, err
	}
	body, err := io.ReadAll(got.Body)
	err = errors.Join(err, got.Body.Close())
	got.Body = io.NopCloser(bytes.NewReader(body))
	if o.mu.Lock(); kept == nil {
		o.kept[r.URL.String()] = body
	}
	o.mu.Unlock()
	return got, err
}

// A cache that serves an old answer, though rarely, must be found out.
func TestAStaleReadIsCaught(t *testing.T) {
	s := servertest.Start(t)
	stale := newWire(s.URL, s.Token(api.Member))
	stale.client.Transport = &old{RoundTripper: stale.client.Transport, kept: map[string][]byte{}}
	history := record(t, []*wire{stale}, 1)
	if got := porcupine.CheckOperationsTimeout(oneRepo, history, checkedFor); got != porcupine.Illegal {
		t.Errorf("a history with old answers is %s", got)
	}
}

// The model itself refuses what must not be.
func TestModel(t *testing.T) {
	now := registersState{version: 3, texts: [registers]string{"a", "", ""}}
	for name, c := range map[string]struct {
		asked request
		told  reply
		may   bool
	}{
		"a read of now":                    {request{}, reply{answered: true, state: now}, true},
		"a read of before":                 {request{}, reply{answered: true, state: registersState{version: 2}}, false},
		"a change on what stands":          {request{set: true, base: "a", text: "b"}, reply{answered: true, applied: true, state: registersState{version: 4}}, true},
		"a version that is skipped":        {request{set: true, base: "a", text: "b"}, reply{answered: true, applied: true, state: registersState{version: 5}}, false},
		"a change on another base":         {request{set: true, base: "x", text: "b"}, reply{answered: true, applied: true, state: registersState{version: 4}}, false},
		"the same text again":              {request{set: true, base: "x", text: "a"}, reply{answered: true, applied: true, state: registersState{version: 3}}, true},
		"a refusal that tells what is":     {request{set: true, base: "x", text: "b"}, reply{answered: true, state: registersState{version: 3}, holds: api.ChecksumOfString("a")}, true},
		"a refusal without a cause":        {request{set: true, base: "a", text: "b"}, reply{answered: true, state: registersState{version: 3}, holds: api.ChecksumOfString("a")}, false},
		"a refusal that tells another":     {request{set: true, base: "x", text: "b"}, reply{answered: true, state: registersState{version: 3}}, false},
		"whatever comes of the unanswered": {request{set: true, base: "a", text: "b"}, reply{}, true},
	} {
		if ok, _ := step(now, c.asked, c.told); ok != c.may {
			t.Errorf("%s is allowed: %t", name, ok)
		}
	}
}
