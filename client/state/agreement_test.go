package state

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

func open(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sum(text string) api.Checksum { return api.ChecksumOfString(text) }

// agreement has one of everything.
func agreement() *Agreement {
	a := NewAgreement()
	a.Server, a.OrganizationID, a.Repo = "https://memory.acme.example", "org_1", "acme/widgets"
	a.Directory, a.RootID, a.MarkerID = "/home/dana/memory/team", "dev:42", "m1"
	a.Epoch, a.Version, a.Checksum = "e1", 1204, "opaque"
	a.Synced = time.Date(2026, 11, 30, 12, 4, 9, 123456789, time.UTC)
	a.Halted = "the server's version went back"
	file := memdir.File{Key: "notes.md", Checksum: sum("mine"), Fingerprint: memdir.Fingerprint{Size: 4, MTime: -5, CTime: 6, Inode: 1<<64 - 1, At: 8}}
	a.Entries["notes.md"] = Entry{Base: sum("base"), Remote: sum("theirs"), File: file}
	file.Key, file.Checksum = "MEMORY.md", sum("same")
	a.Entries["MEMORY.md"] = Entry{Base: sum("same"), Remote: sum("same"), File: file}
	a.Entries["only there.md"] = Entry{Remote: sum("theirs")}
	a.Tombstones["old.md"] = sum("old")
	a.Refused["big.md"] = Refusal{Checksum: sum("big"), Kind: "limit", Message: "too\tlarge\nby far", Since: a.Synced, Limit: 250_000}
	return a
}

func TestLoadGivesBackWhatWasSaved(t *testing.T) {
	s := open(t)
	want := agreement()
	if err := s.Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("loaded\n%+v\nwant\n%+v", got, want)
	}
}

func TestNothingSavedIsAnEmptyAgreement(t *testing.T) {
	a, err := open(t).Load()
	if err != nil || !reflect.DeepEqual(a, NewAgreement()) {
		t.Errorf("loaded %+v, %v", a, err)
	}
}

func TestEveryAgreementSurvivesTheFormat(t *testing.T) {
	checksum := rapid.Map(rapid.StringN(0, 4, -1), func(s string) api.Checksum {
		if s == "" {
			return ""
		}
		return sum(s)
	})
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "-", "=", `"`, `"q"`, "\xff\xfe", "a\tb\n", "end\t1"}))
	rapid.Check(t, func(t *rapid.T) {
		want := NewAgreement()
		want.Directory = text.Draw(t, "directory")
		for _, key := range rapid.SliceOfN(text, 0, 8).Draw(t, "keys") {
			e := Entry{Base: checksum.Draw(t, "base"), Remote: checksum.Draw(t, "remote")}
			if rapid.Bool().Draw(t, "has a file") {
				e.File = memdir.File{Key: api.Key(key), Checksum: checksum.Draw(t, "file"), Fingerprint: memdir.Fingerprint{
					Size: rapid.Int64().Draw(t, "size"), MTime: rapid.Int64().Draw(t, "mtime"), CTime: rapid.Int64().Draw(t, "ctime"),
					Inode: rapid.Uint64().Draw(t, "inode"), At: rapid.Int64().Draw(t, "at"),
				}}
			}
			want.Entries[api.Key(key)] = e
			want.Tombstones[api.Key(key)] = checksum.Draw(t, "tombstone")
			want.Refused[api.Key(key)] = Refusal{Kind: text.Draw(t, "kind"), Rule: text.Draw(t, "rule"), Message: text.Draw(t, "message"), Line: rapid.IntRange(0, 1<<30).Draw(t, "line")}
		}
		content, err := encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(content)
		if err != nil {
			t.Fatalf("%v in\n%s", err, content)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%+v\nwant\n%+v", got, want)
		}
	})
}

// A file cut short or with one byte changed is never believed: neither in whole nor
// in part.
func TestDamageIsSeen(t *testing.T) {
	content, err := encode(agreement())
	if err != nil {
		t.Fatal(err)
	}
	for n := range content {
		if a, err := decode(content[:n]); !errors.Is(err, ErrDamaged) || a != nil {
			t.Fatalf("cut at %d: %v, %v", n, a, err)
		}
		bent := append([]byte(nil), content...)
		bent[n] ^= 0x01
		if a, err := decode(bent); !errors.Is(err, ErrDamaged) || a != nil {
			t.Fatalf("bent at %d: %v, %v", n, a, err)
		}
	}
}

func TestADamagedAgreementIsPutAside(t *testing.T) {
	s := open(t)
	path := filepath.Join(s.Dir(), "state")
	written := time.Date(2026, 11, 30, 12, 4, 9, 0, time.UTC)
	for n, name := range []string{"state.damaged-20261130T120409Z", "state.damaged-20261130T120409Z-2"} {
		if err := os.WriteFile(path, []byte("half of a sta"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
		a, err := s.Load()
		if !errors.Is(err, ErrDamaged) || !reflect.DeepEqual(a, NewAgreement()) {
			t.Fatalf("load %d: %+v, %v", n, a, err)
		}
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not say where it went: %v", err)
		}
		if kept, err := os.ReadFile(filepath.Join(s.Dir(), name)); err != nil || string(kept) != "half of a sta" {
			t.Errorf("%s holds %q, %v", name, kept, err)
		}
	}
	if a, err := s.Load(); err != nil || len(a.Entries) != 0 {
		t.Errorf("the load after that: %+v, %v", a, err)
	}
}

func TestDamagedAgreementsAreBounded(t *testing.T) {
	s := open(t)
	for range mostDamaged + 5 {
		if err := os.WriteFile(filepath.Join(s.Dir(), "state"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	}
	if all, _ := filepath.Glob(filepath.Join(s.Dir(), damagedPrefix+"*")); len(all) != mostDamaged {
		t.Errorf("%d put aside, want %d", len(all), mostDamaged)
	}
}

func TestAnAgreementOfANewerClientIsNotRead(t *testing.T) {
	content, err := encode(NewAgreement())
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(content), "\n")
	newer := strings.Replace(head, `"format":1`, `"format":2`, 1) + "\n"
	newer += fmt.Sprintf("end\t0\t%x\n", api.ChecksumOfString(newer).Sum())
	if _, err := decode([]byte(newer)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotBeReadIsNotPutAside(t *testing.T) {
	s := open(t)
	// A directory in the file's place stands for anything that is not ours to move.
	if err := os.Mkdir(filepath.Join(s.Dir(), "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(NewAgreement()); err == nil {
		t.Error("saved over a directory")
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), temporaryPrefix+"*")); len(left) != 0 {
		t.Errorf("a failed save left %v", left)
	}
}

func TestSaveRefusesWhatItCouldNotReadBack(t *testing.T) {
	for name, spoil := range map[string]func(*Agreement){
		"no checksum":         func(a *Agreement) { a.Entries["a.md"] = Entry{Base: "sha256:short"} },
		"another file's hash": func(a *Agreement) { a.Entries["a.md"] = Entry{File: memdir.File{Key: "b.md"}} },
	} {
		s, a := open(t), agreement()
		if err := s.Save(a); err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(a.Entries)
		spoil(a)
		if err := s.Save(a); err == nil {
			t.Errorf("%s: saved", name)
		}
		if got, err := s.Load(); err != nil || !reflect.DeepEqual(got.Entries, want) {
			t.Errorf("%s: the agreement before is gone: %v", name, err)
		}
	}
}

func TestOnlyTheOwnerMayLook(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing on Windows")
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("mine")
	if err := errors.Join(s.Save(agreement()), s.PutText(sum("mine"), text)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keep(Kept{Key: "a.md", Mine: sum("mine")}, text); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Trash(Trashed{Key: "a.md", Checksum: sum("mine")}, text); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil || files != 6 {
		t.Errorf("walked %d files, %v", files, err)
	}
}

func TestOpenWithoutAPlaceSaysWhatToSet(t *testing.T) {
	if _, err := Open(""); err == nil || !strings.Contains(err.Error(), "TEAMMEM_STATE_DIR") {
		t.Errorf("got %v", err)
	}
}

func TestSaveSweepsWhatAKilledSaveLeft(t *testing.T) {
	s := open(t)
	old, young := filepath.Join(s.Dir(), temporaryPrefix+"old"), filepath.Join(s.Dir(), temporaryPrefix+"young")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(agreement()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(old); !gone(err) {
		t.Errorf("the old one is still there: %v", err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("the young one may belong to a running writer: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	content, err := encode(agreement())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(content[:strings.LastIndex(string(content), "end\t")]))
	f.Add("{\"format\":1}\ne\ta\t-\t-\t-\n")
	f.Add("{\"format\":1}\ne\t\"\\xff\"\t=\t-\t-\t\n")
	f.Fuzz(func(t *testing.T, body string) {
		if _, err := decode([]byte(body)); err == nil && !strings.HasSuffix(body, "\n") {
			t.Fatal("believed a file without an end")
		}
		// With a tail that fits, the lines themselves are tried.
		body += fmt.Sprintf("end\t%d\t%x\n", strings.Count(body, "\n")-1, sum(body).Sum())
		a, err := decode([]byte(body))
		if err != nil {
			if !errors.Is(err, ErrDamaged) || a != nil {
				t.Fatalf("%v, %v", a, err)
			}
			return
		}
		again, err := encode(a)
		if err != nil {
			t.Fatalf("read, but cannot be written: %v", err)
		}
		b, err := decode(again)
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("read as\n%+v\nand then as\n%+v, %v", a, b, err)
		}
	})
}

// tenThousand is an agreement as a large team has it: most entries in sync.
func tenThousand() *Agreement {
	a := agreement()
	for n := range 10_000 {
		key := api.Key(fmt.Sprintf("folder%02d/project_topic-%05d.md", n%100, n))
		c := sum(string(key))
		e := Entry{Base: c, Remote: c, File: memdir.File{Key: key, Checksum: c, Fingerprint: memdir.Fingerprint{
			Size: int64(1000 + n), MTime: 1_796_000_000_123_456_789 + int64(n), CTime: 1_796_000_000_123_456_789 + int64(n), Inode: uint64(n), At: 1_796_000_000_123_456_789,
		}}}
		if n%10 == 0 {
			e.Remote = sum("theirs" + string(key))
		}
		a.Entries[key] = e
	}
	return a
}

func BenchmarkLoad10000(b *testing.B) {
	s := open(b)
	if err := s.Save(tenThousand()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Load(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSave10000(b *testing.B) {
	s, a := open(b), tenThousand()
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Save(a); err != nil {
			b.Fatal(err)
		}
	}
}
