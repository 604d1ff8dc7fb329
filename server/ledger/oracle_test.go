package ledger

import (
	"context"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// oracle is the rules of a PUT once more, as naively as they can be written: it
// looks at the whole repo and works everything out anew.
type oracle struct {
	version    api.Version
	live, dead texts
	most       int // live entries
}

func (o *oracle) checksum() api.Checksum { return checksumOfHead(stateOf(o.live, o.dead).Head) }

// push gives the status of the answer.
func (o *oracle) push(push api.Push, ifMatch api.Tags) int {
	for _, key := range push.Deletions {
		if _, both := push.Entries[key]; both {
			return 400
		}
	}
	if api.CheckKeySet(api.SortedKeys(push.Entries)) != nil {
		return 400
	}
	live, dead := maps.Clone(o.live), maps.Clone(o.dead)
	var todo []api.Key
	freed := map[string]bool{}
	for _, key := range push.Deletions {
		if content, ok := o.live[key]; ok {
			todo = append(todo, key)
			freed[key.Fold()] = true
			delete(live, key)
			dead[key] = content
		}
	}
	based := 0
	for key, content := range push.Entries {
		_, named := push.BaseChecksums[key]
		stands, isLive := o.live[key]
		buried, isDead := o.dead[key]
		if isLive && stands == content || isDead && buried == content && !named && !freed[key.Fold()] {
			continue
		}
		todo = append(todo, key)
		live[key] = content
		delete(dead, key)
	}
	for key := range push.BaseChecksums {
		if _, written := push.Entries[key]; written || slices.Contains(push.Deletions, key) {
			based++
		}
	}
	if len(todo) == 0 {
		return 200
	}
	if ifMatch.Sent && (ifMatch.Any && o.version == 0 || !ifMatch.Match(o.checksum())) {
		return 412
	}
	for _, key := range todo {
		base, named := push.BaseChecksums[key]
		content, exists := o.live[key]
		switch {
		case named && (base != nil) != exists, named && exists && *base != api.ChecksumOfString(content):
			return 412
		case !named && !ifMatch.Sent && (o.version > 0 || based > 0):
			return 412
		}
	}
	if api.CheckKeySet(api.SortedKeys(live)) != nil {
		return 400
	}
	if len(live) > o.most && len(live) > len(o.live) {
		return 413
	}
	o.live, o.dead = live, dead
	o.version++
	return 200
}

// deleted is what a reader is told of deletions.
func (o *oracle) deleted() []api.Key {
	twins := map[string]bool{}
	for key := range o.live {
		twins[key.Fold()] = true
	}
	return slices.DeleteFunc(api.SortedKeys(o.dead), func(key api.Key) bool { return twins[key.Fold()] })
}

// somePush draws a push over few keys and contents, so that they meet often.
func somePush(t *rapid.T, o *oracle) (push api.Push, ifMatch api.Tags) {
	keys := []api.Key{"a", "A", "a/b", "A/B", "b", "caf\u00e9", "cafe\u0301", "d/e/f", "d"}
	contents := []string{"", "1", "2"}
	push.Entries, push.BaseChecksums = texts{}, bases{}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 4, rapid.ID).Draw(t, "keys") {
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0, 1:
			push.Deletions = append(push.Deletions, key)
		case 2:
			push.Deletions = append(push.Deletions, key)
			fallthrough
		default:
			push.Entries[key] = rapid.SampledFrom(contents).Draw(t, "content")
		}
		switch rapid.IntRange(0, 4).Draw(t, "base") {
		case 0:
			push.BaseChecksums[key] = nil
		case 1:
			push.BaseChecksums[key] = based(rapid.SampledFrom(contents).Draw(t, "base content"))
		case 2:
			if content, ok := o.live[key]; ok {
				push.BaseChecksums[key] = based(content)
			}
		}
	}
	if rapid.Bool().Draw(t, "a base of something else") {
		push.BaseChecksums["elsewhere"] = based("1")
	}
	switch rapid.IntRange(0, 5).Draw(t, "if-match") {
	case 0:
		ifMatch = anyState
	case 1, 2, 3:
		ifMatch = named(o.checksum())
	case 4:
		ifMatch = named(stateOf(texts{"a": "1"}, nil).Head.Checksum)
	}
	return push, ifMatch
}

// agree holds everything that can be read of the repo against the oracle.
func (o *oracle) agree(t *rapid.T, b *box) {
	if records := b.trail(t); len(records) != int(o.version) {
		t.Fatalf("%d audit records at version %d", len(records), o.version)
	}
	if o.version == 0 {
		if _, err := b.View(context.Background(), b.caller, repo, 0); api.CodeOf(err) != api.NotFound {
			t.Fatalf("a repo without memory: %v", err)
		}
		return
	}
	view := b.view(t, 0)
	want := stateOf(o.live, o.dead).Head
	if h := view.Head; h.Version != o.version || h.Checksum != o.checksum() || h.Entries != want.Entries || h.Bytes != want.Bytes {
		t.Fatalf("the head is %+v; want version %d and %+v", h, o.version, want)
	}
	if got := b.texts(t, view.Live); !maps.Equal(got, o.live) {
		t.Fatalf("entries are %q, want %q", got, o.live)
	}
	if got := keysOfRows(view.Deleted); !slices.Equal(got, o.deleted()) {
		t.Fatalf("tombstones are %q, want %q", got, o.deleted())
	}
	since := api.Version(rapid.IntRange(1, int(o.version)).Draw(t, "since"))
	delta := b.view(t, since)
	old := func(row store.Row) bool { return row.Version <= since }
	if !delta.Partial || !slices.Equal(delta.Live, slices.DeleteFunc(view.Live, old)) || !slices.Equal(delta.Deleted, slices.DeleteFunc(view.Deleted, old)) {
		t.Fatalf("since %d: %+v", since, delta)
	}
}

func pushesAgree(t *rapid.T, b *box) {
	o := &oracle{live: texts{}, dead: texts{}, most: 4}
	b.caller.MaxEntries = o.most
	for range rapid.IntRange(1, 12).Draw(t, "pushes") {
		push, ifMatch := somePush(t, o)
		before := o.version
		want := o.push(push, ifMatch)
		head, err := b.Push(context.Background(), b.caller, repo, push, ifMatch)
		got := 200
		if err != nil {
			got = api.CodeOf(err).Status()
		}
		if got != want {
			t.Fatalf("push %+v on version %d: got %d (%v), want %d", push, before, got, err, want)
		}
		if err == nil && (head.Version != o.version || head.Changed != (o.version > before) || head.Checksum != o.checksum()) {
			t.Fatalf("push %+v answers version %d, changed %v; want %d after %d", push, head.Version, head.Changed, o.version, before)
		}
		o.agree(t, b)
	}
}

// Whatever is pushed, the ledger and the oracle hold the same entries, versions,
// tombstones and checksums, and refuse the same pushes.
func TestPushesAgreeWithTheOracle(t *testing.T) {
	for name, open := range openStores {
		t.Run(name, func(t *testing.T) {
			s, boxes := open(t), 0
			rapid.Check(t, func(t *rapid.T) {
				boxes++
				pushesAgree(t, boxOn(t, s, boxes))
			})
		})
	}
}

func FuzzPush(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { pushesAgree(t, newBox(t)) }))
}

// Hostile keys, contents and bases never make a change that breaks a rule.
func FuzzDecide(f *testing.F) {
	f.Add("a.md", "1", "A.md", "2", "a.md/x", true)
	f.Add("caf\u00e9", "", "cafe\u0301", "\xff", "../x", false)
	f.Fuzz(func(t *testing.T, stored, content, key, text, gone string, named bool) {
		stands, err := api.ParseKey(stored)
		if err != nil {
			t.Skip()
		}
		state := stateOf(texts{stands: content}, nil)
		push := api.Push{Entries: texts{api.Key(key): text}, Deletions: []api.Key{api.Key(gone)}}
		if named {
			push.BaseChecksums = bases{api.Key(key): nil, api.Key(gone): based(content)}
		}
		ask, err := prepare(Caller{Role: api.Member}, push, tags("now", state), api.DefaultLimits)
		if err != nil {
			if _, ours := api.AsError(err); !ours {
				t.Fatalf("a push is refused without a reason: %v", err)
			}
			return
		}
		change, err := decide(state, ask, noon)
		if err != nil || change == nil {
			return
		}
		after := texts{stands: content}
		for _, w := range change.Writes {
			delete(after, w.Key)
			if !w.Deleted {
				after[w.Key] = text
			}
		}
		if err := api.CheckKeySet(api.SortedKeys(after)); err != nil {
			t.Fatalf("the change leaves %q: %v", api.SortedKeys(after), err)
		}
		if want := stateOf(after, texts{"tombstone": ""}).Head; change.Head.Checksum != want.Checksum || change.Head.Entries != want.Entries || change.Head.Bytes != want.Bytes {
			t.Fatalf("the head is %+v, want %+v", change.Head, want)
		}
	})
}
