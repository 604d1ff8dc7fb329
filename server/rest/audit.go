package rest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

// findAudit gives the records that the query asks for, newest first, of all chains
// of the organization or of the one named.
func (h *Handler) findAudit(c *call) error {
	values, err := c.query()
	if err != nil {
		return err
	}
	chains, err := h.chainsOf(c, values)
	if err != nil {
		return err
	}
	q, err := auditQuery(values)
	if err != nil {
		return err
	}
	found, next, err := h.orgs.Page(c.r.Context(), c.who.Org, chains, q, values.Get("cursor"))
	if err != nil {
		return err
	}
	list := api.AuditList{Records: []api.AuditRecord{}, NextCursor: next}
	for _, entry := range found {
		list.Records = append(list.Records, auditRecord(entry.Chain, entry.Record))
	}
	return writeJSON(c, http.StatusOK, list)
}

// chainsOf are the chains that a query is about.
func (h *Handler) chainsOf(c *call, values url.Values) ([]organization.Chain, error) {
	chains, err := h.orgs.Chains(c.r.Context(), c.who.Org)
	if err != nil {
		return nil, err
	}
	switch {
	case values.Get("chain") == "organization":
		return chains[:1], nil
	case values.Get("repo") == "":
		return chains, nil
	}
	slug, err := api.ParseRepoSlug(values.Get("repo"))
	if err != nil {
		return nil, err
	}
	slug = c.resolve(slug)
	return slices.DeleteFunc(chains, func(chain organization.Chain) bool { return chain.Repo != slug }), nil
}

// auditQuery reads the filters.
func auditQuery(values url.Values) (store.AuditQuery, error) {
	limit, err := limitOf(values)
	if err != nil {
		return store.AuditQuery{}, err
	}
	q := store.AuditQuery{User: values.Get("user"), Action: values.Get("action"), Limit: limit}
	for name, into := range map[string]*time.Time{"from": &q.From, "to": &q.To} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		at, err := api.ParseTime(text)
		if err != nil {
			return q, badQuery(fmt.Sprintf("%s %q is not a time such as 2026-11-30T12:00:00Z", name, clip(text)))
		}
		*into = at.Time
	}
	return q, nil
}

func auditRecord(chain organization.Chain, r audit.Record) api.AuditRecord {
	return api.AuditRecord{
		Chain: chain.Name(), Seq: r.Seq, At: api.NewTime(r.At), Action: r.Action, User: r.User, Token: r.TokenUID, Client: r.Client,
		Subject: json.RawMessage(r.Subject), Previous: hex.EncodeToString(r.Previous[:]), Hash: hex.EncodeToString(r.Hash[:]),
	}
}

const typeJSONLines = "application/jsonl"

// exportAudit writes whole chains as JSON Lines, oldest first. That somebody did is
// recorded before.
func (h *Handler) exportAudit(c *call) error {
	values, err := c.query()
	if err != nil {
		return err
	}
	if err := h.orgs.Record(c.r.Context(), c.by(), audit.ActionExport, audit.Deed{Repo: values.Get("repo")}); err != nil {
		return err
	}
	chains, err := h.chainsOf(c, values)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", typeJSONLines)
	if c.r.Method == http.MethodHead {
		return nil
	}
	lines := json.NewEncoder(c.w)
	lines.SetEscapeHTML(false)
	for _, chain := range chains {
		err := h.orgs.Walk(c.r.Context(), c.who.Org, chain, func(r audit.Record) error {
			c.begun = true
			return lines.Encode(auditRecord(chain, r))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
