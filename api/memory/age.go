package memory

import (
	"fmt"
	"time"
)

const day = 24 * time.Hour

// AgeDays is how many whole days ago a memory was written. It is never negative.
func AgeDays(now, modified time.Time) int {
	return max(0, int(now.Sub(modified)/day))
}

// Age says so in words: today, yesterday, N days ago.
func Age(now, modified time.Time) string {
	switch days := AgeDays(now, modified); days {
	case 0:
		return "today"
	case 1:
		return "yesterday"
	default:
		return fmt.Sprintf("%d days ago", days)
	}
}

// Freshness is what a reader of a memory is told beside it: nothing for one of today
// or yesterday, and of an older one that it is an observation to be verified.
func Freshness(now, modified time.Time) string {
	days := AgeDays(now, modified)
	if days <= 1 {
		return ""
	}
	return fmt.Sprintf("This memory was written %d days ago. It says what was observed then, not what is so now: "+
		"verify it before you assert it, and above all look up any code, file or line that it names.", days)
}
