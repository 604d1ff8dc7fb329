package tui

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
)

// Number writes a number with separators: 1,204.
func Number[N ~int | ~int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// Count writes a number and its noun: 1 entry, 1,204 entries.
func Count[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Size writes bytes in KB and MB of a thousand.
func Size(bytes int64) string {
	switch {
	case bytes < 1_000:
		return Count(bytes, "byte", "bytes")
	case bytes < 999_950:
		return scaled(bytes, 1_000, "KB")
	case bytes < 999_950_000:
		return scaled(bytes, 1_000_000, "MB")
	}
	return scaled(bytes, 1_000_000_000, "GB")
}

// scaled keeps one decimal below ten.
func scaled(bytes, unit int64, name string) string {
	if tenths := (bytes*10 + unit/2) / unit; tenths < 100 && tenths%10 != 0 {
		return fmt.Sprintf("%d.%d %s", tenths/10, tenths%10, name)
	}
	return Number((bytes+unit/2)/unit) + " " + name
}

// Age says how long ago something was, as people say it. What lies ahead, by a
// clock that was put back, is "just now".
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 2*day:
		return "1 day ago"
	case d < 60*day:
		return fmt.Sprintf("%d days ago", d/day)
	case d < 730*day:
		return fmt.Sprintf("%d months ago", d/(30*day))
	}
	return fmt.Sprintf("%d years ago", d/(365*day))
}

// Wait writes a time to come: 30 s, 5 min.
func Wait(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond)/time.Millisecond)
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d.Round(time.Second)/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d.Round(time.Minute)/time.Minute)
	}
	return fmt.Sprintf("%d h", d.Round(time.Hour)/time.Hour)
}

// Short is a checksum's first eight characters; "-" for none.
func Short(c api.Checksum) string {
	if c == "" {
		return "-"
	}
	return c.Short()
}

// Path writes a path with the home directory as ~.
func (t *Terminal) Path(path string) string {
	home := t.opts.Home
	if home != "" && home != string(filepath.Separator) {
		if path == home {
			return "~"
		}
		if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
			return "~" + string(filepath.Separator) + Escape(rest)
		}
	}
	return Escape(path)
}

// Escape makes a stranger's text safe to show in one line. What would move the
// cursor, turn the direction of writing or not be seen at all is written as an
// escape; everything else stays as it is.
func Escape(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// hidden knows control and format characters and line separators. The joiners that
// emoji and some scripts are spelled with are letters' business and stay.
func hidden(r rune) bool {
	const zwnj, zwj = 0x200c, 0x200d
	if r == zwnj || r == zwj {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}
