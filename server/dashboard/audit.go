package dashboard

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

// auditView is the record of what was done.
type auditView struct {
	frame
	Records                     []auditRow
	Chains                      []string
	Actions                     []string
	Chain, Of, Action, From, To string
	Newer, Older                string
	Self                        string
	Filtered                    bool
}

type auditRow struct {
	organization.Entry
	Says    string // in words
	Subject string
	Hash    string
}

// auditActions are those that the filter offers; a dot at the end means all that begin
// so.
var auditActions = []string{
	audit.ActionPush, audit.ActionRestore, audit.ActionApprove, audit.ActionReject, audit.ActionReopen, audit.ActionRedact, audit.ActionSignIn, audit.ActionSignOut,
	audit.ActionRefused, "member.", "invitation.", "grant.", "token.", "organization.", "repo.", "policy.", "audit.", audit.ActionCheckpoint,
}

func showAudit(v *visit) error {
	ctx := v.r.Context()
	chains, err := v.h.parts.Orgs.Chains(ctx, v.who.Org)
	if err != nil {
		return err
	}
	v.Title = "Audit"
	view := auditView{
		Chain: v.query.Get("chain"), Of: v.query.Get("user"), Action: v.query.Get("action"), From: v.query.Get("from"), To: v.query.Get("to"),
		Actions: auditActions, Self: v.r.URL.RequestURI(),
	}
	view.Filtered = view.Chain+view.Of+view.Action+view.From+view.To != ""
	for _, c := range chains {
		view.Chains = append(view.Chains, c.Name())
	}
	if view.Chain != "" {
		chains = slices.DeleteFunc(chains, func(c organization.Chain) bool { return c.Name() != view.Chain })
	}
	q := store.AuditQuery{User: view.Of, Action: view.Action, Limit: perPage}
	if q.From, err = day(view.From, false); err != nil {
		return err
	}
	if q.To, err = day(view.To, true); err != nil {
		return err
	}
	found, next, err := v.h.parts.Orgs.Page(ctx, v.who.Org, chains, q, v.query.Get("cursor"))
	if err != nil {
		return err
	}
	for _, e := range found {
		view.Records = append(view.Records, auditRow{Entry: e, Says: deedSays(e.Record), Subject: clipped(string(e.Record.Subject)), Hash: hex.EncodeToString(e.Record.Hash[:4])})
	}
	if next != "" {
		view.Older = v.turned("cursor", next)
	}
	if v.query.Get("cursor") != "" {
		view.Newer = v.turned("cursor", "")
	}
	view.frame = v.frame
	view.Live = v.live()
	return v.show("audit", view)
}

// clipped is a subject as far as a page shows it; the export has all of it.
func clipped(s string) string {
	const most = 1000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " … " + size(len(s)) + " in all; the export has it"
}

// day reads a date of a filter; end is the last moment of it.
func day(text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, &fault{http.StatusBadRequest, sentence(fmt.Sprintf("%q is not a date such as 2026-11-30", text)), "Go back and give one."}
	}
	if end {
		t = t.Add(24*time.Hour - time.Millisecond)
	}
	return t, nil
}

// deedSays says a record in words, as far as its subject is known.
func deedSays(r audit.Record) string {
	var s struct {
		audit.Deed
		Keys     []json.RawMessage `json:"keys"`
		Proposed []json.RawMessage `json:"proposed"`
		Key      string            `json:"key"`
		Author   string            `json:"author"`
		Reason   string            `json:"reason"`
		Sums     []string          `json:"checksums"`
	}
	if json.Unmarshal(r.Subject, &s) != nil {
		return ""
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case r.Action == audit.ActionPush || r.Action == audit.ActionRestore:
		if len(s.Keys) > 0 {
			add("%s changed", count(len(s.Keys), "entry"))
		}
		if len(s.Proposed) > 0 {
			add("%d proposed", len(s.Proposed))
		}
	case s.Key != "":
		add("%s of %s", s.Key, s.Author)
	case len(s.Sums) > 0:
		add("%s withdrawn", count(len(s.Sums), "content"))
	case s.Of != "":
		add("%s", s.Of)
	}
	if s.Repo != "" {
		add("%s", s.Repo)
	}
	if s.Why != "" {
		add("%s", s.Why)
	}
	if s.Count > 1 {
		add("%d times", s.Count)
	}
	if s.Reason != "" {
		add("“%s”", s.Reason)
	}
	return strings.Join(parts, ", ")
}

func verifyAudit(v *visit) error {
	records, err := v.h.parts.Orgs.Verify(v.r.Context(), v.who.Org)
	var broken *organization.BrokenError
	switch {
	case errors.As(err, &broken):
		return v.done(v.At("/audit"), said{Text: sentence(broken.Error()), Bad: true})
	case err != nil:
		return err
	}
	return v.done(v.At("/audit"), said{Text: fmt.Sprintf("All %s of every chain are as they were written.", count(records, "record"))})
}

// exportAudit writes whole chains as JSON Lines, oldest first. That somebody did is
// recorded before.
func exportAudit(v *visit) error {
	ctx := v.r.Context()
	chain := v.form("chain")
	if err := v.h.parts.Orgs.Record(ctx, v.by(), audit.ActionExport, audit.Deed{Repo: chain}); err != nil {
		return err
	}
	chains, err := v.h.parts.Orgs.Chains(ctx, v.who.Org)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/jsonl")
	v.w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	lines := json.NewEncoder(v.w)
	lines.SetEscapeHTML(false)
	for _, c := range chains {
		if chain != "" && c.Name() != chain {
			continue
		}
		err := v.h.parts.Orgs.Walk(ctx, v.who.Org, c, func(r audit.Record) error {
			return lines.Encode(api.AuditRecord{
				Chain: c.Name(), Seq: r.Seq, At: api.NewTime(r.At), Action: r.Action, User: r.User, Token: r.TokenUID, Client: r.Client,
				Subject: json.RawMessage(r.Subject), Previous: hex.EncodeToString(r.Previous[:]), Hash: hex.EncodeToString(r.Hash[:]),
			})
		})
		if err != nil {
			// The header is out: a file that ends early is worse than none.
			panic(http.ErrAbortHandler)
		}
	}
	return nil
}
