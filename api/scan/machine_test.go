package scan

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMachineMissesNothing: where the expression matches, so does the machine, at
// the same place or beyond. It may match where the expression does not.
func TestMachineMissesNothing(t *testing.T) {
	s := newScanner(t)
	d := newDesk(s)
	var starts []*start
	for _, st := range s.starts {
		if !st.near {
			starts = append(starts, st)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		st := rapid.SampledFrom(starts).Draw(t, "start")
		rng := seeded(rapid.StringN(1, 8, -1).Draw(t, "seed"))
		text := []byte(generate(rng, st.tree()) + rapid.StringMatching(`[ -~é]{0,20}`).Draw(t, "rest"))
		loc := st.regexp().FindIndex(text)
		clear(d.met)
		last, _ := d.run(text, st.index, 0)
		if loc != nil && last < 0 {
			t.Fatalf("%s: the machine does not match %q", st.rule.id, text)
		}
	})
}

// TestMachineStartsOver: throwing states away changes nothing.
func TestMachineStartsOver(t *testing.T) {
	st := &start{rule: &rule{pattern: `ab[a-z]{3,40}(?:x|yy){2,9}\d`}}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`ab[a-cx-z]{3,40}(x|yy){0,9}[0-9]?`).Draw(t, "text")
		accepts := func(clear bool) bool {
			m := newMachine(st.program())
			state := initial
			for i := range len(text) {
				if clear && i == len(text)/2 {
					for len(m.sets) < mostStates {
						m.add(nil, false)
					}
				}
				state = m.build(state, int(m.class[text[i]])) &^ accepting
			}
			return m.accept[state]
		}
		if accepts(true) != accepts(false) {
			t.Fatalf("%q", text)
		}
	})
}

// TestStarts shows how expressions are taken apart.
func TestStarts(t *testing.T) {
	cases := []struct {
		pattern string
		leads   []string
		back    int
		left    boundary
	}{
		{`ghp_[0-9a-zA-Z]{36}`, []string{"ghp_"}, 0, noBoundary},
		{`\b(AKIA[A-Z2-7]{16})\b`, []string{"akia"}, 0, wordBoundary},
		{`(?:ghu|ghs)_\w{36}`, []string{"ghs_", "ghu_"}, 0, noBoundary},
		{`(?i)[\w.-]{0,50}?(?:adobe)(?:[ \t\w.-]{0,20})=`, []string{"adobe"}, 0, noBoundary},
		{`[a-z0-9]{14}\.atlasv1\.x+`, []string{".atlasv1."}, 14, noBoundary},
		{"(?:^|[\\\\'\"\\x60\\s>=:(,)])([a-z]{3}\\dQ~[a-z]{31})", []string{"0q~", "1q~", "2q~", "3q~", "4q~", "5q~", "6q~", "7q~", "8q~", "9q~"}, 3, tokenBoundary},
		{`(?:https?://)?hooks\.slack`, []string{"hooks.slack"}, 0, noBoundary},
		{`https?://x`, []string{"http://x", "https://x"}, 0, noBoundary},
	}
	for _, c := range cases {
		starts, err := startsOf(c.pattern, nil)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		st := starts[0]
		if !slices.Equal(st.leads, c.leads) || st.back != c.back || st.left != c.left {
			t.Errorf("%s: leads %q, back %d, left %d; want %q, %d, %d", c.pattern, st.leads, st.back, st.left, c.leads, c.back, c.left)
		}
	}
	if _, err := startsOf(`[a-z]+@?`, nil); err == nil {
		t.Error("an expression without a literal got a start")
	}
}

// TestLiterals holds the pass over a text against a search for one word after another.
func TestLiterals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c_.]{1,4}`), 1, 12, rapid.ID[string]).Draw(t, "words")
		text := rapid.StringMatching(`[a-cA-C_.xé]{0,60}`).Draw(t, "text")
		var list []literal
		for i, w := range words {
			list = append(list, literal{w, i})
		}
		type hit struct{ end, id int }
		got := map[hit]bool{}
		newLiterals(list).find([]byte(text), 0, len(text), func(end int, ids []uint16) bool {
			for _, id := range ids {
				got[hit{end, int(id)}] = true
			}
			return true
		})
		lower := strings.ToLower(text)
		for i, w := range words {
			for end := len(w); end <= len(lower); end++ {
				if want := lower[end-len(w):end] == w; got[hit{end, i}] != want {
					t.Fatalf("%q in %q at %d: %v, want %v", w, text, end, !want, want)
				}
			}
		}
	})
}

// TestViewsMapBack: every byte of a view comes from the place it names.
func TestViewsMapBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching("([a-z]{1,6}|\\n *> |\\*\\*|`|_|\\\\n|\\\\u0041|%41|%2541|&amp;|\u200b|\\| ){0,30}").Draw(t, "text"))
		original := &view{text: text}
		var spelled, joined view
		spelled.reset(original)
		unescape(&spelled)
		joined.reset(&spelled)
		join(&joined)
		for _, v := range []*view{&spelled, &joined} {
			at := 0
			for i := range v.text {
				begin, end := v.begin(i), v.end(i+1)
				if begin < at || end <= begin || end > len(text) {
					t.Fatalf("byte %d of %q is [%d, %d) of %q, the one before began at %d", i, v.text, begin, end, text, at)
				}
				at = begin
				if c := v.text[i]; c >= 'a' && c <= 'z' && end == begin+1 && text[begin] != c {
					t.Fatalf("byte %d of %q is %q in %q", i, v.text, text[begin], text)
				}
			}
		}
	})
}

// TestBehindToken: what ends a token for gitleaks ends it for us.
func TestBehindToken(t *testing.T) {
	theirs := regexp.MustCompile("\\A(?:[\\x60'\"\\s;]|\\\\[nr]|$)")
	ours := regexp.MustCompile(`\A` + mustParse(behindToken).String())
	for _, text := range []string{"", "`", "'", `"`, " ", "\n", "\t", ";", `\n`, `\r`, "*", "|", ")", "&x", ". ", "."} {
		if theirs.MatchString(text) && !ours.MatchString(text) {
			t.Errorf("%q ends a token for gitleaks only", text)
		}
	}
	for _, text := range []string{"a", "0", "_", "-", "=", ".md"} {
		if ours.MatchString(text) {
			t.Errorf("%q ends a token", text)
		}
	}
}

func TestRedact(t *testing.T) {
	s := newScanner(t)
	rng := seeded("redact")
	token, key := "ghp_"+random(rng, alphabet, 36), pem(rng, "PRIVATE KEY", 3)
	text := "a `" + token + "`\n\n" + key + "\nb /home/dana/x\n"
	got := Redact([]byte(text), mustScan(t, s, "notes.md", text), Secret)
	if want := "a `[github-pat]`\n\n[private-key]\nb /home/dana/x\n"; string(got) != want {
		t.Errorf("got %d bytes, want %q", len(got), want)
	}
	if found := mustScan(t, s, "notes.md", string(got)); slices.ContainsFunc(found, func(f Finding) bool { return f.Class == Secret }) {
		t.Errorf("still found: %v", names(found))
	}
	if !bytes.Equal(Redact([]byte("nothing"), nil, Secret), []byte("nothing")) {
		t.Error("a text without findings changed")
	}
}
