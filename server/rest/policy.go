package rest

import (
	"net/http"

	"github.com/teammem/teammem/api"
)

// getPolicy tells a member the policy, for the client keeps it too.
func (h *Handler) getPolicy(c *call) error {
	ifNoneMatch, err := api.ParseTags(c.r.Header.Values("If-None-Match"))
	if err != nil {
		return err
	}
	policy, err := h.ledger.Policy(c.r.Context(), c.caller)
	if err != nil {
		return err
	}
	if ifNoneMatch.Match(policy.Tag()) {
		c.w.Header()["Etag"] = []string{policy.Tag().ETag()}
		c.begun = true
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writePolicy(c, policy)
}

func writePolicy(c *call, policy api.OrgPolicy) error {
	c.w.Header()["Etag"] = []string{policy.Tag().ETag()}
	return writeJSON(c, http.StatusOK, policy)
}

// setPolicy puts another policy in force.
func (h *Handler) setPolicy(c *call) error {
	ifMatch, err := api.ParseTags(c.r.Header.Values("If-Match"))
	if err != nil {
		return err
	}
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	change, err := api.DecodePolicyChange(body)
	if err != nil {
		return err
	}
	policy, err := h.ledger.SetPolicy(c.r.Context(), c.caller, change, ifMatch)
	if err != nil {
		return err
	}
	return writePolicy(c, policy)
}

// acceptFinding lets a value through from now on.
func (h *Handler) acceptFinding(c *call) error {
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	accept, err := api.DecodeAcceptance(body)
	if err != nil {
		return err
	}
	policy, err := h.ledger.AcceptFinding(c.r.Context(), c.caller, accept)
	if err != nil {
		return err
	}
	return writePolicy(c, policy)
}

// forgetFinding takes an accepted value out again.
func (h *Handler) forgetFinding(c *call) error {
	values, err := parseQuery(c.r)
	if err != nil {
		return err
	}
	fingerprint := values.Get("fingerprint")
	if fingerprint == "" {
		return badQuery("the query names no fingerprint")
	}
	policy, err := h.ledger.ForgetFinding(c.r.Context(), c.caller, fingerprint)
	if err != nil {
		return err
	}
	return writePolicy(c, policy)
}

// listFindings lists what was flagged in the entries that stand. The cursor is the
// last key.
func (h *Handler) listFindings(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	// One key more than asked for shows whether there is a next page.
	found, err := h.ledger.Findings(c.r.Context(), c.caller, q.repo, api.Key(q.cursor), q.limit+1)
	if err != nil {
		return err
	}
	list := api.FindingList{Findings: []api.EntryFinding{}}
	keys := 0
	for i, f := range found {
		if i == 0 || found[i-1].Key != f.Key {
			keys++
		}
		if keys > q.limit {
			list.NextCursor = string(found[i-1].Key)
			break
		}
		list.Findings = append(list.Findings, api.EntryFinding{
			Key: f.Key, Version: f.Version, Rule: f.Rule, Class: f.Class, Line: f.Line, Fingerprint: f.Fingerprint,
		})
	}
	return writeJSON(c, http.StatusOK, list)
}
