package carry_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/archive"
	"github.com/teammem/teammem/client/carry"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/server/servertest"
)

// room is a server in a box with a member of it.
func room(t *testing.T, options ...servertest.Option) *remote.Client {
	t.Helper()
	box := servertest.Start(t, options...)
	token := box.Token(api.Member)
	server, err := remote.New(remote.Options{Server: box.URL, Token: func() string { return token }, Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// archived is an archive of texts.
func archived(texts map[api.Key]string) archive.Archive {
	a := archive.Archive{Texts: map[api.Key][]byte{}}
	for _, key := range api.SortedKeys(texts) {
		a.Entries = append(a.Entries, archive.Entry{
			Key: key, Checksum: api.ChecksumOfString(texts[key]), Bytes: len(texts[key]),
			Modified: api.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)),
		})
		a.Texts[key] = []byte(texts[key])
	}
	return a
}

func quiet(string, int, int) {}

// bring imports as the command does.
func bring(t *testing.T, server carry.Server, policy guard.Server, repo api.RepoSlug, from archive.Archive, opts carry.Options) (carry.Result, error) {
	t.Helper()
	judge := guard.New(guard.ScanRules, guard.Defaults(), policy, time.Now)
	if _, err := judge.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts.Progress = quiet
	return carry.Import(t.Context(), server, judge, repo, from, opts)
}

// outcomes is a result as a few words.
func outcomes(r carry.Result) string {
	var words []string
	for _, o := range r.Outcomes {
		words = append(words, string(o.Key)+" "+string(o.What))
	}
	return strings.Join(words, ", ")
}

func TestASecretStaysAndTheRestGoesIn(t *testing.T) {
	server := room(t)
	secret := "token gh" + "p_" + rand.Text() + rand.Text()[:10] + "\n"
	from := archived(map[api.Key]string{"a.md": "a", "b.md": secret, "c.md": "c"})
	result, err := bring(t, server, server, "acme/widgets", from, carry.Options{})
	if got, want := outcomes(result), "a.md written, b.md held, c.md written"; err != nil || got != want {
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
	if o := result.Outcomes[1]; o.Rule == "" || o.Line != 1 {
		t.Errorf("the finding is %+v", o)
	}
	answer, err := server.Get(t.Context(), "acme/widgets", remote.Query{})
	if err != nil || len(answer.Memory.Content.Entries) != 2 || answer.Memory.Content.EntryModified["a.md"] != from.Entries[0].Modified {
		t.Errorf("the repo holds %v, %v", answer.Memory.Content, err)
	}
}

// meddler is a server where somebody writes before a push arrives, or is cut off.
type meddler struct {
	*remote.Client
	before func(push api.Push) error
}

func (m *meddler) Put(ctx context.Context, repo api.RepoSlug, push api.Push, ifMatch api.Checksum) (api.PushResult, error) {
	if err := m.before(push); err != nil {
		return api.PushResult{}, err
	}
	return m.Client.Put(ctx, repo, push, ifMatch)
}

func TestWhatOthersWriteMeanwhileIsNotOverwritten(t *testing.T) {
	server := room(t)
	once := false
	busy := &meddler{server, func(api.Push) error {
		if once {
			return nil
		}
		once = true
		_, err := server.Put(t.Context(), "acme/widgets", api.Push{Entries: map[api.Key]string{"a.md": "theirs"}}, "")
		return err
	}}
	result, err := bring(t, busy, server, "acme/widgets", archived(map[api.Key]string{"a.md": "ours", "b.md": "b"}), carry.Options{})
	if got, want := outcomes(result), "a.md differs, b.md written"; err != nil || got != want {
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
	if now, err := server.Entry(t.Context(), "acme/widgets", "a.md", 0); err != nil || now.Content != "theirs" {
		t.Errorf("a.md is %q, %v", now.Content, err)
	}
}

func TestAnImportThatWasBrokenOffIsDoneOnceMore(t *testing.T) {
	server := room(t)
	texts := map[api.Key]string{"MEMORY.md": "- [x](t0.md)\n"}
	for i := range 6 {
		texts[api.Key(fmt.Sprintf("t%d.md", i))] = strings.Repeat(fmt.Sprintln("line", i), 10_000)
	}
	from := archived(texts)
	puts := 0
	cut := &meddler{server, func(push api.Push) error {
		if puts++; puts == 2 {
			return &remote.Unreachable{Server: "it", Err: io.ErrUnexpectedEOF}
		}
		if _, index := push.Entries[api.IndexKey]; index {
			t.Error("the index went before its topics")
		}
		return nil
	}}
	result, err := bring(t, cut, server, "acme/widgets", from, carry.Options{})
	written, unsent := len(result.Of(carry.Written)), len(result.Of(carry.Unsent))
	if err == nil || written == 0 || unsent == 0 || written+unsent != len(texts) {
		t.Fatalf("%s, %v", outcomes(result), err)
	}
	result, err = bring(t, server, server, "acme/widgets", from, carry.Options{})
	if err != nil || len(result.Of(carry.Same)) != written || len(result.Of(carry.Written)) != unsent {
		t.Fatalf("%s, %v; before %d were written", outcomes(result), err, written)
	}

	// What comes out again is what went in, with authors.
	var history, file bytes.Buffer
	taken, err := carry.Export(t.Context(), server, server.Server(), "acme/widgets", &history, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Write(&file, archive.Zstd, taken.Manifest, taken.Text, &history); err != nil {
		t.Fatal(err)
	}
	back, err := archive.Read(&file, archive.DefaultBounds)
	if err != nil || len(back.Entries) != len(texts) || back.History.Changes != len(texts) {
		t.Fatalf("%d entries, %+v, %v", len(back.Entries), back.History, err)
	}
	for i, e := range back.Entries {
		if e.Checksum != from.Entries[i].Checksum || e.Modified != from.Entries[i].Modified || e.User == "" || e.Version == 0 {
			t.Errorf("%+v came back", e)
		}
	}
}

func TestWhatTheServerHasNoRoomForIsNamed(t *testing.T) {
	server := room(t)
	from := archived(map[api.Key]string{"a.md": "a", "b.md": strings.Repeat("x", 260_000), "c.md": "c", "A/d.md": "d"})
	// A twin of what stands there, and an entry over the limit.
	if _, err := server.Put(t.Context(), "acme/widgets", api.Push{Entries: map[api.Key]string{"C.md": "twin"}}, ""); err != nil {
		t.Fatal(err)
	}
	result, err := bring(t, server, server, "acme/widgets", from, carry.Options{})
	if got, want := outcomes(result), "A/d.md written, a.md written, b.md refused, c.md refused"; err != nil || got != want {
		t.Fatalf("%s, %v; want %s", got, err, want)
	}
	for _, o := range result.Outcomes[2:] {
		if o.Why == "" {
			t.Errorf("%s is refused for no reason", o.Key)
		}
	}
}
