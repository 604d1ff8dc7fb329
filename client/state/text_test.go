package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

func putText(t *testing.T, s *Store, text string) {
	t.Helper()
	if err := s.PutText(sum(text), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func has(s *Store, text string) bool {
	got, ok := s.Text(sum(text))
	return ok && string(got) == text
}

func TestBaseTextsComeBackByteForByte(t *testing.T) {
	s := open(t)
	for _, text := range []string{"", "short", strings.Repeat("a line of memory\r\n", 20_000), "\xEF\xBB\xBF# BOM\n"} {
		putText(t, s, text)
		putText(t, s, text)
		if !has(s, text) {
			t.Errorf("a text of %d bytes did not come back", len(text))
		}
	}
	if _, ok := s.Text(sum("never put")); ok {
		t.Error("a text that was never put")
	}
	if _, ok := s.Text("../../state"); ok {
		t.Error("a checksum that leads elsewhere")
	}
	if err := s.PutText(sum("other"), []byte("text")); err == nil {
		t.Error("put under a wrong checksum")
	}
}

func TestBaseTextsAreFoundByTheNextProcess(t *testing.T) {
	s := open(t)
	putText(t, s, "base")
	again, err := Open(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if !has(again, "base") {
		t.Error("lost")
	}
}

func TestADamagedBaseTextIsNoText(t *testing.T) {
	s := open(t)
	for name, spoil := range map[string]func(path string) error{
		"cut":  func(path string) error { return os.Truncate(path, 0) },
		"bent": func(path string) error { return os.WriteFile(path, []byte("not zstd"), 0o600) },
		"another": func(path string) error {
			return os.Rename(filepath.Join(filepath.Dir(path), s.texts.name(sum("other"))), path)
		},
		"too long": func(path string) error { return os.Truncate(path, maxTextBytes+1<<20) },
	} {
		text := strings.Repeat(name, 100)
		putText(t, s, text)
		putText(t, s, "other")
		path := filepath.Join(s.Dir(), "texts", s.texts.name(sum(text)))
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.Text(sum(text)); ok {
			t.Errorf("%s: believed %d bytes", name, len(got))
		}
		// It is gone, and can be put again.
		putText(t, s, text)
		if !has(s, text) {
			t.Errorf("%s: not put again", name)
		}
	}
}

// A bomb in the cache must not fill the memory.
func TestABaseTextThatUnpacksTooFarIsNoText(t *testing.T) {
	s := open(t)
	putText(t, s, "opens the coders")
	bomb := make([]byte, maxTextBytes+1)
	packed := s.texts.pack.EncodeAll(bomb, nil)
	if err := os.WriteFile(filepath.Join(s.Dir(), "texts", s.texts.name(api.ChecksumOf(bomb))), packed, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Text(api.ChecksumOf(bomb)); ok {
		t.Error("unpacked")
	}
	if err := s.PutText(api.ChecksumOf(bomb), bomb); err != nil {
		t.Errorf("a text too large to keep is no fault: %v", err)
	}
}

func TestTheLeastRecentlyUsedTextGoes(t *testing.T) {
	s, err := OpenBounded(t.TempDir(), Bounds{Texts: 3, TextBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		putText(t, s, text)
	}
	if !has(s, "one") { // used: now two is the oldest
		t.Fatal("one is gone")
	}
	putText(t, s, "four")
	if has(s, "two") || !has(s, "one") || !has(s, "three") || !has(s, "four") {
		t.Error("another went than the least recently used")
	}
}

func TestTextsAreBoundedInBytesAcrossProcesses(t *testing.T) {
	dir := t.TempDir()
	const mostBytes = 2_000
	s, err := OpenBounded(dir, Bounds{Texts: 100, TextBytes: mostBytes})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Hour)
	for n := range 20 {
		text := fmt.Sprintf("%d %s", n, sum(fmt.Sprint(n))) // does not compress
		putText(t, s, text)
		path := filepath.Join(dir, "texts", s.texts.name(sum(text)))
		if err := os.Chtimes(path, at, at.Add(time.Duration(n)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = OpenBounded(dir, Bounds{Texts: 100, TextBytes: mostBytes / 2}); err != nil {
		t.Fatal(err)
	}
	putText(t, s, "the newest")
	var bytes int64
	names, err := os.ReadDir(filepath.Join(dir, "texts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := name.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	if bytes > mostBytes/2 || len(names) < 2 {
		t.Errorf("%d files, %d bytes", len(names), bytes)
	}
	last := fmt.Sprintf("%d %s", 19, sum("19"))
	if first := fmt.Sprintf("%d %s", 0, sum("0")); has(s, first) || !has(s, last) || !has(s, "the newest") {
		t.Error("the wrong ones went")
	}
}

// Another process may redact beside us.
func TestATextRemovedByAnotherProcessIsPutAgain(t *testing.T) {
	s := open(t)
	putText(t, s, "base")
	other, err := Open(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Redact([]api.Checksum{sum("base")}); err != nil {
		t.Fatal(err)
	}
	if has(s, "base") {
		t.Error("still there")
	}
	putText(t, s, "base")
	if !has(s, "base") {
		t.Error("not put again")
	}
}

func BenchmarkPutText(b *testing.B) {
	s := open(b)
	n := 0
	for b.Loop() {
		n++
		text := strings.Repeat("a line of memory\n", 100) + fmt.Sprint(n)
		if err := s.PutText(sum(text), []byte(text)); err != nil {
			b.Fatal(err)
		}
	}
}
