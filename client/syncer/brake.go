package syncer

import (
	"fmt"
	"strings"

	"github.com/teammem/teammem/api"
)

// The brakes (promises.md, C10): a plan that would do this much at once is more
// often a fault than a wish, and a person is asked.
const (
	brakePullFiles  = 10 // with at least so many files here,
	brakePullShare  = 2  // a pull must not remove, empty or halve more than one in two
	brakePushFiles  = 8  // with at least so many entries at the server,
	brakePushShare  = 4  // a push must not delete more than one in four
	namesInQuestion = 3
)

// plan makes the plan and holds it against the brakes. With Accept a person has
// seen what it would do.
func (s *Syncer) plan(here *here, there *there) ([]Action, error) {
	plan := Plan(s.input(here, there))
	if missing := keysOf(plan, Missing); len(missing) > 0 {
		if !s.opts.Accept {
			return plan, &Halt{
				Why: fmt.Sprintf("the server lacks %d of the entries synced here (%s) and does not say that they were deleted",
					len(missing), firstNames(missing)),
				Hint: "your files are untouched; ask the server's administrator; to push them anew: client sync --once --accept",
			}
		}
		there.restored = true
		plan = Plan(s.input(here, there))
	}
	if s.opts.Accept {
		return plan, nil
	}
	if lost := losses(plan, here, there); len(here.files) >= brakePullFiles && len(lost)*brakePullShare > len(here.files) {
		return plan, &Halt{
			Why: fmt.Sprintf("the server's changes would remove, empty or halve %d of %d files (%s)",
				len(lost), len(here.files), firstNames(lost)),
			Hint: "nothing was changed; client pull --dry-run lists them; to go ahead: client sync --once --accept",
		}
	}
	if gone := keysOf(plan, Delete); len(there.live) >= brakePushFiles && len(gone)*brakePushShare > len(there.live) {
		return plan, &Halt{
			Why: fmt.Sprintf("%d of %d entries would be deleted at the server, because their files are gone here (%s)",
				len(gone), len(there.live), firstNames(gone)),
			Hint: "nothing was sent; put the files back, or to go ahead: client sync --once --deletes=propagate --accept",
		}
	}
	return plan, nil
}

// losses are the files that a plan would remove, empty or halve.
func losses(plan []Action, here *here, there *there) []api.Key {
	var lost []api.Key
	for _, a := range plan {
		size := here.files[a.Key].Fingerprint.Size
		text, known := there.texts[a.Key]
		switch {
		case a.Kind == Remove, a.Kind == Redact,
			a.Kind == Pull && known && size > 0 && int64(len(text))*2 < size:
			lost = append(lost, a.Key)
		}
	}
	return lost
}

func keysOf(plan []Action, kind Kind) []api.Key {
	var keys []api.Key
	for _, a := range plan {
		if a.Kind == kind {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

// firstNames is the first few of many keys, for a question.
func firstNames(keys []api.Key) string {
	var b strings.Builder
	for i, key := range keys {
		if i == namesInQuestion {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(key))
	}
	return b.String()
}
