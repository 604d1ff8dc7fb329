package state

import (
	"strings"
	"time"
)

// Retention is how long a text stays on the keep or in the trash before it is
// listed, and Notice how long it stays after that.
const (
	Retention = 30 * 24 * time.Hour
	Notice    = 7 * 24 * time.Hour
)

// What retention makes of one piece.
type fated int

const (
	stays  fated = iota // young
	warns               // old, and nobody was told yet
	warned              // old, and its notice runs
	goes
)

func fate(at, listed, now time.Time, damaged bool) fated {
	switch {
	case damaged || now.Sub(at) < Retention:
		return stays
	case listed.IsZero():
		return warns
	case now.Sub(listed) < Notice:
		return warned
	}
	return goes
}

// timeOfID reads the time that an id begins with; zero when it has none.
func timeOfID(id string) time.Time {
	parts := strings.SplitN(id, "-", 3)
	if len(parts) < 3 {
		return time.Time{}
	}
	at, err := time.Parse("20060102-150405", parts[0]+"-"+parts[1])
	if err != nil {
		return time.Time{}
	}
	return at
}
