package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// decision is what becomes of a push: a change or none, the head as its author sees
// it then, and the keys that were not written for everybody.
type decision struct {
	change *store.Change
	head   store.Head
	held   []api.Held
}

// detail is what a proposal's row keeps as JSON.
type detail struct {
	Why      string             `json:"why"`
	Findings []api.EntryFinding `json:"findings"`
	Needed   int                `json:"needed"`
	Approved []approval         `json:"approved"`
}

// approval is one that was given, by whom.
type approval struct {
	By   store.UserID `json:"by"`
	User string       `json:"user"`
	At   api.Time     `json:"at"`
}

func readDetail(p store.Proposal) (d detail, err error) {
	if err = json.Unmarshal(p.Detail, &d); err != nil {
		err = fmt.Errorf("proposal %s: %w", p.UID, store.ErrCorrupt)
	}
	return d, err
}

func (d detail) encode() []byte {
	text, _ := json.Marshal(d) // strings and numbers only: it cannot fail
	return text
}

// parts is a push taken apart by what becomes of its keys.
type parts struct {
	direct    []store.Write // written for everybody
	proposed  []held
	withdrawn []store.Shadow // proposals that the push takes back
}

// held is a write that becomes a proposal, and why.
type held struct {
	store.Write
	detail
}

// part takes what is pending apart. What the author proposed before and now takes
// back needs no approval; nor does what no rule and no finding holds, as long as it
// is made from what everybody sees.
func (r *request) part(state store.State, pending []store.Write) (parts, error) {
	var p parts
	for _, w := range pending {
		public := live(state, w.Key)
		shadow, shadowed := shadowOf(state.Mine, w.Key)
		shadowed = shadowed && open(shadow)
		same := w.Deleted && public.Checksum == "" || !w.Deleted && public.Checksum == w.Checksum
		if shadowed && (same || w.Deleted && !shadow.Deleted) {
			p.withdrawn = append(p.withdrawn, shadow)
			continue
		}
		why := r.holds(w)
		switch {
		case why != nil:
		case !r.caller.Role.May(api.Write):
			return p, r.mayNotWrite(w.Key)
		case shadowed && shadow.Base != public.Checksum:
			why = &detail{Why: "what everybody sees has changed since this was first proposed", Needed: 1}
		}
		w.Previous = public.Checksum
		if why != nil {
			if shadowed {
				w.Previous = shadow.Base
			}
			p.proposed = append(p.proposed, held{w, *why})
			continue
		}
		p.direct = append(p.direct, w)
	}
	if len(p.proposed) > 0 || len(state.Mine) > 0 {
		r.follow(state, &p)
	}
	if r.purpose.action == audit.ActionMove && len(p.proposed) > 0 {
		// Half a move would take the entry away from everybody until the other half is
		// approved, or leave it twice.
		for _, w := range p.direct {
			p.proposed = append(p.proposed, held{w, detail{Why: "it is half of a move whose other half waits for approval", Needed: 1}})
		}
		p.direct = nil
		slices.SortFunc(p.proposed, func(a, b held) int { return cmp.Compare(a.Key, b.Key) })
	}
	return p, nil
}

// follow makes proposals of new keys that can stand beside what everybody sees only
// when something else is approved: a rename whose deletion is held.
func (r *request) follow(state store.State, p *parts) {
	var leaves, stays []store.Write
	for _, w := range p.direct {
		if w.Deleted {
			leaves = append(leaves, w)
		}
	}
	for _, w := range p.direct {
		if !w.Deleted && w.Previous == "" && checkNeighbours(state, append(slices.Clone(leaves), w)) != nil {
			p.proposed = append(p.proposed, held{w, detail{Why: "it needs the place of a key whose change waits for approval", Needed: 1}})
			continue
		}
		stays = append(stays, w)
	}
	p.direct = stays
	slices.SortFunc(p.proposed, func(a, b held) int { return cmp.Compare(a.Key, b.Key) })
}

// holds says why a write becomes a proposal; nil when nothing holds it.
func (r *request) holds(w store.Write) *detail {
	d := detail{Needed: r.policy.Approvals(r.caller.Role, w.Key)}
	var why []string
	for _, f := range r.findingsOf(w) {
		if f.verdict == api.VerdictHold {
			if len(why) == 0 {
				why = append(why, fmt.Sprintf("%s in line %d", f.Rule, f.Line))
			}
			d.Needed = max(d.Needed, 1)
		}
		d.Findings = append(d.Findings, wireFinding(f.Finding))
	}
	if d.Needed == 0 {
		return nil
	}
	if rule := r.policy.Approvals(r.caller.Role, w.Key); rule > 0 {
		why = append(why, fmt.Sprintf("a review rule for the role %s", r.caller.Role))
	}
	d.Why = strings.Join(why, ", and ")
	return &d
}

func (r *request) mayNotWrite(key api.Key) error {
	return &api.Error{
		Code:    api.Permission,
		Message: fmt.Sprintf("the role %s may neither write %q nor propose it: an admin can give a higher role, or a review rule that names the key", r.caller.Role, key),
		Details: api.Details{ErrorCode: api.ErrorCodeRole, Key: key},
	}
}

// uid names the proposal of a key. It depends on the request alone, so that deciding
// again decides the same.
func (r *request) uid(key api.Key) string {
	sum := sha256.Sum256(append(r.seed[:], key...))
	return "prop_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// proposals are the rows that a push leaves: those of its own, and those that are
// replaced or taken back. It gives the author's shadows as they are then, too.
func (r *request) proposals(state store.State, p parts, version api.Version, now time.Time) (writes []store.ProposalWrite, mine []store.Shadow) {
	close := func(s store.Shadow, standing bool, reason string) {
		row := s.Proposal
		row.Standing = standing
		if open(s) {
			row.State, row.Closed, row.ClosedAt, row.ClosedBy, row.Reason = api.ProposalWithdrawn, version, now, r.caller.UserName, reason
		}
		writes = append(writes, store.ProposalWrite{Proposal: row})
	}
	touched := map[api.Key]bool{}
	for _, s := range p.withdrawn {
		touched[s.Key] = true
		close(s, true, "taken back by its author")
	}
	replace := func(key api.Key, reason string) {
		touched[key] = true
		if s, ok := shadowOf(state.Mine, key); ok {
			close(s, false, reason)
		}
	}
	for _, w := range p.direct {
		replace(w.Key, "replaced by a change that needs no approval")
	}
	for _, w := range p.proposed {
		replace(w.Key, "replaced by a newer proposal")
		row := store.Proposal{
			UID: r.uid(w.Key), Key: w.Key, Author: r.caller.User, User: r.caller.UserName, Client: r.caller.Client, State: api.ProposalOpen,
			Standing: true, Deleted: w.Deleted, Checksum: w.Checksum, Base: w.Previous, Size: w.Size, Modified: w.Modified,
			Version: version, At: now, Detail: w.encode(),
		}
		writes = append(writes, store.ProposalWrite{Proposal: row, Body: w.Body})
		public := state.Rows[w.Key]
		mine = append(mine, store.Shadow{Proposal: row, Public: public})
	}
	for _, s := range state.Mine {
		if !touched[s.Key] {
			mine = append(mine, s)
		}
	}
	slices.SortFunc(mine, func(a, b store.Shadow) int { return cmp.Compare(a.Key, b.Key) })
	return writes, mine
}

// standing is by how many the standing rows become more.
func standing(before []store.Shadow, writes []store.ProposalWrite) (more int) {
	stood := map[string]bool{}
	for _, s := range before {
		stood[s.UID] = true
	}
	for _, w := range writes {
		switch {
		case w.Standing && !stood[w.UID]:
			more++
		case !w.Standing && stood[w.UID]:
			more--
		}
	}
	return more
}

// wireHeld is what a push is told of a key that is held.
func wireHeld(row store.Proposal, d detail) api.Held {
	told := api.Held{Key: row.Key, Proposal: row.UID, State: row.State, Reason: d.Why}
	if row.State == api.ProposalRejected {
		told.Reason = row.Reason
	} else if len(d.Findings) > 0 {
		told.Rule, told.Class, told.Line = d.Findings[0].Rule, d.Findings[0].Class, d.Findings[0].Line
	}
	return told
}
