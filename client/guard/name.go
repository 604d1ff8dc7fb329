package guard

import (
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
)

// shortestSecret is the length below which no rule finds a secret in a name.
const shortestSecret = 16

// Judge is what [Guard.Judge] does.
type Judge func(key api.Key, content []byte) ([]Judged, error)

// Name judges the name of a file by itself, before it is noted, told or sent. Where it
// holds what must not leave, why is the finding and shown the name as it may be told.
// A name that cannot be judged is as suspect as one that holds a secret.
func Name(judge Judge, name string) (shown string, why *Judged) {
	if len(name) < shortestSecret {
		return name, nil
	}
	judged, err := judge(api.Key(name), nil)
	if err != nil {
		return Cut(name), &Judged{Verdict: api.VerdictRefuse}
	}
	if worst := Worst(judged); worst != nil && worst.Verdict == api.VerdictRefuse {
		return Cut(name), worst
	}
	return name, nil
}

// Cut shows as much of a name as tells files apart and no secret.
func Cut(name string) string {
	const shown = 4
	if len(name) <= shown {
		return name
	}
	cut := shown
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return strings.ToValidUTF8(name[:cut], "") + "…"
}
