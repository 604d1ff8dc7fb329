package lint

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// relativeDate knows words that mean another day tomorrow. "Today" and "this week" are
// often said of no day in particular, and are only noted.
var relativeDate = late(`(?i)\b(yesterday|tomorrow|tonight|today|this (?:morning|afternoon|evening|week|month|quarter|year|sprint)|` +
	`(?:next|last|past|coming|previous) (?:week|month|quarter|year|sprint|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday|spring|summer|autumn|fall|winter)|` +
	`(?:by|until|on|since) (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|` +
	`(?:\d{1,3}|an?|one|two|three|four|five|six|a few|a couple of|several) (?:day|week|month|year|hour)s? ago|` +
	`in (?:\d{1,3}|a|one|two|three|four|five|six|a few|a couple of|several) (?:day|week|month|year)s?)\b` +
	`|昨天|明天|上周|下周|上个月|下个月|昨日|明日|来週|先週|来月|先月|어제|내일|다음 주|지난주|다음 달|지난달`)

// relativeDates looks for them in the description and the text; a log has its date.
func (l *linter) relativeDates(f *file) {
	if isLog(f) {
		return
	}
	tell := func(line int, word string) {
		severity := Warning
		if lower := strings.ToLower(word); lower == "today" || strings.HasPrefix(lower, "this ") || strings.HasPrefix(lower, "on ") {
			severity = Note
		}
		cure := "write the date"
		if day, ok := dayOf(word, f.Modified); ok {
			cure = fmt.Sprintf("write the date; when the file was last changed it was %s", day.Format(time.DateOnly))
		}
		l.find(f, "relative-date", severity, line, fmt.Sprintf("%q means another day by now", word), cure)
	}
	for _, place := range relativeDate().FindAllIndex(f.prose, -1) {
		tell(f.lineOf(place[0]), string(f.prose[place[0]:place[1]]))
	}
	if description := fieldOf(f, "description"); description.Key != "" {
		for _, word := range relativeDate().FindAllString(description.Value, -1) {
			tell(description.Line, word)
		}
	}
}

// dayOf is the day that a word meant when the file was written, where that is certain.
func dayOf(word string, written time.Time) (time.Time, bool) {
	if written.IsZero() {
		return written, false
	}
	word = strings.ToLower(word)
	switch word {
	case "yesterday", "昨天", "昨日", "어제":
		return written.AddDate(0, 0, -1), true
	case "tomorrow", "明天", "明日", "내일":
		return written.AddDate(0, 0, 1), true
	case "today", "tonight", "this morning", "this afternoon", "this evening":
		return written, true
	}
	fields := strings.Fields(word)
	if len(fields) == 3 && strings.HasPrefix(fields[1], "day") && fields[2] == "ago" {
		if n, err := strconv.Atoi(fields[0]); err == nil {
			return written.AddDate(0, 0, -n), true
		}
	}
	if len(fields) == 3 && fields[0] == "in" && strings.HasPrefix(fields[2], "day") {
		if n, err := strconv.Atoi(fields[1]); err == nil {
			return written.AddDate(0, 0, n), true
		}
	}
	return written, false
}
