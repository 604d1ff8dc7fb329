package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-chi/chi/v5"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// listProposals lists proposals, newest first: to those who may review a repo all of
// it, to others their own. The cursor is the number of the last row.
func (h *Handler) listProposals(c *call) error {
	query, limit, err := h.parseProposalQuery(c)
	if err != nil {
		return err
	}
	list := api.ProposalList{Proposals: []api.Proposal{}}
	// What the caller may not see is passed over, so that a page may take several reads.
	for {
		query.Limit = limit + 1
		found, err := h.ledger.Proposals(c.r.Context(), c.caller, query)
		if err != nil {
			return err
		}
		for _, p := range found {
			if len(list.Proposals) == limit {
				list.NextCursor = strconv.FormatInt(query.Before, 36)
				return writeJSON(c, http.StatusOK, list)
			}
			query.Before = p.ID
			if !c.maySee(p) {
				continue
			}
			wire, err := ledger.Wire(p)
			if err != nil {
				return err
			}
			list.Proposals = append(list.Proposals, wire)
		}
		if len(found) <= limit {
			return writeJSON(c, http.StatusOK, list)
		}
	}
}

func (h *Handler) parseProposalQuery(c *call) (q store.ProposalQuery, limit int, err error) {
	values, err := parseQuery(c.r)
	if err != nil {
		return q, 0, err
	}
	if repo := values.Get("repo"); repo != "" {
		if c.repo, err = api.ParseRepoSlug(repo); err != nil {
			return q, 0, err
		}
		q.Repo = c.who.Resolve(c.repo)
	}
	if limit, err = parseLimit(values); err != nil {
		return q, 0, err
	}
	if state := api.ProposalState(values.Get("state")); state != "" {
		if !slices.Contains(api.ProposalStates, state) {
			return q, 0, badQuery(fmt.Sprintf("there is no state %q: want one of %v", clip(string(state)), api.ProposalStates))
		}
		q.State = state
	}
	switch author := values.Get("author"); author {
	case "":
		if !c.who.MaySomewhere(api.Review) {
			q.Author = c.caller.User
		}
	case "me":
		q.Author = c.caller.User
	default:
		return q, 0, badQuery(fmt.Sprintf("author %q: want me, or none for all that you may see", clip(author)))
	}
	if cursor := values.Get("cursor"); cursor != "" {
		if q.Before, err = strconv.ParseInt(cursor, 36, 64); err != nil || q.Before < 1 {
			return q, 0, badQuery("the cursor is not one of an earlier answer")
		}
	}
	return q, limit, nil
}

// maySee reports whether the caller may read a proposal: their own, and those to
// repos that they review.
func (c *call) maySee(p store.Proposal) bool {
	return c.who.MayOn(api.Read, p.Slug) && (p.Author == c.caller.User || c.who.MayOn(api.Review, p.Slug))
}

// proposal finds the one that the address names. One that the caller may not see is
// not there.
func (h *Handler) proposal(c *call) (store.Proposal, error) {
	id := chi.URLParam(c.r, "id")
	p, err := h.ledger.Proposal(c.r.Context(), c.caller, id)
	if err != nil {
		return p, err
	}
	c.repo = p.Slug
	if !c.maySee(p) {
		return p, &api.Error{
			Code: api.NotFound, Message: fmt.Sprintf("there is no proposal %q", clip(id)), Details: api.Details{ErrorCode: api.ErrorCodeNoProposal},
		}
	}
	return p, nil
}

// getProposal gives one proposal with its texts.
func (h *Handler) getProposal(c *call) error {
	p, err := h.proposal(c)
	if err != nil {
		return err
	}
	return h.writeProposal(c, p)
}

func (h *Handler) writeProposal(c *call, p store.Proposal) error {
	wire, err := ledger.Wire(p)
	if err != nil {
		return err
	}
	wire.Content, wire.Current, err = h.ledger.ProposalTexts(c.r.Context(), c.caller, p)
	if err != nil {
		return err
	}
	var before, after string
	if wire.Current != nil {
		before = *wire.Current
		sum := api.ChecksumOfString(before)
		wire.Standing = &sum
	}
	if wire.Content != nil {
		after = *wire.Content
	}
	wire.Diff = udiff.Unified(string(p.Key), string(p.Key)+" ("+p.UID+")", before, after)
	return writeJSON(c, http.StatusOK, wire)
}

// mayReview holds the caller against the repo of the proposal, which the address
// does not name.
func (c *call) mayReview(p store.Proposal) error {
	if c.who.MayOn(api.Review, p.Slug) {
		return nil
	}
	return refusedRight(c, p.Slug)
}

// approveProposal approves a proposal, as it is or edited.
func (h *Handler) approveProposal(c *call) error {
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	p, err := h.proposal(c)
	if err != nil {
		return err
	}
	if err := c.mayReview(p); err != nil {
		return err
	}
	ask, err := api.DecodeApprove(body)
	if err != nil {
		return err
	}
	if p, err = h.ledger.Approve(c.r.Context(), c.caller, p.UID, ask); err != nil {
		return err
	}
	return h.writeProposal(c, p)
}

// rejectProposal rejects a proposal for a reason.
func (h *Handler) rejectProposal(c *call) error {
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	p, err := h.proposal(c)
	if err != nil {
		return err
	}
	if err := c.mayReview(p); err != nil {
		return err
	}
	reason, err := api.DecodeReject(body)
	if err != nil {
		return err
	}
	if p, err = h.ledger.Reject(c.r.Context(), c.caller, p.UID, reason); err != nil {
		return err
	}
	return h.writeProposal(c, p)
}

// reopenProposal takes a rejection back.
func (h *Handler) reopenProposal(c *call) error {
	p, err := h.proposal(c)
	if err != nil {
		return err
	}
	if err := c.mayReview(p); err != nil {
		return err
	}
	if p, err = h.ledger.Reopen(c.r.Context(), c.caller, p.UID); err != nil {
		return err
	}
	return h.writeProposal(c, p)
}
