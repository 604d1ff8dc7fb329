package syncer

import (
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/state"
)

// withoutSecretNames leaves out the files whose very name must not leave. Nothing
// else hears of them: not the plan, not the state, not the server. They are held, and
// told by as much of the name as is no secret. What stands at the server under its
// name already is no secret any more that could be kept.
func (s *Syncer) withoutSecretNames(files []memdir.File, there *there, h *here) (rest []memdir.File) {
	rest = files[:0]
	for _, file := range files {
		entry := s.agreed.Entries[file.Key]
		_, live := there.live[file.Key]
		if live || entry.Base != "" || entry.Remote != "" {
			rest = append(rest, file)
			continue
		}
		shown, why := guard.Name(s.guard.Judge, string(file.Key))
		if why == nil {
			rest = append(rest, file)
			continue
		}
		if entry != (state.Entry{}) {
			s.setEntry(file.Key, state.Entry{}) // noted when the name was let out
		}
		s.refuse(h.alias(shown), state.Refusal{
			Checksum: file.Checksum, Kind: RefusedSecret, Rule: ruleOf(why),
		})
	}
	return rest
}

// alias is what a file is held under whose name cannot be told. Two of them may begin
// alike.
func (h *here) alias(shown string) api.Key {
	key := api.Key(shown)
	for n := 2; h.nameless[key]; n++ {
		key = api.Key(fmt.Sprintf("%s (%d)", shown, n))
	}
	h.nameless[key] = true
	return key
}

func ruleOf(why *guard.Judged) string {
	if why.Rule == "" {
		return RuleScanner
	}
	return why.Rule
}
