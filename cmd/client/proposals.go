package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/tui"
)

// proposalWait is how long status waits for the server to say what became of one's
// proposals. All else that it shows is known here.
const proposalWait = 2 * time.Second

// toldFor is how long status speaks of a proposal that was decided.
const toldFor = 14 * 24 * time.Hour

// shownProposal is a proposal of the caller's, for programs.
type shownProposal struct {
	ID        string            `json:"id"`
	Key       api.Key           `json:"key"`
	Deleted   bool              `json:"deleted"` // the proposal is to delete it
	State     api.ProposalState `json:"state"`
	At        api.Time          `json:"at"`
	Checksum  api.Checksum      `json:"checksum"`
	Why       string            `json:"why"` // it is held
	Approvals []api.Approval    `json:"approvals"`
	Needed    int               `json:"needed"`
	Closed    *api.Time         `json:"closed"` // null: open
	ClosedBy  string            `json:"closedBy,omitempty"`
	Reason    string            `json:"reason,omitempty"`
}

// proposals puts what the caller proposed, and what became of it, into the view. A
// server that does not answer, and one without review, are no trouble of status.
func (a *app) proposals(ctx context.Context, view *tui.StatusView, t *target, agreed *state.Agreement, pulse state.Pulse) {
	if agreed.Repo == "" || t.server == "" || agreed.Server != t.origin || pulse.Trouble == state.Unreachable || pulse.Trouble == state.SignIn {
		return
	}
	if _, err := t.token(); err != nil {
		return
	}
	opts := t.remoteOptions()
	opts.Tries = 1
	server, err := remote.New(opts)
	if err != nil {
		return
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, proposalWait)
	defer cancel()
	mine, err := server.MyProposals(ctx, agreed.Repo)
	if err != nil {
		if api.CodeOf(err) != api.NotFound && view.Message == "" {
			view.Message = "what became of your proposals could not be asked for: " + err.Error()
		}
		return
	}
	shown := []shownProposal{}
	for _, p := range latest(mine, time.Now()) {
		shown = append(shown, shownProposal{
			ID: p.ID, Key: p.Key, Deleted: p.Deleted, State: p.State, At: p.At, Checksum: p.Checksum, Why: p.Why,
			Approvals: filled(p.Approved), Needed: p.Needed, Closed: p.Closed, ClosedBy: p.ClosedBy, Reason: p.Reason,
		})
		kind := tui.Proposed
		switch p.State {
		case api.ProposalOpen:
			view.Proposed++
		case api.ProposalApproved:
			kind = tui.Approved
		case api.ProposalRejected:
			kind = tui.Rejected
		case api.ProposalWithdrawn:
			kind = tui.Withdrawn
		}
		view.Lines = append(view.Lines, tui.StatusLine{Kind: kind, Key: p.Key, Text: becameOf(p), Hint: nextOf(p)})
	}
	view.Proposals = shown
}

// latest leaves the newest proposal of each key, and of those that were decided what
// is news. mine is newest first.
func latest(mine []api.Proposal, now time.Time) (kept []api.Proposal) {
	seen := map[api.Key]bool{}
	for _, p := range mine {
		if seen[p.Key] {
			continue
		}
		seen[p.Key] = true
		if p.Closed == nil || now.Sub(p.Closed.Time) < toldFor {
			kept = append(kept, p)
		}
	}
	return kept
}

// becameOf says in a few words what became of a proposal.
func becameOf(p api.Proposal) string {
	what := ""
	if p.Deleted {
		what = "to delete it: "
	}
	switch p.State {
	case api.ProposalOpen:
		what += fmt.Sprintf("waits, %d of %s", len(p.Approved), tui.Count(p.Needed, "approval", "approvals"))
		if len(p.Approved) > 0 {
			var users []string
			for _, approval := range p.Approved {
				users = append(users, approval.User)
			}
			what += " (" + strings.Join(users, ", ") + ")"
		}
		if p.Why != "" {
			what += ": " + p.Why
		}
		return what
	case api.ProposalApproved:
		return what + "everybody has it, approved by " + p.ClosedBy
	case api.ProposalRejected:
		return what + "rejected by " + p.ClosedBy + ": " + p.Reason
	}
	if p.Reason != "" {
		return what + p.Reason
	}
	return what + "taken back by " + p.ClosedBy
}

// nextOf is what the author can do.
func nextOf(p api.Proposal) string {
	if p.State == api.ProposalRejected && !p.Deleted {
		return "write it otherwise to propose it anew"
	}
	return ""
}
