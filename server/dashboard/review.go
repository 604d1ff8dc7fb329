package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/store"
)

// reviewView is the queue of what waits, or waited, for approval.
type reviewView struct {
	frame
	Proposals []proposalRow
	State     api.ProposalState
	States    []api.ProposalState
	Repo      api.RepoSlug
	Reviewer  bool // of some repo
	Several   bool // any of these may be approved or rejected
	Newer     string
	Older     string
	Self      string
}

type proposalRow struct {
	api.Proposal
	Mine       bool // the reader's own
	Reviewable bool // by the reader
	Reopenable bool // by the reader, where nothing has replaced it
}

// maySee reports whether the reader may see a proposal: their own, and those to repos
// that they review.
func (v *visit) maySee(p store.Proposal) bool {
	return v.who.MayOn(api.Read, p.Slug) && (p.Author == v.who.User || v.who.MayOn(api.Review, p.Slug))
}

// proposals reads a page of those that the reader may see, newest first.
func (v *visit) proposals(q store.ProposalQuery, most int) (rows []proposalRow, older string, err error) {
	if !v.who.MaySomewhere(api.Review) {
		q.Author = v.who.User
	}
	for {
		q.Limit = most + 1
		found, err := v.h.parts.Ledger.Proposals(v.r.Context(), v.caller, q)
		if err != nil {
			return nil, "", err
		}
		for _, p := range found {
			if len(rows) == most {
				return rows, strconv.FormatInt(q.Before, 36), nil
			}
			q.Before = p.ID
			if !v.maySee(p) {
				continue
			}
			wire, err := ledger.Wire(p)
			if err != nil {
				return nil, "", err
			}
			rows = append(rows, v.row(p, wire))
		}
		if len(found) <= most {
			return rows, "", nil
		}
	}
}

// row is a proposal with what the reader may do to it.
func (v *visit) row(p store.Proposal, wire api.Proposal) proposalRow {
	mine, may := p.Author == v.who.User, v.who.MayOn(api.Review, p.Slug)
	return proposalRow{
		Proposal: wire, Mine: mine, Reviewable: !mine && may && p.State == api.ProposalOpen,
		Reopenable: may && p.Standing && p.State == api.ProposalRejected,
	}
}

func reviewQueue(v *visit) error {
	v.Title = "Review"
	view := reviewView{State: api.ProposalState(v.query.Get("state")), Repo: v.repo, States: api.ProposalStates, Reviewer: v.who.MaySomewhere(api.Review), Self: v.r.URL.RequestURI()}
	if v.query.Get("state") == "" {
		view.State = api.ProposalOpen
	}
	q := store.ProposalQuery{Repo: v.repo, State: view.State}
	if view.State == "any" {
		q.State = ""
	}
	if cursor := v.query.Get("cursor"); cursor != "" {
		var err error
		if q.Before, err = strconv.ParseInt(cursor, 36, 64); err != nil {
			return &fault{http.StatusBadRequest, "The cursor is not one of an earlier page.", "Begin with the first page."}
		}
		view.Newer = v.turned("cursor", "")
	}
	rows, older, err := v.proposals(q, 50)
	if err != nil {
		return err
	}
	view.Proposals = rows
	if older != "" {
		view.Older = v.turned("cursor", older)
	}
	for _, r := range rows {
		view.Several = view.Several || r.Reviewable
	}
	view.frame = v.frame
	view.Live = v.live()
	return v.show("review", view)
}

// proposalView is one proposal, large.
type proposalView struct {
	frame
	proposalRow
	Diff       []diffRow
	Text       string
	HasText    bool
	Moved      bool // what everybody sees has changed since it was made
	Standing   string
	Next, Prev string
	Left       int
	Readers    []string
	Editing    bool
}

func (v *visit) proposal(id string) (store.Proposal, error) {
	p, err := v.h.parts.Ledger.Proposal(v.r.Context(), v.caller, id)
	if err != nil {
		return p, err
	}
	if !v.maySee(p) {
		return p, &fault{http.StatusNotFound, "There is no such proposal.", "It may be in another organization; the queue lists those that you may see."}
	}
	v.repo = p.Slug
	v.caller.Role = v.who.RoleOn(p.Slug)
	return p, nil
}

func showProposal(v *visit) error {
	ctx := v.r.Context()
	p, err := v.proposal(v.query.Get("id"))
	if err != nil {
		return err
	}
	wire, err := ledger.Wire(p)
	if err != nil {
		return err
	}
	proposed, current, err := v.h.parts.Ledger.ProposalTexts(ctx, v.caller, p)
	if err != nil {
		return err
	}
	view := proposalView{proposalRow: v.row(p, wire), Editing: v.query.Get("edit") != ""}
	var before, after string
	if current != nil {
		before = *current
		view.Standing = string(api.ChecksumOfString(before))
	}
	if proposed != nil {
		after, view.Text, view.HasText = *proposed, *proposed, true
	}
	view.Moved = p.State == api.ProposalOpen && string(p.Base) != view.Standing
	view.Diff = diffRows(before, after)
	for i := range view.Diff {
		for _, f := range wire.Findings {
			if row := &view.Diff[i]; row.New > 0 && row.New == f.Line {
				row.Found = append(row.Found, f.Rule)
			}
		}
	}
	if view.Readers, err = v.readers(p.Slug); err != nil {
		return err
	}
	if err := v.neighbours(&view, p.UID); err != nil {
		return err
	}
	v.Title = string(p.Key)
	view.frame = v.frame
	return v.show("proposal", view)
}

// readers says to whom the repo was served, so who would receive what is approved.
func (v *visit) readers(repo api.RepoSlug) (names []string, err error) {
	pulls, err := v.h.parts.DB.Pulls(v.r.Context(), store.RepoRef{Org: v.who.Org, Slug: repo})
	if err != nil {
		return nil, err
	}
	clients := map[string]int{}
	for _, p := range pulls {
		if clients[p.UserName]++; clients[p.UserName] == 1 {
			names = append(names, p.UserName)
		}
	}
	for i, name := range names {
		if n := clients[name]; n > 1 {
			names[i] = fmt.Sprintf("%s (%d clients)", name, n)
		}
	}
	return names, nil
}

// neighbours finds the next and the previous of the queue.
func (v *visit) neighbours(view *proposalView, id string) error {
	rows, _, err := v.proposals(store.ProposalQuery{State: api.ProposalOpen}, 200)
	if err != nil {
		return err
	}
	view.Left = len(rows)
	for i, r := range rows {
		if r.ID != id {
			continue
		}
		if i > 0 {
			view.Prev = v.At("/proposal", "id", rows[i-1].ID)
		}
		if i+1 < len(rows) {
			view.Next = v.At("/proposal", "id", rows[i+1].ID)
		}
		return nil
	}
	if len(rows) > 0 {
		view.Next = v.At("/proposal", "id", rows[0].ID)
	}
	return nil
}

// mayReview finds a proposal that the visitor may approve or reject.
func (v *visit) mayReview(id string) (store.Proposal, error) {
	p, err := v.proposal(id)
	if err != nil {
		return p, err
	}
	return p, v.on(p.Slug, api.Review)
}

// approve approves one proposal, and says how it is taken back.
func (v *visit) approve(id string, ask api.Approve) (said, error) {
	ctx := v.r.Context()
	p, err := v.mayReview(id)
	if err != nil {
		return said{}, err
	}
	// What stands before is what an undo goes back to.
	before, _, err := v.h.parts.Ledger.At(ctx, v.caller, p.Slug, p.Key, 0)
	if err != nil && !isNoEntry(err) {
		return said{}, err
	}
	after, err := v.h.parts.Ledger.Approve(ctx, v.caller, p.UID, ask)
	if err != nil {
		return said{}, err
	}
	wire, err := ledger.Wire(after)
	if err != nil {
		return said{}, err
	}
	if after.State != api.ProposalApproved {
		return said{Text: fmt.Sprintf("Approved %s: %s more to go.", p.Key, count(wire.Needed-len(wire.Approved), "approval"))}, nil
	}
	s := said{Text: fmt.Sprintf("Approved %s of %s: everybody gets it.", p.Key, p.User), Short: true}
	switch {
	case !v.who.MayOn(api.Write, p.Slug):
	case before.Version > 0 && !before.Deleted:
		s.Undo = v.At("/entry/restore", "repo", p.Slug)
		s.Fields = [][2]string{{"key", string(p.Key)}, {"version", fmt.Sprint(before.Version)}, {"reason", "an approval taken back"}, {"back", v.At("/review")}}
		if !after.Deleted {
			s.Fields = append(s.Fields, [2]string{"base", string(after.Checksum)})
		}
	case !after.Deleted:
		s.Undo = v.At("/entry/delete", "repo", p.Slug)
		s.Fields = [][2]string{{"key", string(p.Key)}, {"base", string(after.Checksum)}, {"back", v.At("/review")}}
	}
	return s, nil
}

func isNoEntry(err error) bool {
	e, ok := api.AsError(err)
	return ok && (e.Details.ErrorCode == api.ErrorCodeNoEntry || e.Details.ErrorCode == api.ErrorCodeNoMemory)
}

func approveProposal(v *visit) error {
	ask := api.Approve{Checksum: api.Checksum(v.form("checksum"))}
	if standing := v.form("standing"); v.form("on") != "" {
		ask.OnBase = true
		if standing != "" {
			sum := api.Checksum(standing)
			ask.Base = &sum
		}
	}
	if v.form("edited") != "" {
		text := unix(v.form("content"))
		ask.Content = &text
	}
	s, err := v.approve(v.form("id"), ask)
	if err != nil {
		return err
	}
	return v.done(v.nextInQueue(), s)
}

// unix takes the line ends of a form, which are CRLF whatever was typed, as LF.
func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// nextInQueue is where a reviewer goes on: the next that waits, or the queue.
func (v *visit) nextInQueue() string {
	rows, _, err := v.proposals(store.ProposalQuery{State: api.ProposalOpen}, 50)
	if err == nil && v.form("queue") != "" {
		for _, r := range rows {
			if r.Reviewable && r.ID != v.form("id") {
				return v.At("/proposal", "id", r.ID)
			}
		}
	}
	return v.At("/review")
}

func rejectProposal(v *visit) error {
	reason := strings.TrimSpace(v.form("reason"))
	if err := api.CheckReason(reason); err != nil {
		return &fault{http.StatusBadRequest, sentence(err.Error()), "Say why: the author is told it."}
	}
	p, err := v.mayReview(v.form("id"))
	if err != nil {
		return err
	}
	if _, err := v.h.parts.Ledger.Reject(v.r.Context(), v.caller, p.UID, reason); err != nil {
		return err
	}
	return v.done(v.nextInQueue(), said{
		Text: fmt.Sprintf("Rejected %s of %s, who is told why and may propose another text.", p.Key, p.User), Short: true,
		Undo: v.At("/proposal/reopen"), Fields: [][2]string{{"id", p.UID}},
	})
}

// reopenProposal takes a rejection back, for whoever may reject.
func reopenProposal(v *visit) error {
	p, err := v.mayReview(v.form("id"))
	if err != nil {
		return err
	}
	if _, err := v.h.parts.Ledger.Reopen(v.r.Context(), v.caller, p.UID); err != nil {
		return err
	}
	return v.done(v.At("/proposal", "id", p.UID), said{Text: fmt.Sprintf("%s of %s waits again.", p.Key, p.User)})
}

// reviewSeveral approves or rejects all that were ticked; each names the text that was
// read.
func reviewSeveral(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return &fault{http.StatusBadRequest, "The form cannot be read.", "Open the queue anew."}
	}
	ticked := v.r.PostForm["p"]
	if len(ticked) == 0 {
		return v.done(v.At("/review"), said{Text: "None was ticked, so nothing was done.", Bad: true})
	}
	reject, reason := v.form("do") == "reject", strings.TrimSpace(v.form("reason"))
	if err := api.CheckReason(reason); reject && err != nil {
		return &fault{http.StatusBadRequest, sentence(err.Error()), "Say why: the authors are told it."}
	}
	done := 0
	var failed []string
	for _, item := range ticked {
		id, sum, _ := strings.Cut(item, " ")
		var err error
		if reject {
			var p store.Proposal
			if p, err = v.mayReview(id); err == nil {
				_, err = v.h.parts.Ledger.Reject(v.r.Context(), v.caller, p.UID, reason)
			}
		} else {
			_, err = v.approve(id, api.Approve{Checksum: api.Checksum(sum)})
		}
		if err != nil {
			failed = append(failed, faultOf(err).message)
			continue
		}
		done++
	}
	verb := "Approved"
	if reject {
		verb = "Rejected"
	}
	s := said{Text: fmt.Sprintf("%s %d of %d.", verb, done, len(ticked)), Bad: len(failed) > 0}
	if len(failed) > 0 {
		s.Text += " " + failed[0]
	}
	return v.done(v.At("/review"), s)
}

// diffRow is one line of a difference, or a gap.
type diffRow struct {
	Gap         int // lines that are as before and not shown
	Old, New    int
	Class, Sign string
	Pieces      []piece
	Found       []string // rules that found something in the line
}

// piece is a part of a line: as it was, ins or del.
type piece struct{ Kind, Text string }

// diffRows is what changed from one text to another, by word, with three lines around.
func diffRows(before, after string) (rows []diffRow) {
	last := 1
	for _, hunk := range reading.Diff(before, after, 3) {
		if gap := hunk.New - last; gap > 0 {
			rows = append(rows, diffRow{Gap: gap})
		}
		for _, line := range hunk.Lines {
			row := diffRow{Old: line.Old, New: line.New}
			kind := ""
			switch {
			case line.Deleted():
				row.Class, row.Sign, kind = "del", "−", "del"
			case line.Inserted():
				row.Class, row.Sign, kind = "add", "+", "ins"
			}
			for _, s := range line.Spans {
				p := piece{Text: s.Text}
				if s.Changed {
					p.Kind = kind
				}
				row.Pieces = append(row.Pieces, p)
			}
			if line.NoEnd {
				row.Pieces = append(row.Pieces, piece{Text: "  (no end of line)"})
			}
			rows = append(rows, row)
			if line.New > 0 {
				last = line.New + 1
			}
		}
	}
	return rows
}
