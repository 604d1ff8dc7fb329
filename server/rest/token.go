package rest

import (
	"net/http"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

// listTokens lists one's own tokens; an admin names another user, or all=true.
func (h *Handler) listTokens(c *call) error {
	values, err := c.query()
	if err != nil {
		return err
	}
	user := c.who.UserName
	if named := values.Get("user"); named != "" || values.Get("all") == "true" {
		if named != user && !c.who.May(api.Administer) {
			return errOthersTokens
		}
		user = named
	}
	all, err := h.orgs.Tokens(c.r.Context(), c.who.Org, user)
	if err != nil {
		return err
	}
	page, next, err := paged(c, all)
	if err != nil {
		return err
	}
	list := api.TokenList{Tokens: []api.TokenInfo{}, NextCursor: next}
	for _, t := range page {
		list.Tokens = append(list.Tokens, tokenInfo(t))
	}
	return writeJSON(c, http.StatusOK, list)
}

var errOthersTokens = &api.Error{
	Code:    api.Permission,
	Message: "the tokens of others are an admin's business",
	Details: api.Details{ErrorCode: api.ErrorCodeRole},
}

func tokenInfo(t store.Token) api.TokenInfo {
	scope := string(t.Scope)
	if scope == "" {
		scope = "all"
	}
	return api.TokenInfo{
		ID: t.UID, User: t.UserName, Role: t.Role, Label: t.Label, Scope: scope, Repos: listed(t.Repos.List()), Prefix: t.Prefix,
		Created: api.NewTime(t.Created), Expires: wireTime(t.Expires), Revoked: wireTime(t.Revoked), LastUsed: wireTime(t.LastUsed),
	}
}

// createToken makes a token for oneself, or as an admin for another member. It can
// do no more than the caller: a token with a scope or for some repos makes none.
func (h *Handler) createToken(c *call) error {
	var ask api.TokenRequest
	if err := h.readInto(c, &ask); err != nil {
		return err
	}
	if !c.who.Whole() {
		return &api.Error{
			Code:    api.Permission,
			Message: "a token with a scope, or for some repos, makes no other token: sign in, or use one that is for everything",
			Details: api.Details{ErrorCode: api.ErrorCodeRole},
		}
	}
	want := organization.TokenAsk{User: ask.User, Role: ask.Role, Label: ask.Label, Repos: ask.Repos}
	if want.User == "" {
		want.User = c.who.UserName
	}
	if want.User != c.who.UserName && !c.who.May(api.Administer) {
		return errOthersTokens
	}
	if want.User == c.who.UserName {
		// The cap of the token that asks is the cap of the one it makes.
		want.Most = c.who.Cap()
	}
	if ask.Role != "" {
		if _, err := api.ParseRole(string(ask.Role)); err != nil {
			return badBody(err.Error())
		}
	}
	scope, err := api.ParseScope(ask.Scope)
	if err != nil {
		return badBody(err.Error())
	}
	want.Scope = scope
	now := h.orgs.Now()
	want.Expires = now.Add(organization.DefaultLife)
	if ask.Expires != nil {
		if want.Expires = ask.Expires.Time; !want.Expires.After(now) {
			return badBody("expires is in the past")
		}
	}
	secret, token, err := h.orgs.CreateToken(c.r.Context(), c.by(), want)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.NewToken{TokenInfo: tokenInfo(token), Token: secret})
}

// revokeToken ends a token: one's own, or as an admin anybody's.
func (h *Handler) revokeToken(c *call) error {
	values, err := c.query()
	if err != nil {
		return err
	}
	user := c.who.UserName
	if c.who.May(api.Administer) {
		user = ""
	}
	if err := h.orgs.RevokeToken(c.r.Context(), c.by(), values.Get("id"), user); err != nil {
		return err
	}
	return writeDone(c)
}
