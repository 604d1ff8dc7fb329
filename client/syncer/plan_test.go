package syncer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
)

// sums are short names for checksums: "" is none, anything else stands for the
// checksum of that text.
func sum(text string) api.Checksum {
	if text == "" {
		return ""
	}
	return api.ChecksumOfString(text)
}

// TestPlan is the table of local, base and remote, one key a row.
func TestPlan(t *testing.T) {
	tests := []struct {
		name                         string
		local, base, remote, deleted string
		applied                      bool
		want                         string
	}{
		{name: "nothing anywhere", want: ""},
		{name: "in agreement", local: "a", base: "a", remote: "a", want: ""},
		{name: "equal by accident", local: "a", base: "", remote: "a", want: "agree"},
		{name: "both made the same edit", local: "b", base: "a", remote: "b", want: "agree"},
		{name: "new here", local: "a", want: "push"},
		{name: "edited here", local: "b", base: "a", remote: "a", want: "push"},
		{name: "new there", remote: "a", want: "pull"},
		{name: "edited there", local: "a", base: "a", remote: "b", want: "pull"},
		{name: "edited on both sides", local: "b", base: "a", remote: "c", want: "conflict"},
		{name: "new on both sides", local: "b", remote: "c", want: "conflict"},
		{name: "deleted here by hand", base: "a", remote: "a", want: "pull"},
		{name: "deleted here, edited there", base: "a", remote: "b", want: "pull"},
		{name: "deleted there", local: "a", base: "a", deleted: "a", want: "remove"},
		{name: "deleted there, and already gone here", base: "a", deleted: "a", want: "settle"},
		{name: "edited and then deleted there, while we slept", local: "a", base: "a", deleted: "b", want: "remove"},
		{name: "edited and then deleted there, edited here", local: "c", base: "a", deleted: "b", want: "push"},
		{name: "deleted there, edited here", local: "b", base: "a", deleted: "a", want: "push"},
		{name: "deleted there, never seen here, same bytes", local: "a", deleted: "a", want: "remove"},
		{name: "deleted, carried out, put back by hand", local: "a", deleted: "a", applied: true, want: "push"},
		{name: "deleted, carried out", deleted: "a", applied: true, want: ""},
		{name: "gone on both sides", base: "a", want: "forget"},
		{name: "gone there without a word", local: "a", base: "a", want: "missing"},
		{name: "gone there without a word, edited here", local: "b", base: "a", want: "missing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const key = "k.md"
			in := emptyInput()
			put := func(m map[api.Key]api.Checksum, text string) {
				if text != "" {
					m[key] = sum(text)
				}
			}
			if test.local != "" {
				in.Local[key] = Local{Checksum: sum(test.local)}
			}
			put(in.Base, test.base)
			put(in.Remote, test.remote)
			put(in.Deleted, test.deleted)
			if test.applied {
				put(in.Applied, test.deleted)
			}
			var got string
			if plan := Plan(in); len(plan) > 0 {
				got = string(plan[0].Kind)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestPlanNames: what cannot stand beside its neighbours is held back, alone and
// by name.
func TestPlanNames(t *testing.T) {
	tests := []struct {
		name                string
		local, base, remote string // keys, separated by spaces; the text is the key's fold
		want                string
	}{
		{"twin of the server's", "Topic.md", "", "topic.md", "hold Topic.md, pull topic.md"},
		{"twins here", "Topic.md topic.md", "", "", "push Topic.md, hold topic.md"},
		{"twins here, one agreed", "Topic.md topic.md", "topic.md", "topic.md", "hold Topic.md"},
		{"accent composed and not", "caf\u00e9.md cafe\u0301.md", "", "", "push cafe\u0301.md, hold caf\u00e9.md"},
		{"spelling changed at the server", "Topic.md", "Topic.md", "topic.md", "rename topic.md from Topic.md"},
		{"spelling changed here", "topic.md", "Topic.md", "Topic.md", "respell topic.md from Topic.md"},
		{"spelling changed here, text there", "topic.md", "", "Topic.md", "pull Topic.md, hold topic.md"},
		{"file where the server has a folder", "a", "", "a/b.md", "hold a, pull a/b.md"},
		{"folder where the server has a file", "a/b.md", "", "a", "pull a, hold a/b.md"},
		{"bad name", "con.md", "", "", "hold con.md"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := emptyInput()
			each := func(keys string, fn func(api.Key, api.Checksum)) {
				for _, key := range strings.Fields(keys) {
					fn(api.Key(key), sum(api.Key(key).Fold()))
				}
			}
			each(test.local, func(k api.Key, s api.Checksum) { in.Local[k] = Local{Checksum: s} })
			each(test.base, func(k api.Key, s api.Checksum) { in.Base[k] = s })
			each(test.remote, func(k api.Key, s api.Checksum) { in.Remote[k] = s })
			var got []string
			for _, a := range Plan(in) {
				a.Why = ""
				got = append(got, a.String())
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestPlanSettles: from any state, carrying plans out comes to an end, and every
// text that stood here is then here, at the server, in the keep, or was deleted
// there as exactly these bytes.
func TestPlanSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		before := maps.Clone(w.local)
		for round := 0; ; round++ {
			if round == 200 {
				t.Fatalf("no fixed point: %v", Plan(w.input()))
			}
			if !w.carryOut(Plan(w.input())) {
				break
			}
		}
		for key, text := range before {
			if !w.has(text) {
				t.Fatalf("%s: %q is lost", key, text)
			}
		}
		if again := Plan(w.input()); !slices.EqualFunc(again, Plan(w.input()), func(a, b Action) bool { return a == b }) {
			t.Fatalf("two plans of one input differ")
		}
		for _, a := range Plan(w.input()) {
			if a.Kind != Hold && a.Kind != Missing {
				t.Fatalf("not settled: %v", a)
			}
		}
	})
}

// world is a server and a client as maps from key to text.
type world struct {
	local, remote map[api.Key]string
	base          map[api.Key]api.Checksum
	deleted       map[api.Key]string
	applied       map[api.Key]api.Checksum
	kept          []string
	history       []string // what was agreed on once stands in the server's history
	propagate     bool
	offer         bool
}

// drawWorld grows one tree and perturbs it twice, so that neighbours, twins and
// texts in common are likely.
func drawWorld(t *rapid.T) *world {
	keys := []api.Key{"a.md", "A.md", "b.md", "b.md/c.md", "d/e.md", "D/e.md", "MEMORY.md", "caf\u00e9.md", "cafe\u0301.md", "nul.md"}
	text := rapid.SampledFrom([]string{"", "1", "2", "3"})
	w := &world{
		local: map[api.Key]string{}, remote: map[api.Key]string{}, base: map[api.Key]api.Checksum{},
		deleted: map[api.Key]string{}, applied: map[api.Key]api.Checksum{},
		propagate: rapid.Bool().Draw(t, "propagate"), offer: rapid.Bool().Draw(t, "offer"),
	}
	folds := map[string]bool{}
	for _, key := range keys {
		base := text.Draw(t, "base "+string(key))
		perturb := func(side string) string {
			if rapid.IntRange(0, 2).Draw(t, side+string(key)) == 0 {
				return text.Draw(t, side+" of "+string(key))
			}
			return base
		}
		if mine := perturb("local"); mine != "" {
			w.local[key] = mine
		}
		w.base[key] = sum(base)
		w.history = append(w.history, base)
		if theirs := perturb("remote"); theirs != "" && !folds[key.Fold()] && key != "nul.md" && key != "b.md/c.md" {
			w.remote[key] = theirs
			folds[key.Fold()] = true
		} else if base != "" && rapid.Bool().Draw(t, "tombstone of "+string(key)) {
			w.deleted[key] = base
		}
	}
	return w
}

func (w *world) input() Input {
	in := emptyInput()
	in.Propagate, in.Offer = w.propagate, w.offer
	in.Seen = func(s api.Checksum) bool {
		return slices.ContainsFunc(w.history, func(text string) bool { return text != "" && sum(text) == s })
	}
	for key, text := range w.local {
		in.Local[key] = Local{Checksum: sum(text)}
	}
	for key, text := range w.remote {
		in.Remote[key] = sum(text)
	}
	for key, text := range w.deleted {
		if _, live := w.liveTwin(key); !live {
			in.Deleted[key] = sum(text)
		}
	}
	in.Base, in.Applied = maps.Clone(w.base), maps.Clone(w.applied)
	maps.DeleteFunc(in.Base, func(_ api.Key, s api.Checksum) bool { return s == "" })
	return in
}

func (w *world) liveTwin(key api.Key) (api.Key, bool) {
	for other := range w.remote {
		if other.Fold() == key.Fold() {
			return other, true
		}
	}
	return "", false
}

// carryOut does to the maps what the syncer does to the two sides.
func (w *world) carryOut(plan []Action) (changed bool) {
	for _, a := range plan {
		key := a.Key
		switch a.Kind {
		case Hold, Missing, Blocked:
			continue
		case Agree:
			w.base[key] = a.Local
		case Forget, Settle:
			w.base[key], w.applied[key] = "", sum(w.deleted[key])
		case Pull:
			w.local[key], w.base[key] = w.remote[key], a.Remote
		case Conflict:
			w.kept = append(w.kept, w.local[key])
			w.local[key], w.base[key] = w.remote[key], a.Remote
		case Remove:
			delete(w.local, key)
			w.base[key], w.applied[key] = "", sum(w.deleted[key])
		case Rename:
			w.kept = append(w.kept, w.local[a.From])
			delete(w.local, a.From)
			w.local[key], w.base[key], w.base[a.From] = w.remote[key], a.Remote, ""
		case Push:
			if sum(w.remote[key]) != a.Base {
				panic(fmt.Sprintf("push of %s on a base that does not stand", key))
			}
			w.remote[key], w.base[key] = w.local[key], a.Local
			delete(w.deleted, key)
			delete(w.applied, key)
		case Respell:
			if sum(w.remote[a.From]) != a.Base {
				panic(fmt.Sprintf("respelling of %s on a base that does not stand", a.From))
			}
			w.remote[key], w.base[key] = w.local[key], a.Local
			w.deleted[a.From], w.base[a.From] = w.remote[a.From], ""
			delete(w.remote, a.From)
		case Delete:
			w.deleted[key], w.applied[key], w.base[key] = w.remote[key], sum(w.remote[key]), ""
			delete(w.remote, key)
		}
		changed = true
	}
	return changed
}

func (w *world) has(text string) bool {
	for _, m := range []map[api.Key]string{w.local, w.remote, w.deleted} {
		for _, other := range m {
			if other == text {
				return true
			}
		}
	}
	return slices.Contains(w.kept, text) || slices.Contains(w.history, text)
}

func emptyInput() Input {
	return Input{
		Local: map[api.Key]Local{}, Base: map[api.Key]api.Checksum{}, Remote: map[api.Key]api.Checksum{},
		Deleted: map[api.Key]api.Checksum{}, Applied: map[api.Key]api.Checksum{},
	}
}
