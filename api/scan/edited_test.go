package scan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// wholeDesk reads every view from its beginning to its end, as [desk.matchEdited] and
// [eachBetweenEdits] need not.
type wholeDesk struct{ *desk }

func (d wholeDesk) scan(text []byte) ([]Finding, error) {
	clear(d.counts)
	d.found, d.depth, d.spent = nil, 0, effort{mostSteps: 1 << 40, mostExact: 1 << 40}
	if err := d.read(&view{text: text}); err != nil {
		return nil, err
	}
	found := settle(d.found)
	place(found, text, false)
	return found, nil
}

func (d wholeDesk) read(text *view) error {
	views := []*view{text}
	for range unescapings {
		next := &view{parent: views[len(views)-1]}
		if !unescape(next) {
			break
		}
		views = append(views, next)
	}
	readings := slices.Compact([]*view{text, views[len(views)-1]})
	if quoted := (&view{parent: text}); quotedPrintable(quoted) {
		views, readings = append(views, quoted), append(readings, quoted)
	}
	for _, v := range readings {
		if joined := (&view{parent: v}); join(joined) {
			views = append(views, joined)
		}
	}
	for _, v := range views {
		if err := d.matchWhole(v); err != nil {
			return err
		}
		if err := d.decode(v); err != nil {
			return err
		}
	}
	return nil
}

func (d wholeDesk) decode(v *view) (err error) {
	if d.depth == deepest {
		return nil
	}
	done := 0
	for from := 0; from < len(v.text); from++ {
		if sextets[v.text[from]] >= 64 || from > 0 && sextets[v.text[from-1]] < 64 {
			continue
		}
		to := from
		for to < len(v.text) && sextets[v.text[to]] < 64 {
			to++
		}
		try := func(from, to int) bool {
			if from < done {
				return true
			}
			text, used := decodeText(nil, v.text[from:to])
			if len(text) < shortestDecoded || !mostlyText(text) {
				return true
			}
			done = from + used
			d.depth++
			err = d.read(&view{text: text, parent: v, step: 4, from: from})
			d.depth--
			return err == nil
		}
		switch edits := v.editsIn(from, to); {
		case to-from < shortestEncoded:
		case !v.copies():
			eachInRun(v.text, from, to, try)
		case len(edits) > 0 && try(from, to):
			for _, e := range edits[:min(len(edits), mostTries)] {
				if at := int(e.at); at > from && to-at >= shortestEncoded {
					try(at, to)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameAsWhole holds a scan against one that reads every view from its beginning to its
// end. What is hidden is found by other means and left out.
func sameAsWhole(t testing.TB, s *Scanner, whole wholeDesk, text string) (found int) {
	t.Helper()
	got, err := s.Scan("", []byte(text))
	if err != nil {
		return 0 // too dense
	}
	want, err := whole.scan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got = slices.DeleteFunc(got, func(f Finding) bool { return f.Class == HiddenText || f.Class == HiddenComment })
	if !slices.Equal(got, want) {
		t.Errorf("of %q\n got %v\nwant %v", text, got, want)
	}
	return len(got)
}

// TestEditedAsWhole: what stands in a view is found, whether all of it is read or only
// what its edits can have changed.
func TestEditedAsWhole(t *testing.T) {
	s := newScanner(t)
	whole := wholeDesk{newDesk(s)}
	rng := seeded("edited")
	secrets, found := samples(t), 0
	for _, text := range markdown(t, 32<<10) {
		found += sameAsWhole(t, s, whole, text)
	}
	for i, w := range wrappings {
		for j := i % (18 * under); j < len(secrets); j += 18 * under {
			_, content := w.wrap(secrets[j].text)
			found += sameAsWhole(t, s, whole, prose(rng, 9)+content+paragraph(rng)+secrets[rng.IntN(len(secrets))].text)
		}
	}
	for range 100 / under {
		text := mixed(rng, s) + paragraph(rng) + secrets[rng.IntN(len(secrets))].text
		found += sameAsWhole(t, s, whole, disturbed(rng, text))
	}
	if found < 250/under {
		t.Errorf("%d were found, too few to say anything", found)
	}
}

// TestCorpusAsWhole is the same over what people and agents really keep.
func TestCorpusAsWhole(t *testing.T) {
	s := newScanner(t)
	whole := wholeDesk{newDesk(s)}
	for _, text := range corpus(t) {
		sameAsWhole(t, s, whole, text)
	}
}

// disturbed puts what views take out, spell out or join at random places of a text.
func disturbed(rng *rand.Rand, text string) string {
	disturbances := []string{
		"\n", "\n> ", "\\\n  ", "\"\n\"", "**", "`", "~~", "_", "<b>", "</b>", "<br>", "<!-- x -->", "\u200b", "&shy;", "%0A", "\\n", "|", " | ", "\\\"", "é", "&amp;#45;", "\" + \"", "=\n", "=3D",
	}
	var b strings.Builder
	for i := range len(text) {
		if rng.IntN(12) == 0 {
			b.WriteString(disturbances[rng.IntN(len(disturbances))])
		}
		if c := text[i]; rng.IntN(40) == 0 {
			fmt.Fprintf(&b, []string{"%%%02x", "\\x%02x", "&#%d;", "\\%03o", "=%02X"}[rng.IntN(5)], c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// FuzzEdited: the same of any text.
func FuzzEdited(f *testing.F) {
	for _, seed := range []string{"a **to**ken", "AK\nIA%41", "<br>tm_\\x41", "YWJj\nZGVmZ2hpamtsbW5vcA==", "| a | b |\n> c", "=61=\nb \\141 \"a\" + 'b'"} {
		f.Add(seed)
	}
	s := newScanner(f)
	whole := wholeDesk{newDesk(s)}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 16<<10 {
			sameAsWhole(t, s, whole, text)
		}
	})
}
