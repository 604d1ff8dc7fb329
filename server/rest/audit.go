package rest

import (
	"cmp"
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
	from, err := parseAuditCursor(values.Get("cursor"))
	if err != nil {
		return err
	}
	var found []organization.Entry
	for _, chain := range chains {
		one, err := h.orgs.Find(c.r.Context(), c.who.Org, []organization.Chain{chain}, from.narrow(q, int64(chain.ID)))
		if err != nil {
			return err
		}
		found = append(found, one...)
	}
	slices.SortStableFunc(found, func(a, b organization.Entry) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Chain.ID, b.Chain.ID), cmp.Compare(b.Seq, a.Seq))
	})
	list := api.AuditList{Records: []api.AuditRecord{}}
	for _, entry := range found[:min(len(found), q.Limit-1)] {
		list.Records = append(list.Records, auditRecord(entry.Chain, entry.Record))
	}
	if len(found) >= q.Limit {
		last := found[q.Limit-2]
		list.NextCursor = auditCursor{At: last.At.UnixMilli(), Chain: int64(last.Chain.ID), Seq: last.Seq}.String()
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

// auditQuery reads the filters. One record more than asked for shows whether there
// is another page.
func auditQuery(values url.Values) (store.AuditQuery, error) {
	limit, err := limitOf(values)
	if err != nil {
		return store.AuditQuery{}, err
	}
	q := store.AuditQuery{User: values.Get("user"), Action: values.Get("action"), Limit: limit + 1}
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

// auditCursor is the last record of a page: its time, and of several at one time
// its chain and number.
type auditCursor struct{ At, Chain, Seq int64 }

func (a auditCursor) String() string { return fmt.Sprintf("%d.%d.%d", a.At, a.Chain, a.Seq) }

func parseAuditCursor(text string) (a auditCursor, err error) {
	if text == "" {
		return a, nil
	}
	if n, err := fmt.Sscanf(text, "%d.%d.%d", &a.At, &a.Chain, &a.Seq); err != nil || n != 3 || a.String() != text {
		return a, badQuery("the cursor is not one of an earlier answer")
	}
	return a, nil
}

// narrow is the query for what follows the cursor in a chain.
func (a auditCursor) narrow(q store.AuditQuery, chain int64) store.AuditQuery {
	if a.Seq == 0 {
		return q
	}
	upTo := time.UnixMilli(a.At).UTC()
	switch {
	case chain == a.Chain:
		q.Before = a.Seq
	case chain < a.Chain:
		upTo = upTo.Add(-time.Millisecond)
	}
	if q.To.IsZero() || upTo.Before(q.To) {
		q.To = upTo
	}
	return q
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
