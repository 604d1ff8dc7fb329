package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/teammem/teammem/api"
)

// extensions are those of protocol.md, part 2, that this server speaks.
var extensions = []string{
	api.ExtensionBaseChecksums,
	api.ExtensionDeletions,
	api.ExtensionSince,
	api.ExtensionModified,
	api.ExtensionEvents,
	api.ExtensionPolicy,
	api.ExtensionProposals,
	api.ExtensionRedacted,
}

// wellKnown says what this server is, to anyone.
func (h *Handler) wellKnown(c *call) error {
	known := api.WellKnown{
		Server:     "teammem",
		Version:    h.cfg.Version,
		Limits:     h.cfg.Limits,
		Extensions: extensions,
	}
	if h.cfg.SignOn != nil {
		known.OIDC = h.cfg.SignOn.Announce()
	}
	return writeJSON(c, http.StatusOK, known)
}

// openAPI gives the description of the contract.
func (h *Handler) openAPI(c *call) error {
	return writeBody(c, http.StatusOK, typeYAML, api.OpenAPI())
}

// whoAmI tells the bearer of a token about it.
func (h *Handler) whoAmI(c *call) error {
	answer := api.WhoAmI{
		OrganizationID: c.who.OrgUID,
		Organization:   c.who.OrgName,
		User:           c.who.UserName,
		Role:           c.who.Role,
		TokenID:        c.who.TokenUID,
	}
	if !c.who.Expires.IsZero() {
		expires := api.NewTime(c.who.Expires)
		answer.Expires = &expires
	}
	return writeJSON(c, http.StatusOK, answer)
}

// status is the answer of the probes.
type status struct {
	Status string `json:"status"`
}

// health says that the process answers.
func (h *Handler) health(c *call) error { return writeJSON(c, http.StatusOK, status{"ok"}) }

// pingTime bounds a readiness probe: a database that takes longer cannot serve.
const pingTime = 2 * time.Second

// ready says that requests would be served: the database answers, and the server
// is not about to end.
func (h *Handler) ready(c *call) error {
	if h.draining.Load() {
		return overloaded("the server is shutting down", nil)
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), pingTime)
	defer cancel()
	if err := h.db.Ping(ctx); err != nil {
		return overloaded("the database does not answer", err)
	}
	return writeJSON(c, http.StatusOK, status{"ready"})
}
