package dashboard

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
)

// timeOf takes any of the times that views hold.
func timeOf(t any) time.Time {
	switch t := t.(type) {
	case time.Time:
		return t
	case api.Time:
		return t.Time
	case *api.Time:
		if t != nil {
			return t.Time
		}
	}
	return time.Time{}
}

// ago is an age as people say it, or how long something is still to come.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	if d < 0 {
		return "in " + span(-d)
	}
	if d < 5*time.Second {
		return "just now"
	}
	return span(d) + " ago"
}

func span(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < day:
		return fmt.Sprintf("%d h", int(d.Hours()))
	case d < 60*day:
		return count(int(d/day), "day")
	case d < 730*day:
		return count(int(d/(30*day)), "month")
	}
	return count(int(d/(365*day)), "year")
}

func exact(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// number writes a number with separators.
func number(n any) string {
	text := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// size writes bytes in KB and MB of a thousand.
func size(n any) string {
	b, err := strconv.ParseFloat(fmt.Sprint(n), 64)
	switch {
	case err != nil:
		return ""
	case b < 1000:
		return fmt.Sprintf("%d B", int(b))
	case b < 1e6:
		return fmt.Sprintf("%.1f KB", b/1e3)
	case b < 1e9:
		return fmt.Sprintf("%.1f MB", b/1e6)
	}
	return fmt.Sprintf("%.1f GB", b/1e9)
}

// count writes a number with its noun.
func count(n any, noun string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(noun, "ay") {
		noun = stem + "ies"
	} else {
		noun += "s"
	}
	return number(n) + " " + noun
}

func percent(part, whole int) int {
	if whole <= 0 {
		return 0
	}
	return min(100, part*100/whole)
}

// short is a checksum by its first eight characters.
func short(sum api.Checksum) string { return sum.Short() }

// dict hands several values to a part of a page.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict has a name without a value")
	}
	d := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict has a name that is a %s", reflect.TypeOf(pairs[i]))
		}
		d[name] = pairs[i+1]
	}
	return d, nil
}

// sentence is an error's message as a page says it.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}
