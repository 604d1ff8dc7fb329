package rest

import (
	"net/http"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
)

// beginSession records that a program was signed in with a provider's token, and
// says whom it speaks for. It is asked once, by client login.
func (h *Handler) beginSession(c *call) error {
	if c.who.How == auth.ByProvider && h.cfg.SignOn != nil {
		if err := h.cfg.SignOn.BeganBearer(c.r.Context(), c.who.User, c.caller.From, c.caller.Client); err != nil {
			return err
		}
	}
	return h.whoAmI(c)
}

// endSession signs the provider's token out that the request came with. A token of
// ours stays: it is revoked by name, because others may use it as well.
func (h *Handler) endSession(c *call) error {
	if c.who.How != auth.ByProvider || h.cfg.SignOn == nil {
		return writeJSON(c, http.StatusOK, api.SignOut{})
	}
	_, token, _ := strings.Cut(strings.TrimSpace(c.r.Header.Get("Authorization")), " ")
	if err := h.cfg.SignOn.EndedBearer(c.r.Context(), strings.TrimSpace(token), c.who.User, c.caller.From, c.caller.Client); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.SignOut{Ended: true})
}
