package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

var noon = time.Date(2026, 11, 30, 12, 9, 55, 0, time.UTC)

func keep(t *testing.T, s *Store, key api.Key, at time.Time, mine string) Kept {
	t.Helper()
	k, err := s.Keep(Kept{Key: key, At: at, Base: sum("base"), Mine: sum(mine), Theirs: sum("theirs"), Reason: "Sam changed the same lines"}, []byte(mine))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestTheKeepGivesBackWhatItTook(t *testing.T) {
	s := open(t)
	want := keep(t, s, "project_db.md", noon, "my words\r\n")
	all, err := s.Kept()
	if err != nil || len(all) != 1 || all[0] != want {
		t.Fatalf("kept %+v, %v; want %+v", all, err, want)
	}
	if text, err := s.KeptText(want.ID); err != nil || string(text) != "my words\r\n" {
		t.Errorf("text %q, %v", text, err)
	}
	if err := s.Release(want.ID); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Kept(); err != nil || len(all) != 0 {
		t.Errorf("after the release: %+v, %v", all, err)
	}
	if _, err := s.KeptText(want.ID); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("text after the release: %v", err)
	}
}

// A client that dies between keeping and placing does both again.
func TestOneConflictIsKeptOnce(t *testing.T) {
	s := open(t)
	first := keep(t, s, "a.md", noon, "mine")
	if again := keep(t, s, "a.md", noon.Add(time.Minute), "mine"); again != first {
		t.Errorf("kept a second time as %+v", again)
	}
	// Another text, and the same text of another key, are conflicts of their own,
	// also within one second.
	keep(t, s, "a.md", noon, "mine, later")
	keep(t, s, "b.md", noon, "mine")
	all, err := s.Kept()
	if err != nil || len(all) != 3 {
		t.Errorf("kept %+v, %v", all, err)
	}
}

func TestTheKeepRefusesAWrongChecksum(t *testing.T) {
	s := open(t)
	if _, err := s.Keep(Kept{Key: "a.md", Mine: sum("other")}, []byte("mine")); err == nil {
		t.Error("kept")
	}
	if _, err := s.Trash(Trashed{Key: "a.md", Checksum: sum("other")}, []byte("mine")); err == nil {
		t.Error("trashed")
	}
}

// What is in the keep is somebody's words, whatever became of the record.
func TestADamagedRecordHidesNoText(t *testing.T) {
	s := open(t)
	k := keep(t, s, "a.md", noon, "mine")
	for _, record := range []string{"", "{", `{"key":""}`} {
		path := filepath.Join(s.Dir(), "keep", k.ID, "record.json")
		if err := os.WriteFile(path, []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := s.Kept()
		if err != nil || len(all) != 1 || !all[0].Damaged || all[0].Mine != sum("mine") || !all[0].At.Equal(noon) {
			t.Fatalf("record %q: %+v, %v", record, all, err)
		}
		if text, err := s.KeptText(k.ID); err != nil || string(text) != "mine" {
			t.Errorf("record %q: text %q, %v", record, text, err)
		}
	}
}

func TestADamagedTextIsGivenWithAnError(t *testing.T) {
	s := open(t)
	k := keep(t, s, "a.md", noon, "mine")
	if err := os.WriteFile(filepath.Join(s.Dir(), "keep", k.ID, "text"), []byte("mind"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := s.KeptText(k.ID); !errors.Is(err, ErrDamaged) || string(text) != "mind" {
		t.Errorf("text %q, %v", text, err)
	}
}

// A full keep refuses, names the oldest, and drops nothing.
func TestAFullKeepRefuses(t *testing.T) {
	for name, bounds := range map[string]Bounds{
		"pieces": {Kept: 3, KeptBytes: 1 << 20},
		"bytes":  {Kept: 100, KeptBytes: 20},
	} {
		s, err := OpenBounded(t.TempDir(), bounds)
		if err != nil {
			t.Fatal(err)
		}
		var kept []Kept
		for n := range 3 {
			kept = append(kept, keep(t, s, "a.md", noon.Add(time.Duration(n)*time.Hour), fmt.Sprintf("mine %d", n)))
		}
		_, err = s.Keep(Kept{Key: "b.md", At: noon, Mine: sum("too much")}, []byte("too much"))
		var full *FullError
		if !errors.As(err, &full) || full.Pieces != 3 || full.Oldest[0] != kept[0].ID || full.Where != "keep" {
			t.Fatalf("%s: %v", name, err)
		}
		if all, err := s.Kept(); err != nil || len(all) != 3 {
			t.Errorf("%s: kept %+v, %v", name, all, err)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Dir(), "keep", ".*")); len(left) != 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func TestAKeptTextIsListedBeforeItGoes(t *testing.T) {
	s := open(t)
	old := keep(t, s, "old.md", noon, "old")
	keep(t, s, "young.md", noon.Add(20*24*time.Hour), "young")
	at := func(days int) time.Time { return noon.Add(time.Duration(days) * 24 * time.Hour) }
	for _, step := range []struct {
		day         int
		going, gone int
	}{
		{29, 0, 0},
		{30, 1, 0}, // listed for the first time
		{36, 1, 0}, // and all through the notice
		{37, 0, 1},
		{38, 0, 0},
	} {
		going, gone, err := s.RetireKept(at(step.day))
		if err != nil || len(going) != step.going || len(gone) != step.gone {
			t.Fatalf("day %d: going %+v, gone %+v, %v", step.day, going, gone, err)
		}
		for _, k := range append(going, gone...) {
			if k.ID != old.ID {
				t.Errorf("day %d: %s", step.day, k.Key)
			}
		}
	}
	// A client that slept through all of it lists first all the same.
	if going, gone, err := s.RetireKept(at(1000)); err != nil || len(going) != 1 || len(gone) != 0 {
		t.Errorf("after a long sleep: going %+v, gone %+v, %v", going, gone, err)
	}
}

func TestTheTrashGivesBackWhatItTook(t *testing.T) {
	s := open(t)
	want, err := s.Trash(Trashed{Key: "a.md", At: noon, Checksum: sum("text"), Modified: noon.Add(-time.Hour)}, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.Trashes(); err != nil || len(all) != 1 || all[0] != want {
		t.Fatalf("trash %+v, %v; want %+v", all, err, want)
	}
	if text, err := s.TrashText(want.ID); err != nil || string(text) != "text" {
		t.Errorf("text %q, %v", text, err)
	}
	later, err := s.Trash(Trashed{Key: "a.md", At: noon.Add(time.Hour), Checksum: sum("text")}, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.Trashes(); err != nil || len(all) != 1 || all[0].ID != later.ID {
		t.Errorf("removed twice, trash %+v, %v", all, err)
	}
	if _, gone, err := s.RetireTrash(noon.Add(31 * 24 * time.Hour)); err != nil || len(gone) != 0 {
		t.Errorf("gone unlisted: %+v, %v", gone, err)
	}
	if _, gone, err := s.RetireTrash(noon.Add(40 * 24 * time.Hour)); err != nil || len(gone) != 1 {
		t.Errorf("not gone: %+v, %v", gone, err)
	}
}

func TestNamesOfPiecesLeadNowhereElse(t *testing.T) {
	s := open(t)
	keep(t, s, "a.md", noon, "mine")
	if err := s.Save(agreement()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", ".", "..", "../state", "../../x", "/etc", `..\state`, ".new-1", "a/b", "A"} {
		if _, err := s.KeptText(id); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("text of %q: %v", id, err)
		}
		if err := s.Release(id); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("release of %q: %v", id, err)
		}
		if err := s.RemoveTrash(id); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("removal of %q: %v", id, err)
		}
	}
	if _, err := s.Load(); err != nil {
		t.Error(err)
	}
}

// Half a piece, as a killed client leaves it, is not one; half a removal is finished.
func TestHalfAPieceIsNone(t *testing.T) {
	s := open(t)
	k := keep(t, s, "a.md", noon, "mine")
	dir := filepath.Join(s.Dir(), "keep")
	half := filepath.Join(dir, temporaryPrefix+"1")
	if err := errors.Join(os.Mkdir(half, 0o700), os.WriteFile(filepath.Join(half, "text"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, k.ID), filepath.Join(dir, gonePrefix+k.ID)); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Kept(); err != nil || len(all) != 0 {
		t.Errorf("kept %+v, %v", all, err)
	}
	if _, _, err := s.RetireKept(noon); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, gonePrefix+"*")); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestManyMayKeepAtOnce(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			// Texts that share the time and the first characters of the name.
			if _, err := s.keep.put(noon, sum("same"), []byte("same"), Kept{Key: api.Key(fmt.Sprint(n)), Mine: sum("same")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := s.Kept()
	if err != nil || len(all) != 16 {
		t.Fatalf("%d kept, %v", len(all), err)
	}
	seen := map[api.Key]bool{}
	for _, k := range all {
		seen[k.Key] = true
	}
	if len(seen) != 16 {
		t.Errorf("one overwrote another: %v", seen)
	}
}

func TestRedactionReachesEveryCopy(t *testing.T) {
	s := open(t)
	secret, other := "the secret", "harmless"
	for _, text := range []string{secret, other} {
		keep(t, s, "a.md", noon, text)
		if _, err := s.Trash(Trashed{Key: "a.md", At: noon, Checksum: sum(text)}, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := s.PutText(sum(text), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	// A record that says something else does not save the text.
	lying, err := s.Trash(Trashed{Key: "b.md", At: noon.Add(time.Hour), Checksum: sum("x")}, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), "trash", lying.ID, "text"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Redact([]api.Checksum{sum(secret), sum("never seen")}); err != nil {
		t.Fatal(err)
	}
	kept, _ := s.Kept()
	trashed, _ := s.Trashes()
	if len(kept) != 1 || kept[0].Mine != sum(other) || len(trashed) != 1 || trashed[0].Checksum != sum(other) {
		t.Errorf("left: %+v, %+v", kept, trashed)
	}
	if _, ok := s.Text(sum(secret)); ok {
		t.Error("the base text is still there")
	}
	if text, ok := s.Text(sum(other)); !ok || string(text) != other {
		t.Error("another base text is gone")
	}
	holds(t, s.Dir(), secret)
}

// holds fails the test when a file below dir holds the text in the clear.
func holds(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("%s still holds it", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFailingDiskKeepsNothing(t *testing.T) {
	s := open(t)
	// A file where the shelf's folder belongs stands for a disk that refuses.
	if err := os.WriteFile(filepath.Join(s.Dir(), "keep"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keep(Kept{Key: "a.md", Mine: sum("mine")}, []byte("mine")); err == nil || !strings.Contains(err.Error(), "keep") {
		t.Errorf("kept: %v", err)
	}
}
