package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

var written = api.NewTime(time.Date(2026, 3, 1, 10, 0, 0, 123_000_000, time.UTC))

// sample is an archive's manifest and texts. A name beside ours is an entry like any
// other, and so is one with a dot.
func sample() (Manifest, map[api.Key]string, string) {
	texts := map[api.Key]string{
		"MEMORY.md": "- [A](a.md)\n", "a.md": "\ufeffone\r\n", "teammem.json": "{}", "history.jsonl": "",
		"sub/" + api.Key(strings.Repeat("long", 50)) + "/é.md": "ü\n", ".dot/x": "x",
	}
	history := `{"key":"a.md","version":1}` + "\n" + `{"key":"a.md","version":2}` + "\n"
	m := Manifest{
		Server: "https://memory.acme.example", OrgID: "org_1", Repo: "acme/widgets", Version: 7, Epoch: "e1",
		Checksum: api.ChecksumOfString("set"), Exported: written, By: "test",
		History: &History{Changes: 2, Bytes: int64(len(history)), Checksum: api.ChecksumOfString(history)},
	}
	for _, key := range api.SortedKeys(texts) {
		m.Entries = append(m.Entries, Entry{
			Key: key, Checksum: api.ChecksumOfString(texts[key]), Bytes: len(texts[key]), Modified: written,
			Version: 3, At: written, User: "dana", Client: "laptop",
		})
	}
	return m, texts, history
}

func packed(t testing.TB, form Form, m Manifest, texts map[api.Key]string, history string) []byte {
	t.Helper()
	var b bytes.Buffer
	text := func(key api.Key) (string, error) { return texts[key], nil }
	if err := Write(&b, form, m, text, strings.NewReader(history)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	m, texts, history := sample()
	for name, form := range map[string]Form{"x.tar": Plain, "x.tar.gz": Gzip, "X.TGZ": Gzip, "x.tar.zst": Zstd} {
		if got, err := FormOf(name); err != nil || got != form {
			t.Errorf("%s has form %v, %v", name, got, err)
		}
		file := packed(t, form, m, texts, history)
		got, err := Read(bytes.NewReader(file), DefaultBounds)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := m
		want.Format = format
		if !reflect.DeepEqual(got.Manifest, want) {
			t.Errorf("%s: the manifest is\n%+v, want\n%+v", name, got.Manifest, want)
		}
		back := map[api.Key]string{}
		for key, text := range got.Texts {
			back[key] = string(text)
		}
		if !maps.Equal(back, texts) {
			t.Errorf("%s: the texts are %q", name, back)
		}
		// One byte less is never taken for whole, and nor is one that changed.
		for _, cut := range []int{1, len(file) / 3, len(file) - 1, len(file) - 1025} {
			if form == Plain && cut >= len(file)-1025 {
				continue // a tar without its last zeros has lost nothing
			}
			if _, err := Read(bytes.NewReader(file[:cut]), DefaultBounds); !isDamaged(err) {
				t.Errorf("%s, cut at %d of %d: %v", name, cut, len(file), err)
			}
		}
	}
	if _, err := FormOf("x.zip"); err == nil {
		t.Error("a zip has a form")
	}
}

func isDamaged(err error) bool {
	var damaged *DamagedError
	return errors.As(err, &damaged)
}

// member is a file of an archive that is put together by hand.
type member struct {
	name, text string
	kind       byte
	link       string
}

func byHand(t testing.TB, members []member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		head := &tar.Header{Typeflag: m.kind, Name: m.name, Linkname: m.link, Size: int64(len(m.text)), Mode: 0o644, Format: tar.FormatPAX}
		if m.kind == 0 {
			head.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func manifestOf(t testing.TB, change func(*Manifest)) string {
	t.Helper()
	m := Manifest{Format: 1, Repo: "acme/widgets", Version: 1}
	for _, key := range []api.Key{"a.md", "b.md"} {
		m.Entries = append(m.Entries, Entry{Key: key, Checksum: api.ChecksumOfString("text"), Bytes: 4})
	}
	if change != nil {
		change(&m)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hostile are archives that are refused, with the place that has to be named.
func hostile(t testing.TB) map[string]struct {
	file  []byte
	place string
} {
	a, b := member{name: "memory/a.md", text: "text"}, member{name: "memory/b.md", text: "text"}
	head := func(change func(*Manifest)) member { return member{name: manifestName, text: manifestOf(t, change)} }
	key := func(k api.Key) member { return head(func(m *Manifest) { m.Entries[0].Key = k }) }
	cases := map[string]struct {
		members []member
		place   string
	}{
		"nothing in it":        {nil, "does not begin as one"},
		"no manifest first":    {[]member{a, head(nil), b}, "memory/a.md"},
		"a key that traverses": {[]member{key("../a.md")}, `"../a.md"`},
		"an absolute key":      {[]member{key("/etc/passwd")}, `"/etc/passwd"`},
		"a key of git's":       {[]member{key(".git/config")}, `".git/config"`},
		"an encoded traversal": {[]member{key("%2e%2e/a.md")}, `"%2e%2e/a.md"`},
		"a NUL":                {[]member{key("a\x00b")}, "control"},
		"a key twice":          {[]member{key("b.md")}, `"b.md" behind "b.md"`},
		"twins":                {[]member{key("B.md")}, `"B.md"`},
		"unsorted keys":        {[]member{key("c.md")}, `"b.md" behind "c.md"`},
		"a folder of another":  {[]member{head(func(m *Manifest) { m.Entries[1].Key = "a.md/b.md" })}, `"a.md"`},
		"no checksum":          {[]member{head(func(m *Manifest) { m.Entries[1].Checksum = "sha256:00" })}, `"b.md"`},
		"a size below nothing": {[]member{head(func(m *Manifest) { m.Entries[1].Bytes = -1 })}, `"b.md"`},
		"a huge entry":         {[]member{head(func(m *Manifest) { m.Entries[1].Bytes = 1 << 40 })}, `"b.md"`},
		"a huge history":       {[]member{head(func(m *Manifest) { m.History = &History{Bytes: 1 << 60} })}, "history"},
		"names twice in JSON":  {[]member{{name: manifestName, text: `{"teammem_export":1,"teammem_export":1}`}}, "teammem.json"},
		"not JSON":             {[]member{{name: manifestName, text: `teammem`}}, "teammem.json"},
		"another's JSON":       {[]member{{name: manifestName, text: `{"name":"x"}`}}, "teammem.json"},
		"an entry missing":     {[]member{head(nil), a}, "memory/b.md"},
		"entries swapped":      {[]member{head(nil), b, a}, "memory/b.md"},
		"an entry twice":       {[]member{head(nil), a, a, b}, "memory/a.md"},
		"an entry too many":    {[]member{head(nil), a, b, {name: "memory/c.md", text: "x"}}, "memory/c.md"},
		"a folder":             {[]member{head(nil), {name: "memory/", kind: tar.TypeDir}, a, b}, "memory/"},
		"a symbolic link":      {[]member{head(nil), {name: "memory/a.md", kind: tar.TypeSymlink, link: "/etc/passwd"}, b}, "memory/a.md"},
		"a hard link":          {[]member{head(nil), {name: "memory/a.md", kind: tar.TypeLink, link: "teammem.json"}, b}, "memory/a.md"},
		"a device":             {[]member{head(nil), {name: "memory/a.md", kind: tar.TypeChar}, b}, "memory/a.md"},
		"another text":         {[]member{head(nil), {name: "memory/a.md", text: "tex!"}, b}, "memory/a.md"},
		"a longer text":        {[]member{head(nil), {name: "memory/a.md", text: "text and more"}, b}, "memory/a.md"},
		"not UTF-8": {[]member{
			head(func(m *Manifest) { m.Entries[0].Checksum = api.ChecksumOfString("te\xfft") }),
			{name: "memory/a.md", text: "te\xfft"},
			b,
		}, "memory/a.md"},
		"no history": {[]member{head(func(m *Manifest) { m.History = &History{} }), a, b}, "history.jsonl"},
		"another history": {[]member{
			head(func(m *Manifest) { m.History = &History{Changes: 1, Bytes: 2, Checksum: api.ChecksumOfString("x")} }), a, b,
			{name: "history.jsonl", text: "y\n"},
		}, "history.jsonl"},
		"a form to come": {[]member{{name: manifestName, text: `{"teammem_export":2}`}}, "a newer client"},
	}
	all := map[string]struct {
		file  []byte
		place string
	}{}
	for name, c := range cases {
		all[name] = struct {
			file  []byte
			place string
		}{byHand(t, c.members), c.place}
	}
	whole := byHand(t, []member{head(nil), a, b})
	bomb := bytes.Buffer{}
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(whole)
	_, _ = z.Write(make([]byte, 2<<20))
	_ = z.Close()
	for name, file := range map[string][]byte{"zeros without end": bomb.Bytes(), "more behind it": append(bytes.Clone(whole), "more"...)} {
		all[name] = struct {
			file  []byte
			place string
		}{file, "memory/b.md"}
	}
	return all
}

func TestHostileArchivesAreRefusedWithThePlace(t *testing.T) {
	for name, c := range hostile(t) {
		got, err := Read(bytes.NewReader(c.file), DefaultBounds)
		if err == nil || !strings.Contains(err.Error(), c.place) {
			t.Errorf("%s: %v, want %q named", name, err, c.place)
		}
		if got.Texts != nil || got.Entries != nil {
			t.Errorf("%s: something of it was given", name)
		}
	}
}

func TestBoundsHold(t *testing.T) {
	whole := byHand(t, []member{{name: manifestName, text: manifestOf(t, nil)}, {name: "memory/a.md", text: "text"}, {name: "memory/b.md", text: "text"}})
	for _, b := range []Bounds{{1, 10, 10}, {2, 3, 10}, {2, 4, 7}} {
		if _, err := Read(bytes.NewReader(whole), b); !isDamaged(err) {
			t.Errorf("%+v: %v", b, err)
		}
	}
	if _, err := Read(bytes.NewReader(whole), Bounds{2, 4, 8}); err != nil {
		t.Error(err)
	}
}

// What is read is what every rule lets through, whatever the bytes were.
func FuzzRead(f *testing.F) {
	m, texts, history := sample()
	for _, form := range []Form{Plain, Gzip, Zstd} {
		f.Add(packed(f, form, m, texts, history))
	}
	for name, c := range hostile(f) {
		if name != "zeros without end" {
			f.Add(c.file)
		}
	}
	bounds := Bounds{Entries: 50, EntryBytes: 1 << 16, Bytes: 1 << 20}
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := Read(bytes.NewReader(file), bounds)
		if err != nil {
			if got.Texts != nil {
				t.Fatal("a damaged archive gave texts")
			}
			return
		}
		keys := make([]api.Key, 0, len(got.Entries))
		for _, e := range got.Entries {
			if _, err := api.ParseKey(string(e.Key)); err != nil || api.ChecksumOf(got.Texts[e.Key]) != e.Checksum {
				t.Fatalf("%q came through: %v", e.Key, err)
			}
			keys = append(keys, e.Key)
		}
		if err := api.CheckKeySet(keys); err != nil || len(keys) != len(got.Texts) {
			t.Fatal(err, len(got.Texts))
		}
	})
}
