package memory_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/teammem/teammem/api/memory"
)

// BR-29.
func TestCutIndex(t *testing.T) {
	line := strings.Repeat("x", 199) + "\n"
	for name, c := range map[string]struct {
		text        string
		kept        int // bytes
		lines, told string
	}{
		"empty":                            {"", 0, "", ""},
		"200 lines":                        {strings.Repeat("a\n", 200), 400, "", ""},
		"200 lines, the last without end":  {strings.TrimSuffix(strings.Repeat("a\n", 200), "\n"), 399, "", ""},
		"200 lines with CRLF":              {strings.Repeat("a\r\n", 200), 600, "", ""},
		"201 lines":                        {strings.Repeat("a\n", 201), 400, "201 lines, limit 200", ""},
		"201 lines, the last without end":  {strings.Repeat("a\n", 200) + "b", 400, "201 lines, limit 200", ""},
		"201 lines with CRLF":              {strings.Repeat("a\r\n", 201), 600, "201 lines, limit 200", ""},
		"199 lines of 200 bytes":           {strings.Repeat(line, 199), 25_000, "", "39800 bytes, limit 25000"},
		"exactly the limit":                {strings.Repeat(line, 125), 25_000, "", ""},
		"a byte more":                      {strings.Repeat(line, 125) + "x", 25_000, "", "25001 bytes, limit 25000"},
		"one line of exactly the limit":    {strings.Repeat("x", 25_000), 25_000, "", ""},
		"one line of 30 KB":                {strings.Repeat("x", 30_000), 25_000, "", "30000 bytes, limit 25000"},
		"the limit falls into a character": {strings.Repeat("x", 24_998) + strings.Repeat("😀", 10), 24_998, "", "25038 bytes, limit 25000"},
		"both limits":                      {strings.Repeat(line, 250), 25_000, "250 lines, limit 200", "50000 bytes, limit 25000"},
		"no text at all":                   {strings.Repeat("\xffa", 9_000), 25_000, "", "18000 bytes, limit 25000"},
	} {
		got := memory.CutIndex([]byte(c.text))
		switch warning := got.Warning(); {
		case len(got.Text) != c.kept:
			t.Errorf("%s: %d bytes are kept, want %d", name, len(got.Text), c.kept)
		case !utf8.ValidString(got.Text):
			t.Errorf("%s: what is kept is not valid UTF-8", name)
		case !strings.Contains(warning, c.lines) || !strings.Contains(warning, c.told):
			t.Errorf("%s: %q names neither %q nor %q", name, warning, c.lines, c.told)
		case (warning != "") != (c.lines+c.told != ""):
			t.Errorf("%s: warning %q", name, warning)
		case strings.Contains(warning, "lines, limit") != (c.lines != ""):
			t.Errorf("%s: %q speaks of a limit that was kept", name, warning)
		}
	}
}
