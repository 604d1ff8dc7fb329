package reading

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

const repo = api.RepoSlug("acme/widgets")

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// counted is a ledger that counts how often a whole repo is read.
type counted struct {
	*ledger.Ledger
	views int
}

func (c *counted) View(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, since api.Version) (ledger.View, error) {
	c.views++
	return c.Ledger.View(ctx, caller, repo, since)
}

type box struct {
	*Desk
	t      *testing.T
	ledger *counted
	store  store.Store
	dana   ledger.Caller
	clock  time.Time
}

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, store: memory.New(), clock: noon}
	org, err := b.store.CreateOrganization(t.Context(), store.Organization{UID: "org_1", Name: "acme", Created: noon})
	if err != nil {
		t.Fatal(err)
	}
	b.dana = ledger.Caller{Org: org.ID, OrgUID: org.UID}
	b.dana = b.person("dana", "laptop")
	b.ledger = &counted{Ledger: ledger.New(slog.New(slog.DiscardHandler), b.store, func() time.Time { return b.clock }, api.DefaultLimits, nil, nil)}
	b.Desk = New(b.ledger)
	return b
}

// person is a member of the box's organization.
func (b *box) person(name, client string) ledger.Caller {
	b.t.Helper()
	token, err := b.store.CreateToken(b.t.Context(), store.Token{
		UID: "tok_" + name, Org: b.dana.Org, UserName: name, Role: api.Member, Hash: sha256.Sum256([]byte(name)), Prefix: "tm_1", Created: noon,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return ledger.Caller{Org: b.dana.Org, OrgUID: b.dana.OrgUID, User: token.User, UserName: name, Token: token.ID, TokenUID: token.UID, Role: api.Member, Client: client}
}

// write pushes entries a minute after the last push.
func (b *box) write(who ledger.Caller, entries map[api.Key]string) {
	b.t.Helper()
	b.clock = b.clock.Add(time.Minute)
	push := api.Push{Entries: entries}
	if _, err := b.ledger.Push(b.t.Context(), who, repo, push, api.Tags{Sent: true, Any: true}); err != nil {
		if _, err = b.ledger.Push(b.t.Context(), who, repo, push, api.Tags{}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *box) catalogue() *Catalogue {
	b.t.Helper()
	c, err := b.Catalogue(b.t.Context(), b.dana, repo)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func topic(kind, body string) string {
	return "---\nname: " + kind + "\ndescription: what of " + kind + "\ntype: " + kind + "\n---\n" + body
}

func TestCatalogue(t *testing.T) {
	b := newBox(t)
	b.write(b.dana, map[api.Key]string{
		"MEMORY.md":    "- [testing](feedback.md) — how\n- [gone](gone.md) — was\n",
		"feedback.md":  topic("feedback", "see [[project]] and [[nowhere]], not [code](../main.go)\n"),
		"project.md":   topic("project", "a\n"),
		"alone.md":     "no head\n",
		"sub/notes.md": topic("reference", "[up](../project.md)\n"),
	})
	b.write(b.person("lee", "desk"), map[api.Key]string{"project.md": topic("project", "b\n")})

	c := b.catalogue()
	if got := b.catalogue(); got != c || b.ledger.views != 1 {
		t.Errorf("a repo that stands is read %d times", b.ledger.views)
	}
	project := c.Get("project.md")
	if project.User != "lee" || project.Client != "desk" || !project.At.Equal(b.clock) || project.Head.Description != "what of project" || string(project.Head.Type) != "project" {
		t.Errorf("%+v", project)
	}
	if want := []api.Key{"feedback.md", "sub/notes.md"}; !reflect.DeepEqual(project.LinkedBy, want) {
		t.Errorf("project.md is linked by %v, want %v", project.LinkedBy, want)
	}
	if got, want := c.Orphans(), []api.Key{"alone.md", "sub/notes.md"}; !reflect.DeepEqual(got, want) {
		t.Errorf("orphans are %v, want %v", got, want)
	}
	want := map[api.Key][]Link{
		"MEMORY.md":   {{Target: "gone.md", Line: 2, Listed: true, Dangles: true}},
		"feedback.md": {{Target: "nowhere", Line: 6, Wiki: true, Dangles: true}},
	}
	if got := c.Dangling(); !reflect.DeepEqual(got, want) {
		t.Errorf("dangling are %+v, want %+v", got, want)
	}
	index := c.Indexes[0]
	if want := []api.Key{"alone.md", "project.md", "sub/notes.md"}; !reflect.DeepEqual(index.Missing, want) || len(index.Outside) != 0 || index.Cut.Over() {
		t.Errorf("the index misses %v, want %v; outside are %v", index.Missing, want, index.Outside)
	}
}

func TestAnIndexThatIsTooLong(t *testing.T) {
	b := newBox(t)
	b.write(b.dana, map[api.Key]string{
		"MEMORY.md": strings.Repeat("a line\n", 200) + "- [late](late.md) — nobody is told\n",
		"late.md":   "late",
	})
	index := b.catalogue().Indexes[0]
	if !index.Cut.ByLines || index.Cut.Kept != 200 || index.Cut.Lines != 201 || len(index.Outside) != 1 || index.Outside[0].To != "late.md" || index.Outside[0].Line != 201 {
		t.Errorf("%+v outside %+v", index.Cut.Warning(), index.Outside)
	}
	if index.Entry.Cut.Text != "" {
		t.Error("the entry keeps the index's text as well")
	}
}

func TestFilter(t *testing.T) {
	b := newBox(t)
	b.write(b.dana, map[api.Key]string{"a.md": topic("project", "a"), "sub/b.md": "b"})
	first := b.clock
	b.write(b.person("lee", "desk"), map[api.Key]string{"c.md": topic("feedback", "c")})
	for _, test := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "a.md c.md sub/b.md"},
		{Filter{Type: "project"}, "a.md"},
		{Filter{Type: "none"}, "sub/b.md"},
		{Filter{Author: "lee"}, "c.md"},
		{Filter{Prefix: "sub/"}, "sub/b.md"},
		{Filter{After: b.clock}, "c.md"},
		{Filter{Before: first}, ""},
		{Filter{Before: b.clock}, "a.md sub/b.md"},
	} {
		var got []string
		for _, e := range b.catalogue().Entries {
			if test.filter.Admits(e) {
				got = append(got, string(e.Key))
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %v, want %s", test.filter, got, test.want)
		}
	}
}

func TestBlameOfAnEntry(t *testing.T) {
	b := newBox(t)
	b.write(b.dana, map[api.Key]string{"a.md": "one\ntwo\nthree\n"})
	b.write(b.person("lee", "desk"), map[api.Key]string{"a.md": "one\n2\nthree\nfour"})
	lines, err := b.Blame(t.Context(), b.dana, repo, "a.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		got = append(got, l.User+" "+strings.TrimSuffix(l.Text, "\n"))
	}
	if want := "dana one|lee 2|dana three|lee four"; strings.Join(got, "|") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if _, err := b.Blame(t.Context(), b.dana, repo, "none.md"); api.CodeOf(err) != api.NotFound {
		t.Errorf("an entry that is not there: %v", err)
	}
}

// A long history is looked at as far as the bound; what is older is said to be.
func TestBlameIsBounded(t *testing.T) {
	b := newBox(t)
	for i := range blameVersions + 5 {
		b.write(b.dana, map[api.Key]string{"a.md": "first\n" + strings.Repeat("x", i) + "\n"})
	}
	lines, err := b.Blame(t.Context(), b.dana, repo, "a.md")
	if err != nil || !lines[0].Older || lines[0].Version != 6 || lines[1].Older || lines[1].Version != blameVersions+5 {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestExport(t *testing.T) {
	b := newBox(t)
	want := map[string]string{"MEMORY.md": "- a\n", "sub/ü.md": strings.Repeat("text\r\n", 10_000), "empty.md": ""}
	entries := map[api.Key]string{}
	for name, text := range want {
		entries[api.Key(name)] = text
	}
	b.write(b.dana, entries)
	for form, unpack := range map[Format]func(*testing.T, []byte) map[string]string{TarGz: untar, Zip: unzip} {
		export, err := b.Export(t.Context(), b.dana, repo, form)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		if err := export.Write(t.Context(), &packed); err != nil {
			t.Fatal(err)
		}
		if got := unpack(t, packed.Bytes()); !reflect.DeepEqual(got, want) || export.Name != "widgets-memory-1."+string(form) {
			t.Errorf("%s: %d files come back", export.Name, len(got))
		}
	}
}

func untar(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(unpacked); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(noon.Add(time.Minute)) {
			t.Errorf("%s is of %s", header.Name, header.ModTime)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

func unzip(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}
