package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/teammem/teammem/api"
)

// The rules of protocol 1.7, each with keys that break it.
func TestParseKeyRefuses(t *testing.T) {
	long := strings.Repeat("s", api.MaxSegmentBytes)
	for rule, keys := range map[string][]string{
		"empty":      {""},
		"key-length": {strings.Repeat("d/", api.MaxKeyBytes/2) + "x", strings.Repeat("é", api.MaxKeyBytes/2+1)},
		"utf-8":      {"a\xff.md", "\xed\xa0\x80", "a\xc0\xae", "\x80"},
		"control":    {"a\x00b", "a\nb", "a\rb", "\tb", "a\x1bb", "a\x7f", "a\u0085b", "a\u009bb"},
		"backslash":  {`a\b`, `\`, `..\a`, `\\server\share`, `a/..\..\b`, `C\a`},
		"colon":      {"C:", "C:/a", "c:a", "a:b", "a.md::$DATA", "a/b:c", "http://x/y"},
		"absolute":   {"/", "/a", "//server/share", "//a"},
		"empty-segment": {
			"a/", "a//b", "a/b/", "a///b",
		},
		"dot-segment":    {".", "..", "./a", "../a", "a/.", "a/..", "a/./b", "a/../b", "a/b/../../../c"},
		"segment-length": {long + "x", "a/" + long + "x/b", strings.Repeat("日", 86)},
		"trailing":       {"a.", "a...", "...", "a ", " ", "a /b", "a./b", "a.md.", "a.md ", "a\u00a0", "a\u3000/b", "a\u2003", "a\u1680", "..."},
		"device": {
			"con", "CON", "Con.md", "con.tar.gz", "a/nul", "nul/a", "aux.h", "prn", "com1", "COM9.txt", "com0", "lpt1", "LPT9.md", "com¹", "com².md", "lpt³",
			"conin$", "CONOUT$", "clock$", "con .md", "nul  .txt",
		},
		"reserved": {
			".git", ".GIT", "a/.git", ".git/config", ".Git/hooks/x", ".claude", "a/.Claude/settings.json", ".teammem", ".teammem/x", ".teammem-tmp", ".TeamMem.lock",
			".g\u200dit", ".git\ufe0f", "\u200b.git/config", ".clau\u00adde", ".teammem\u200d",
		},
		"percent-encoding": {
			"%2e%2e/a", "%2e%2e%2fa", "..%2fa", "a%2f..%2fb", "%2fa", "a%2f", "a%2f%2fb", "%5ca", "..%5ca", "c%3aa", "a%00.md", "%2e", "a%0ab", "a%7f",
			"%252e%252e%252fa", "%25252e%25252e%25252fa", "%252e%252e/a", "..%252fa", // two and three times
			"%u002e%u002e%u002fa", "..%u005ca", "%U002e%U002e/a", // %uXXXX
			"..%c0%afa", "%c0%ae%c0%ae/a", "%e0%80%ae%e0%80%ae/a", "%f0%80%80%ae%f0%80%80%ae/x", "%c1%9ca", // overlong
			"%c0%2fa",                                        // continuation bytes that some decoders mask unseen
			"%ef%bc%8e%ef%bc%8e%ef%bc%8fa", "%uff0e%uff0e/a", // percent, then NFKC
			"con%2emd", "a%2e", "a%20", "%2egit/config", "%63on",
		},
		"compatibility": {
			"\uff0e", "\uff0e\uff0e", "\uff0e\uff0e/a", "a/\uff0e\uff0e/b", ".\uff0e/a", // fullwidth full stop
			"\u2024", "\u2024\u2024/a", "\u2025", "\u2025/a", "a/\u2025", "a\u2024", "a\u2026", // leaders of one, two, three dots
			"a\uff0fb", "\uff0fa", "..\uff0fa", "a\uff0f\uff0fb", // fullwidth solidus
			"\u2100", "\u2101x", "a\u2105b", "x/\u2106", // a/c, a/s, c/o, c/u
			"a\ufe68b", "a\uff3cb", "\uff3c\uff3cserver", // small and fullwidth backslash
			"c\uff1aa", "a\ufe55b", // fullwidth and small colon
			"\uff43\uff4f\uff4e", "ⓒⓞⓝ.md", "\uff4e\uff55\uff4c", "com\u2460", "con\uff0emd", // device names in other dress
			"\uff0egit", ".\uff47it/config", ".ｃlaude", ".ｔeammem",
		},
	} {
		for _, key := range keys {
			got, err := api.ParseKey(key)
			var bad *api.KeyError
			if !errors.As(err, &bad) {
				t.Errorf("%+q was taken as %+q, want the rule %s", key, got, rule)
				continue
			}
			if bad.Rule.Name != rule {
				t.Errorf("%+q breaks %s, want %s", key, bad.Rule.Name, rule)
			}
			checkKeyError(t, bad)
		}
	}
}

// checkKeyError: what is said of a bad key can be shown and sent.
func checkKeyError(t *testing.T, bad *api.KeyError) {
	t.Helper()
	e := bad.Wire()
	if e.Code != api.InvalidRequest || e.Details.ErrorCode != api.ErrorCodeBadKey || e.Details.Rule != bad.Rule.Name {
		t.Errorf("%+q: the wire error is %+v", bad.Key, e)
	}
	for what, s := range map[string]string{"message": e.Message, "key": string(e.Details.Key)} {
		if !utf8.ValidString(s) || len(s) > 500 {
			t.Errorf("%+q: the error's %s is %q", bad.Key, what, s)
		}
	}
	if strings.ContainsFunc(e.Message, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%+q: the message would reach a terminal as it is: %q", bad.Key, e.Message)
	}
	if !strings.Contains(e.Message, bad.Rule.Reason) {
		t.Errorf("%+q: the message does not say why: %s", bad.Key, e.Message)
	}
}

func TestParseKeyTakes(t *testing.T) {
	for _, key := range []string{
		"MEMORY.md", "a", "feedback_testing.md", "a/b/c.md", "project.release.notes.md", "no-extension", "a-b_c+d,e;f=g@h!i'j(k)[l]{m}~n`o^p&q#r$s%.md",
		"メモ.md", "项目/备忘.md", "한국어.md", "заметки.md", "ملاحظات.md", "café.md", "cafe\u0301.md", "😀.md", "👩‍👩‍👧.md", "❤️.md", "🇩🇪.md", "two words.md", " leading.md",
		`a<b>c"d|e?f*.md`, // legal, and skipped by name on Windows
		".hidden", "a/.hidden/b", "..a", "a..b", "...a", ".gitignore", ".github/x", "git", ".gitx", ".claudeignore", "claude", "teammem",
		"console.md", "con-fig", "cons", "null", "nul_", "auxiliary", "com", "com10", "com1x", "lpt", "lpt12", "comic", "c", "cone",
		"100%.md", "100%definitely.md", "50%25.md", "a%20b", "%41.md", "%zz", "%", "%u", "%u12", "a%e9b", "%e2%82%ac.md", "c%2b%2b.md", // percent signs that lead nowhere bad
		"½.md", "№5.md", "ﬁle.md", "x².md", "™.md", "Ⅷ.md", "ａ.md", "a…b.md", "…x.md", // compatibility forms that stay one name
		"rock “n” roll.md", "a\u200db.md", "a\ufeff.md", "\u202ea.md",
		strings.Repeat("s", api.MaxSegmentBytes), strings.Repeat("日", 85), strings.Repeat("d/", (api.MaxKeyBytes-1)/2) + "x",
	} {
		got, err := api.ParseKey(key)
		if err != nil || string(got) != key {
			t.Errorf("%+q: %+q, %v", key, got, err)
			continue
		}
		if reason := odd(key); reason != "" {
			t.Errorf("%+q is taken, and %s", key, reason)
		}
	}
}

// Every rule has a name of its own and a reason that completes "the key …".
func TestKeyRules(t *testing.T) {
	names := map[string]bool{}
	for _, rule := range api.KeyRules {
		if names[rule.Name] || rule.Name == "" || rule.Reason == "" {
			t.Errorf("rule %+v", rule.Name)
		}
		names[rule.Name] = true
	}
}

// odd is an oracle of its own: why a name below a root would be more than the
// name of one file there, on any system, or empty.
func odd(key string) string {
	if !filepath.IsLocal(key) {
		return "it is not local"
	}
	if path.Clean(key) != key {
		return "it has another spelling: " + path.Clean(key)
	}
	if joined := path.Join("/root", key); !strings.HasPrefix(joined, "/root/") || joined != "/root/"+key {
		return "joined to a root it is " + joined
	}
	if strings.ContainsAny(key, "\\:\x00") || strings.ContainsFunc(key, unicode.IsControl) {
		return "it holds a character that is none of a name"
	}
	if !utf8.ValidString(key) {
		return "it is not UTF-8"
	}
	for _, segment := range strings.Split(key, "/") {
		if strings.TrimRight(segment, ". ") != segment {
			return "Windows drops the end of a segment"
		}
		if lower := strings.ToLower(segment); lower == ".git" || lower == ".claude" || strings.HasPrefix(lower, ".teammem") {
			return "it is another program's"
		}
	}
	return ""
}

// oddLater holds what a key turns into on its way through other programs against
// the same oracle.
func oddLater(key string) string {
	forms := []string{norm.NFKC.String(key)}
	decoded := key
	for range 3 {
		decoded = decodePercent(decoded)
		forms = append(forms, decoded, norm.NFKC.String(decoded))
	}
	for _, form := range forms {
		if form == key || !utf8.ValidString(form) {
			continue
		}
		if reason := odd(form); reason != "" {
			return fmt.Sprintf("as %+q %s", form, reason)
		}
	}
	return ""
}

// decodePercent is what a plain decoder does: %XX, and anything else as it is.
func decodePercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Every line of a public list of traversals, as it is and below a directory:
// what is taken is the name of one file below the root.
func TestParseKeyAgainstTraversals(t *testing.T) {
	file, err := os.Open(filepath.Join(corpus(t), "hostile", "traversal.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	root := openRoot(t)
	lines, taken := bufio.NewScanner(file), 0
	count := 0
	for lines.Scan() {
		for _, key := range []string{lines.Text(), "notes/" + lines.Text(), strings.ToUpper(lines.Text())} {
			count++
			if checkAccepted(t, root, key) {
				taken++
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if count < 3*26_000 {
		t.Errorf("the list has %d lines, want more than 26,000", count/3)
	}
	t.Logf("%d of %d were taken", taken, count)
}

// Keys put together from the pieces that traversals are made of, in every dress.
func TestParseKeyAgainstGeneratedForms(t *testing.T) {
	dots := []string{".", "\uff0e", "\u2024", "\ufe52", "%2e", "%252e", "%25252e", "%u002e", "%uff0e", "%c0%ae", "%e0%80%ae", "%ef%bc%8e", "%c0.", "%%32%65"}
	slashes := []string{"/", "\\", "\uff0f", "\uff3c", "\ufe68", "\u2100", "\u2101", "\u2105", "\u2106", "%2f", "%252f", "%25252f", "%5c", "%255c", "%u002f", "%u2215", "%c0%af", "%ef%bc%8f", "//", "/./"}
	root := openRoot(t)
	count := 0
	for _, a := range dots {
		for _, b := range dots {
			up := a + b
			for _, slash := range slashes {
				for _, form := range []string{up + slash + "x", "a" + slash + up + slash + "x", "a/" + up + slash + up + "/x", "a" + slash + up, up + "/" + up + slash + "etc" + slash + "passwd"} {
					count++
					checkAccepted(t, root, form)
				}
			}
		}
	}
	for _, form := range []string{"\u2025", "\u2026", "\u2025/x", "a\uff0f\u2025\uff0fx", "\u2100/\u2025"} {
		checkAccepted(t, root, form)
	}
	t.Logf("%d forms", count)
}

// checkAccepted reports whether the key is taken. One that is must be harmless
// by the oracle, and a file of exactly that name below the root.
func checkAccepted(t *testing.T, root *os.Root, s string) bool {
	t.Helper()
	key, err := api.ParseKey(s)
	if err != nil {
		return false
	}
	if reason := odd(s); reason != "" {
		t.Errorf("%+q was taken, and %s", s, reason)
	}
	if reason := oddLater(s); reason != "" {
		t.Errorf("%+q was taken, and %s", s, reason)
	}
	if _, err := root.Stat(string(key)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+q: the root says %v, want that there is no such file", s, err)
	}
	return true
}

func openRoot(t testing.TB) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// corpus is the directory of real memory directories.
func corpus(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("TEAMMEM_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the corpus is not here: %v; TEAMMEM_CORPUS names another place", err)
	}
	return dir
}

// Every file of the corpus can be an entry, and the files of one directory can
// all be entries of one repo.
func TestParseKeyTakesTheCorpus(t *testing.T) {
	open := filepath.Join(corpus(t), "open")
	count := 0
	byDirectory := map[string][]api.Key{}
	err := filepath.WalkDir(open, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Dir(name) == open {
			return err
		}
		rel, err := filepath.Rel(open, name)
		if err != nil {
			return err
		}
		directory, below, _ := strings.Cut(filepath.ToSlash(rel), "/")
		key, err := api.ParseKey(below)
		if err != nil {
			t.Errorf("%s: %v", rel, err)
		}
		byDirectory[directory] = append(byDirectory[directory], key)
		count++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for directory, keys := range byDirectory {
		if err := api.CheckKeySet(keys); err != nil {
			t.Errorf("%s: %v", directory, err)
		}
	}
	if len(byDirectory) != 20 || count != 260 {
		t.Errorf("%d files in %d directories, want 260 in 20", count, len(byDirectory))
	}
}

func TestTwins(t *testing.T) {
	for _, pair := range [][2]api.Key{
		{"a.md", "A.md"},
		{"MEMORY.md", "memory.MD"},
		{"d/a.md", "D/a.md"},
		{"caf\u00e9.md", "cafe\u0301.md"},
		{"CAF\u00c9.md", "cafe\u0301.md"},
		{"straße.md", "STRASSE.md"},
		{"ΣΑΣ.md", "σας.md"},
		{"ŉ.md", "ʼn.md"},
		{"ﬁ.md", "FI.md"},
		{"\u212a.md", "k.md"},
		{"\u00c5.md", "\u212b.md"},
		{"ＡＢ.md", "ａｂ.md"},                       // Kelvin, Ångström, fullwidth letters
		{"\uac00.md", "\u1100\u1161.md"},         // Hangul, composed and not
		{"a\u0323\u0307.md", "a\u0307\u0323.md"}, // two marks in either order
		{"\u0390.md", "\u03b9\u0308\u0301.md"},   // full folding decomposes
		{"\u13cf.md", "\uab9f.md"},
		{"\u13f0.md", "\u13f8.md"}, // Cherokee, which folds to capitals
		{"\u1e9e.md", "ss.md"},
		{"\u01c5", "\u01c6"}, // capital sharp s, a title case letter
	} {
		if pair[0].Fold() != pair[1].Fold() {
			t.Errorf("%+q and %+q are no twins: %+q, %+q", pair[0], pair[1], pair[0].Fold(), pair[1].Fold())
		}
		err := api.CheckKeySet([]api.Key{"x", pair[0], pair[1]})
		e, ok := api.AsError(err)
		if !ok || e.Code != api.InvalidRequest || e.Details.ErrorCode != api.ErrorCodeKeyTwin {
			t.Errorf("%+q and %+q: %v", pair[0], pair[1], err)
			continue
		}
		named := []api.Key{e.Details.Key, e.Details.Other}
		slices.Sort(named)
		want := []api.Key{pair[0], pair[1]}
		slices.Sort(want)
		if !slices.Equal(named, want) {
			t.Errorf("%+q and %+q: the error names %+q", pair[0], pair[1], named)
		}
	}
	for _, pair := range [][2]api.Key{
		{"a.md", "b.md"}, {"a.md", "a_.md"}, {"résumé.md", "resume.md"}, {"i.md", "ı.md"}, {"½.md", "1⁄2.md"}, {"ａ.md", "a.md"}, {"x².md", "x2.md"},
	} {
		if pair[0].Fold() == pair[1].Fold() {
			t.Errorf("%+q and %+q are twins", pair[0], pair[1])
		}
		if err := api.CheckKeySet(pair[:]); err != nil {
			t.Errorf("%+q and %+q: %v", pair[0], pair[1], err)
		}
	}
	if err := api.CheckKeySet([]api.Key{"a", "a"}); err != nil {
		t.Errorf("a key is no twin of itself: %v", err)
	}
}

// Whatever letter a key is written with, upper or lower case, composed or not:
// the fold is one, and is its own fold.
func TestFoldOfEveryLetter(t *testing.T) {
	count := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		s := string(r)
		if !utf8.ValidRune(r) || unicode.SimpleFold(r) == r && norm.NFD.String(s) == s {
			continue
		}
		count++
		fold := api.Key(s).Fold()
		spellings := []string{fold, norm.NFC.String(s), norm.NFD.String(s)}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			spellings = append(spellings, string(other))
		}
		for _, spelling := range spellings {
			if got := api.Key(spelling).Fold(); got != fold {
				t.Errorf("%U folds to %+q, but %+q to %+q", r, fold, spelling, got)
			}
		}
	}
	if count < 10_000 {
		t.Errorf("only %d letters have another spelling", count)
	}
}

func TestDirectoryKeys(t *testing.T) {
	for _, keys := range [][]api.Key{{"a", "a/b"}, {"a/b/c", "a"}, {"notes.md", "notes.md/today.md"}, {"A", "a/b"}, {"x/É", "x/e\u0301/y"}} {
		e, ok := api.AsError(api.CheckKeySet(keys))
		if !ok || e.Details.ErrorCode != api.ErrorCodeKeyDirectory {
			t.Errorf("%+q: %v", keys, e)
			continue
		}
		if !slices.Contains(keys, e.Details.Key) || !slices.Contains(keys, e.Details.Other) || len(e.Details.Key) > len(e.Details.Other) {
			t.Errorf("%+q: the error names %+q and %+q", keys, e.Details.Key, e.Details.Other)
		}
	}
	for _, keys := range [][]api.Key{{"a.md", "a/b"}, {"a/b", "a/c"}, {"ab", "a/b"}, nil} {
		if err := api.CheckKeySet(keys); err != nil {
			t.Errorf("%+q: %v", keys, err)
		}
	}
}

func TestKeyParts(t *testing.T) {
	for _, c := range []struct {
		key       api.Key
		ancestors []api.Key
		index     bool
		dot       bool
	}{
		{"MEMORY.md", nil, true, false},
		{"a/MEMORY.md", []api.Key{"a"}, true, false},
		{"xMEMORY.md", nil, false, false},
		{"memory.md", nil, false, false},
		{"a/b/c.md", []api.Key{"a", "a/b"}, false, false},
		{".hidden", nil, false, true},
		{"a/.b/c", []api.Key{"a", "a/.b"}, false, true},
		{"a./b", []api.Key{"a."}, false, false},
		{"", nil, false, false},
	} {
		if got := c.key.Ancestors(); !slices.Equal(got, c.ancestors) {
			t.Errorf("%q: ancestors %q, want %q", c.key, got, c.ancestors)
		}
		if c.key.IsIndex() != c.index || c.key.HasDotSegment() != c.dot {
			t.Errorf("%q: index %v, dot segment %v", c.key, c.key.IsIndex(), c.key.HasDotSegment())
		}
	}
}

// FuzzParseKey: a key that is taken names one file below the root, can be made
// there, and leaves nothing outside.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"a.md", "../a", "a/../b", "%2e%2e%2f", "\uff0e\uff0e/a", "a\u2100b", "con", "a:b", "\\\\a", ".git/x", "a.", "メモ/😀.md", "%u002e%u002e", "..%c0%af"} {
		f.Add(seed)
	}
	outside := f.TempDir()
	inside := filepath.Join(outside, "root")
	if err := os.Mkdir(inside, 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := api.ParseKey(s)
		if err != nil {
			var bad *api.KeyError
			if !errors.As(err, &bad) {
				t.Fatalf("%+q: %v (%T)", s, err, err)
			}
			checkKeyError(t, bad)
			return
		}
		if reason := odd(s); reason != "" {
			t.Fatalf("%+q was taken, and %s", s, reason)
		}
		if reason := oddLater(s); reason != "" {
			t.Fatalf("%+q was taken, and %s", s, reason)
		}
		root, err := os.OpenRoot(inside)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if dir := path.Dir(string(key)); dir != "." {
			if err := root.MkdirAll(dir, 0o755); err != nil {
				t.Fatalf("%+q: %v", s, err)
			}
		}
		if err := root.WriteFile(string(key), nil, 0o644); err != nil {
			t.Fatalf("%+q: %v", s, err)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
			t.Fatalf("%+q left %v outside the root, %v", s, entries, err)
		}
		first, _, _ := strings.Cut(string(key), "/")
		if err := root.RemoveAll(first); err != nil {
			t.Fatalf("%+q: %v", s, err)
		}
		if fold := key.Fold(); api.Key(fold).Fold() != fold {
			t.Fatalf("%+q folds to %+q and on to %+q", s, fold, api.Key(fold).Fold())
		}
	})
}

func BenchmarkParseKey(b *testing.B) {
	for _, key := range []string{"feedback_testing.md", "项目/备忘.md", "a%20b.md"} {
		b.Run(key, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := api.ParseKey(key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
