package rest

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// Leaks is what rest asks of the answer to leaks. Pulled is told of every answer that
// carried contents, and must not wait.
type Leaks interface {
	Pulled(caller ledger.Caller, repo store.RepoID, version api.Version)
	Redact(ctx context.Context, caller ledger.Caller, ask api.Redact, rewrite bool, progress func(done, of int64)) (api.Redacted, error)
	Redactions(ctx context.Context, caller ledger.Caller) ([]store.Redaction, error)
	StartScan(ctx context.Context, caller ledger.Caller, ask api.StartScan, origin string) (store.Scan, error)
	Scan(ctx context.Context, caller ledger.Caller, uid string, after, limit int) (api.Scan, error)
}

// redact withdraws contents. Who asks by a fingerprint has the whole organization
// looked through, for as long as a request may take.
func (h *Handler) redact(c *call) error {
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	ask, err := api.DecodeRedact(body)
	if err != nil {
		return err
	}
	if ask.Repo != "" {
		ask.Repo = c.who.Resolve(ask.Repo)
		c.repo = ask.Repo
	}
	done, err := h.leaks.Redact(c.r.Context(), c.caller, ask, false, nil)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, done)
}

// listRedactions lists what was withdrawn. The cursor is the number of the first of the
// next page: the list only grows at its end.
func (h *Handler) listRedactions(c *call) error {
	after, limit, err := parsePlace(c)
	if err != nil {
		return err
	}
	all, err := h.leaks.Redactions(c.r.Context(), c.caller)
	if err != nil {
		return err
	}
	list := api.RedactionList{Redactions: []api.Redaction{}}
	for i, r := range all {
		if i < after {
			continue
		}
		if len(list.Redactions) == limit {
			list.NextCursor = strconv.Itoa(i)
			break
		}
		list.Redactions = append(list.Redactions, wireRedaction(r))
	}
	return writeJSON(c, http.StatusOK, list)
}

func wireRedaction(r store.Redaction) api.Redaction {
	return api.Redaction{Checksum: r.Checksum, At: api.NewTime(r.At), User: r.User, Reason: r.Reason}
}

// parsePlace reads limit and cursor of a list that is numbered.
func parsePlace(c *call) (after, limit int, err error) {
	values, err := parseQuery(c.r)
	if err != nil {
		return 0, 0, err
	}
	if limit, err = parseLimit(values); err != nil {
		return 0, 0, err
	}
	if cursor := values.Get("cursor"); cursor != "" {
		if after, err = strconv.Atoi(cursor); err != nil || after < 0 {
			return 0, 0, badQuery("the cursor is not one of an earlier answer")
		}
	}
	return after, limit, nil
}

// startScan begins a scan, or finds the one under way.
func (h *Handler) startScan(c *call) error {
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	ask, err := api.DecodeStartScan(body)
	if err != nil {
		return err
	}
	if ask.Repo != "" {
		ask.Repo = c.who.Resolve(ask.Repo)
		if _, err := h.ledger.Head(c.r.Context(), c.caller, ask.Repo); err != nil {
			return err
		}
	}
	scan, err := h.leaks.StartScan(c.r.Context(), c.caller, ask, leak.ByServer)
	if err != nil {
		return err
	}
	wire, err := h.leaks.Scan(c.r.Context(), c.caller, scan.UID, 0, 0)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, wire)
}

// getScan gives a scan as far as it is, with a page of what it found.
func (h *Handler) getScan(c *call) error {
	after, limit, err := parsePlace(c)
	if err != nil {
		return err
	}
	scan, err := h.leaks.Scan(c.r.Context(), c.caller, chi.URLParam(c.r, "id"), after, limit)
	if err != nil {
		return err
	}
	if next := after + len(scan.Findings); next < scan.Found {
		scan.NextCursor = strconv.Itoa(next)
	}
	return writeJSON(c, http.StatusOK, scan)
}

// redactedAmong says of a page of changes which texts were withdrawn.
func (h *Handler) redactedAmong(c *call, past []store.Past) (map[api.Checksum]store.Redaction, error) {
	sums := make([]api.Checksum, 0, len(past))
	for _, p := range past {
		sums = append(sums, p.Checksum)
	}
	return h.ledger.Redactions(c.r.Context(), c.caller, sums)
}
