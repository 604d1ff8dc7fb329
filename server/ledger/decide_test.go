package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

type (
	texts = map[api.Key]string
	bases = map[api.Key]*api.Checksum
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// based names the checksum of a content as a base.
func based(content string) *api.Checksum {
	sum := api.ChecksumOfString(content)
	return &sum
}

// stateOf is a repo that holds live and has deleted dead, at version 7; one that
// holds neither has no memory.
func stateOf(live, dead texts) store.State {
	state := store.State{Rows: map[api.Key]store.Row{}}
	var sum set
	for key, content := range live {
		one := single(key, api.ChecksumOfString(content))
		sum.add(&one)
		state.Rows[key] = store.Row{Key: key, Checksum: api.ChecksumOfString(content), Size: len(content), Version: 1}
		state.Head.Entries++
		state.Head.Bytes += int64(len(content))
	}
	for key, content := range dead {
		state.Rows[key] = store.Row{Key: key, Checksum: api.ChecksumOfString(content), Deleted: true, Size: len(content), Version: 2}
	}
	if len(state.Rows) > 0 {
		state.Head.ID, state.Head.Version, state.Head.LastModified = 1, 7, noon.Add(-time.Hour)
		state.Head.Set, state.Head.Checksum = sum[:], sum.checksum()
	}
	return state
}

// tags reads the shorthand of the tables: nothing, "*", "now" for the state's own
// checksum, and anything else for another one.
func tags(ifMatch string, state store.State) api.Tags {
	switch ifMatch {
	case "":
		return api.Tags{}
	case "*":
		return api.Tags{Sent: true, Any: true}
	case "now":
		return api.Tags{Sent: true, List: []api.Checksum{checksumOfHead(state.Head)}}
	}
	return api.Tags{Sent: true, List: []api.Checksum{api.ChecksumOfString(ifMatch)}}
}

// told puts what came of a request into words: the error code of a refusal with
// the keys it names, or the keys changed.
func told(change *store.Change, err error) string {
	if err != nil {
		known, ok := api.AsError(err)
		if !ok {
			return "internal: " + err.Error()
		}
		words := []string{fmt.Sprint(known.HTTPStatus()), known.Details.ErrorCode, string(known.Details.Key), string(known.Details.Other), known.Details.Rule}
		for _, c := range known.Details.Conflicts {
			words = append(words, string(c.Key))
		}
		return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	}
	if change == nil {
		return "stands"
	}
	var words []string
	for _, w := range change.Writes {
		sign := map[bool]string{true: "-", false: "+"}[w.Deleted]
		words = append(words, sign+string(w.Key))
	}
	return strings.Join(words, " ")
}

func TestDecide(t *testing.T) {
	const conflict = "412 team_memory_conflict"
	cases := []struct {
		name       string
		live, dead texts
		push       api.Push
		ifMatch    string
		want       string
	}{
		// The table of protocol 1.3.
		{name: "the first push needs no precondition", push: api.Push{Entries: texts{"a": "1"}}, want: "+a"},
		{name: "a later one does", live: texts{"a": "1"}, push: api.Push{Entries: texts{"b": "1"}}, want: conflict},
		{name: "the current state", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2", "b": "1"}}, ifMatch: "now", want: "+a +b"},
		{name: "any state", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}}, ifMatch: "*", want: "+a"},
		{name: "any state of no memory", push: api.Push{Entries: texts{"a": "1"}}, ifMatch: "*", want: conflict},
		{name: "a stale state", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}}, ifMatch: "old", want: conflict},
		{name: "a stale state of no memory", push: api.Push{Entries: texts{"a": "1"}}, ifMatch: "old", want: conflict},
		{name: "the empty state of no memory, as a PUT has told it", push: api.Push{Entries: texts{"a": "1"}}, ifMatch: "now", want: "+a"},
		{name: "all of it stands", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "1"}, Deletions: []api.Key{"z"}}, ifMatch: "old", want: "stands"},
		{name: "nothing is asked", live: texts{"a": "1"}, want: "stands"},
		{name: "nothing is asked of no memory", ifMatch: "*", want: "stands"},
		{name: "an absent key deleted where there is no memory", push: api.Push{Deletions: []api.Key{"z"}}, want: "stands"},
		{name: "what stands is left out", live: texts{"a": "1", "b": "1"}, push: api.Push{Entries: texts{"a": "1", "b": "2"}}, ifMatch: "now", want: "+b"},

		// Preconditions of single keys, protocol 2.1.
		{name: "every base holds", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2", "b": "1"}, BaseChecksums: bases{"a": based("1"), "b": nil}}, want: "+a +b"},
		{name: "one base does not", live: texts{"a": "1", "b": "2"}, push: api.Push{Entries: texts{"a": "2", "b": "3"}, BaseChecksums: bases{"a": based("1"), "b": based("1")}}, want: conflict + " b"},
		{name: "must not exist, and does", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}, BaseChecksums: bases{"a": nil}}, want: conflict + " a"},
		{name: "must exist, and does not", live: texts{"a": "1"}, push: api.Push{Entries: texts{"b": "2"}, BaseChecksums: bases{"b": based("1")}}, want: conflict + " b"},
		{name: "a base for some keys only", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2", "b": "1"}, BaseChecksums: bases{"a": based("1")}}, want: conflict},
		{name: "a base for some and If-Match for the rest", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2", "b": "1"}, BaseChecksums: bases{"a": based("1")}}, ifMatch: "now", want: "+a +b"},
		{name: "with both, both must hold", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}, BaseChecksums: bases{"a": based("1")}}, ifMatch: "old", want: conflict},
		{name: "a key that stands holds whatever its base", live: texts{"a": "2", "b": "1"}, push: api.Push{Entries: texts{"a": "2", "b": "2"}, BaseChecksums: bases{"a": based("1"), "b": based("1")}}, want: "+b"},
		{name: "a base of a key not touched is not looked at", push: api.Push{Entries: texts{"a": "1"}, BaseChecksums: bases{"z": based("1")}}, want: "+a"},
		{name: "and is no precondition either", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}, BaseChecksums: bases{"z": nil}}, want: conflict},

		// Deletions, protocol 2.2 and S13.
		{name: "a deletion on its base", live: texts{"a": "1"}, push: api.Push{Deletions: []api.Key{"a"}, BaseChecksums: bases{"a": based("1")}}, want: "-a"},
		{name: "a deletion on an old base", live: texts{"a": "2"}, push: api.Push{Deletions: []api.Key{"a"}, BaseChecksums: bases{"a": based("1")}}, want: conflict + " a"},
		{name: "a deletion without a base", live: texts{"a": "1"}, push: api.Push{Deletions: []api.Key{"a"}}, want: conflict},
		{name: "a deletion named twice", live: texts{"a": "1"}, push: api.Push{Deletions: []api.Key{"a", "a"}}, ifMatch: "now", want: "-a"},
		{name: "a deletion of what is deleted", live: texts{"a": "1"}, dead: texts{"b": "1"}, push: api.Push{Deletions: []api.Key{"b"}, BaseChecksums: bases{"b": based("0")}}, want: "stands"},
		{name: "the deleted bytes from a stock client stay deleted", dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "1"}}, ifMatch: "old", want: "stands"},
		{name: "the rest of its push is applied", live: texts{"b": "1"}, dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "1", "b": "2"}}, ifMatch: "now", want: "+b"},
		{name: "other bytes revive", dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}}, ifMatch: "now", want: "+a"},
		{name: "other bytes revive only from the current state", dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}}, ifMatch: "old", want: conflict},
		{name: "null restores the deleted bytes", dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "1"}, BaseChecksums: bases{"a": nil}}, want: "+a"},
		{name: "null revives with other bytes", dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}, BaseChecksums: bases{"a": nil}}, want: "+a"},
		{name: "the deleted bytes as a base are no base", dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "2"}, BaseChecksums: bases{"a": based("1")}}, want: conflict + " a"},

		// Twins and directories, protocol 1.7.
		{name: "a twin", live: texts{"a": "1"}, push: api.Push{Entries: texts{"A": "1"}}, ifMatch: "now", want: "400 team_memory_key_twin A a"},
		{name: "a twin by Unicode form", live: texts{"caf\u00e9": "1"}, push: api.Push{Entries: texts{"cafe\u0301": "1"}}, ifMatch: "now", want: "400 team_memory_key_twin cafe\u0301 caf\u00e9"},
		{name: "a twin of what is deleted", dead: texts{"a": "1"}, push: api.Push{Entries: texts{"A": "1"}}, ifMatch: "now", want: "+A"},
		{name: "a rename", live: texts{"a": "1"}, push: api.Push{Entries: texts{"A": "1"}, Deletions: []api.Key{"a"}, BaseChecksums: bases{"A": nil, "a": based("1")}}, want: "+A -a"},
		{name: "a rename done already", live: texts{"A": "1"}, dead: texts{"a": "1"}, push: api.Push{Entries: texts{"A": "1"}, Deletions: []api.Key{"a"}, BaseChecksums: bases{"A": nil, "a": based("1")}}, want: "stands"},
		{name: "a rename back, which the tombstone does not hinder", live: texts{"A": "1"}, dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "1"}, Deletions: []api.Key{"A"}}, ifMatch: "now", want: "-A +a"},
		{name: "the old spelling from a stock client stays deleted", live: texts{"A": "1"}, dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "1"}}, ifMatch: "now", want: "stands"},
		{name: "the old spelling restored beside the new one", live: texts{"A": "1"}, dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "1"}, BaseChecksums: bases{"a": nil}}, want: "400 team_memory_key_twin a A"},
		{name: "below a file", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a/b/c": "1"}}, ifMatch: "now", want: "400 team_memory_key_directory a a/b/c"},
		{name: "below a file of another spelling", live: texts{"A": "1"}, push: api.Push{Entries: texts{"a/b": "1"}}, ifMatch: "now", want: "400 team_memory_key_directory A a/b"},
		{name: "below a file, in another spelling", live: texts{"a": "1"}, push: api.Push{Entries: texts{"A/b": "1"}}, ifMatch: "now", want: "400 team_memory_key_directory a A/b"},
		{name: "a file where a directory is", live: texts{"a/b": "1", "a/c": "1"}, push: api.Push{Entries: texts{"A": "1"}}, ifMatch: "now", want: "400 team_memory_key_directory A a/b"},
		{name: "a file becomes a directory", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a/b": "1"}, Deletions: []api.Key{"a"}}, ifMatch: "now", want: "-a +a/b"},
		{name: "a directory becomes a file", live: texts{"a/b": "1", "a/c": "1"}, push: api.Push{Entries: texts{"a": "1"}, Deletions: []api.Key{"a/b", "a/c"}}, ifMatch: "now", want: "+a -a/b -a/c"},
		{name: "but not while something is left in it", live: texts{"a/b": "1", "a/c": "1"}, push: api.Push{Entries: texts{"a": "1"}, Deletions: []api.Key{"a/b"}}, ifMatch: "now", want: "400 team_memory_key_directory a a/c"},
		{name: "below what is deleted", dead: texts{"a": "1"}, push: api.Push{Entries: texts{"a/b": "1"}}, ifMatch: "now", want: "+a/b"},
		{name: "an old state is told before a twin", live: texts{"a": "1"}, push: api.Push{Entries: texts{"A": "1"}}, ifMatch: "old", want: conflict},

		// Limits, protocol 1.8: here an entry may have 8 bytes, a repo 3 entries.
		{name: "an entry of the limit", push: api.Push{Entries: texts{"a": "12345678"}}, want: "+a"},
		{name: "an entry over it", push: api.Push{Entries: texts{"a": "1", "b": "123456789"}}, want: "413 team_memory_entry_too_large b"},
		{name: "an entry over a lowered limit that stands", live: texts{"b": "123456789"}, push: api.Push{Entries: texts{"b": "123456789"}}, want: "stands"},
		{name: "as many as may be", live: texts{"a": "1"}, push: api.Push{Entries: texts{"b": "1", "c": "1"}}, ifMatch: "now", want: "+b +c"},
		{name: "one too many", live: texts{"a": "1"}, push: api.Push{Entries: texts{"b": "1", "c": "1", "d": "1"}}, ifMatch: "now", want: "413 team_memory_too_many_entries"},
		{name: "one for one", live: texts{"a": "1", "b": "1", "c": "1"}, push: api.Push{Entries: texts{"d": "1"}, Deletions: []api.Key{"a"}}, ifMatch: "now", want: "-a +d"},
		{name: "over a lowered limit, a rewrite", live: texts{"a": "1", "b": "1", "c": "1", "d": "1"}, push: api.Push{Entries: texts{"a": "2"}}, ifMatch: "now", want: "+a"},
		{name: "over a lowered limit, a deletion", live: texts{"a": "1", "b": "1", "c": "1", "d": "1", "e": "1"}, push: api.Push{Deletions: []api.Key{"a"}}, ifMatch: "now", want: "-a"},
		{name: "over a lowered limit, one more", live: texts{"a": "1", "b": "1", "c": "1", "d": "1"}, push: api.Push{Entries: texts{"e": "1"}}, ifMatch: "now", want: "413 team_memory_too_many_entries"},

		// What is wrong whatever the state.
		{name: "a bad key", push: api.Push{Entries: texts{"../a": "1"}}, want: "400 team_memory_bad_key ../a dot-segment"},
		{name: "a bad key deleted", push: api.Push{Deletions: []api.Key{"a//b"}}, want: "400 team_memory_bad_key a//b empty-segment"},
		{name: "written and deleted", live: texts{"a": "1"}, push: api.Push{Entries: texts{"a": "1"}, Deletions: []api.Key{"a"}}, ifMatch: "now", want: "400 team_memory_key_twice a"},
		{name: "twins in one push", push: api.Push{Entries: texts{"a": "1", "A": "1"}}, want: "400 team_memory_key_twin a A"},
		{name: "a file and what is in it in one push", push: api.Push{Entries: texts{"a": "1", "a/b": "1"}}, want: "400 team_memory_key_directory a a/b"},
		{name: "no UTF-8", push: api.Push{Entries: texts{"a": "\xff"}}, want: "400 bad_body a"},
	}
	limits := api.Limits{EntryBytes: 8, RepoEntries: 3}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			state := stateOf(c.live, c.dead)
			var change *store.Change
			ask, err := prepare(Caller{Role: api.Member}, c.push, tags(c.ifMatch, state), limits)
			if err == nil {
				change, err = decide(state, ask, noon)
			}
			if got := told(change, err); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The 412 tells what a client needs for a new plan.
func TestConflictTellsWhatStands(t *testing.T) {
	state := stateOf(texts{"a": "2", "b": "1"}, texts{"c": "1"})
	ask, err := prepare(Caller{Role: api.Member}, api.Push{
		Entries:       texts{"a": "3", "b": "2", "c": "2"},
		BaseChecksums: bases{"a": based("1"), "b": based("1"), "c": based("1")},
	}, api.Tags{}, api.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	_, err = decide(state, ask, noon)
	refusal, ok := api.AsError(err)
	if !ok || refusal.Details.Version == nil {
		t.Fatalf("got %v, want a conflict with the version", err)
	}
	d := refusal.Details
	if *d.Version != 7 || d.Checksum != state.Head.Checksum {
		t.Errorf("the conflict names version %d and %s", *d.Version, d.Checksum)
	}
	if len(d.Conflicts) != 2 || *d.Conflicts[0].Checksum != *based("2") || d.Conflicts[1].Checksum != nil {
		t.Errorf("the conflict names %+v, want a with what stands there and c with null", d.Conflicts)
	}
}

func TestTooManyEntriesTellsTheNumbers(t *testing.T) {
	state := stateOf(texts{"a": "1", "b": "1"}, nil)
	push := api.Push{Entries: texts{"a": "2", "c": "1", "d": "1"}}
	ask, err := prepare(Caller{MaxEntries: 3, Role: api.Member}, push, tags("now", state), api.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	_, err = decide(state, ask, noon)
	if e, ok := api.AsError(err); !ok || e.Details.MaxEntries != 3 || e.Details.ReceivedEntries != 4 {
		t.Errorf("got %v, want max 3 and received 4", err)
	}
}

// A push that names more keys than any repo may hold is refused before any work.
func TestPushOfVeryManyKeys(t *testing.T) {
	push := api.Push{Entries: texts{}}
	for i := range mostKeys {
		push.Entries[api.Key(fmt.Sprint("n", i))] = ""
	}
	ask, err := prepare(Caller{MaxEntries: mostKeys, Role: api.Member}, push, api.Tags{}, api.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	change, err := decide(stateOf(nil, nil), ask, noon)
	if err != nil || change.Head.Entries != mostKeys {
		t.Fatalf("a push of all a repo may hold: %v", err)
	}
	if want := stateOf(push.Entries, nil).Head; change.Head.Checksum != want.Checksum {
		t.Errorf("its checksum is %s, want %s", change.Head.Checksum, want.Checksum)
	}
	push.Deletions = []api.Key{"one more"}
	_, err = prepare(Caller{Role: api.Member}, push, api.Tags{}, api.DefaultLimits)
	if got := told(nil, err); got != "413 team_memory_too_many_entries" {
		t.Errorf("one key more: %s", got)
	}
}

func TestChangeNumbersAndTimes(t *testing.T) {
	earlier, later := noon.Add(-24*time.Hour), noon.Add(time.Hour)
	state := stateOf(texts{"a": "1", "b": "1234"}, nil)
	state.Head.LastModified = later // the clock was put back
	ask, err := prepare(Caller{UserName: "dana", User: 3, Token: 4, TokenUID: "tok_4", Client: "laptop", Role: api.Member}, api.Push{
		Entries:   texts{"a": "22", "c": "333", "d": "4"},
		Deletions: []api.Key{"b"},
		Modified:  map[api.Key]api.Time{"a": api.NewTime(earlier), "c": api.NewTime(later), "z": api.NewTime(earlier)},
	}, tags("now", state), api.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	change, err := decide(state, ask, noon.Add(1500*time.Microsecond))
	if err != nil {
		t.Fatal(err)
	}
	after := stateOf(texts{"a": "22", "c": "333", "d": "4"}, nil).Head
	got := change.Head
	if got.Version != 8 || got.Entries != 3 || got.Bytes != 6 || got.Checksum != after.Checksum || !got.LastModified.Equal(later) {
		t.Errorf("the head is %+v", got)
	}
	now := noon.Add(time.Millisecond)
	want := []store.Write{
		{Key: "a", Previous: *based("1"), Checksum: *based("22"), Size: 2, Modified: earlier},
		{Key: "b", Previous: *based("1234"), Checksum: *based("1234"), Size: 4, Modified: now, Deleted: true},
		{Key: "c", Checksum: *based("333"), Size: 3, Modified: now},
		{Key: "d", Checksum: *based("4"), Size: 1, Modified: now},
	}
	for i, w := range change.Writes {
		if w.Body != nil && w.Body.Checksum != w.Checksum || w.Deleted != (w.Body == nil) {
			t.Errorf("%s has body %+v", w.Key, w.Body)
		}
		w.Body, w.Fold = nil, ""
		if i >= len(want) || w != want[i] {
			t.Errorf("got %+v", w)
		}
	}
	r := change.Audit
	if !r.Verify(state.Head.AuditHead) || r.Hash != got.AuditHead || r.Seq != 8 || r.User != "dana" || r.TokenUID != "tok_4" || r.Client != "laptop" {
		t.Errorf("the audit record is %+v", r)
	}
	subject := fmt.Sprintf(`{"checksum":%q,"keys":[{"key":"a","before":%q,"after":%q},{"key":"b","before":%q},{"key":"c","after":%q},{"key":"d","after":%q}]}`,
		got.Checksum, *based("1"), *based("22"), *based("1234"), *based("333"), *based("4"))
	if string(r.Subject) != subject {
		t.Errorf("the subject is\n%s, want\n%s", r.Subject, subject)
	}
}

// A head that does not fit its set is damage, and nothing is built on it.
func TestDecideRefusesADamagedHead(t *testing.T) {
	for name, damage := range map[string]func(*store.Head){
		"a flipped bit": func(h *store.Head) { h.Set[100] ^= 1 },
		"cut off":       func(h *store.Head) { h.Set = h.Set[:100] },
		"lost":          func(h *store.Head) { h.Set = nil },
	} {
		t.Run(name, func(t *testing.T) {
			state := stateOf(texts{"a": "1"}, nil)
			damage(&state.Head)
			ask, err := prepare(Caller{Role: api.Member}, api.Push{Entries: texts{"a": "2"}}, tags("now", state), api.DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			if change, err := decide(state, ask, noon); err == nil {
				t.Errorf("got %s", told(change, err))
			}
		})
	}
}
