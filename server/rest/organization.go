package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

// by is the caller as a record names them.
func (c *call) by() organization.By {
	return organization.By{
		Org: c.who.Org, User: c.who.UserName, TokenUID: c.who.TokenUID, Client: c.caller.Client, How: string(c.who.How), From: c.caller.From,
	}
}

// query reads a query of which every value may stand once.
func (c *call) query() (url.Values, error) {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, badQuery("the query cannot be read: percent-encode it")
	}
	for name, given := range values {
		if len(given) > 1 {
			return nil, badQuery(clip(name) + " stands more than once in the query")
		}
	}
	return values, nil
}

// limitOf reads how many are asked for.
func limitOf(values url.Values) (int, error) {
	text := values.Get("limit")
	if text == "" {
		return api.DefaultPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > api.MaxPage {
		return 0, badQuery(fmt.Sprintf("limit %q is not a number from 1 to %d", clip(text), api.MaxPage))
	}
	return n, nil
}

// paged takes a page out of a list whose cursors are numbers of places.
func paged[T any](c *call, all []T) (page []T, next string, err error) {
	values, err := c.query()
	if err != nil {
		return nil, "", err
	}
	limit, err := limitOf(values)
	if err != nil {
		return nil, "", err
	}
	from := 0
	if cursor := values.Get("cursor"); cursor != "" {
		if from, err = strconv.Atoi(cursor); err != nil || from < 0 {
			return nil, "", badQuery("the cursor is not one of an earlier answer")
		}
	}
	from = min(from, len(all))
	page = all[from:min(from+limit, len(all))]
	if from+limit < len(all) {
		next = strconv.Itoa(from + limit)
	}
	return page, next, nil
}

// readInto reads a small JSON body strictly; unknown fields are ignored.
func (h *Handler) readInto(c *call, into any) error {
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	if _, err := api.ParseJSON(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return &api.Error{
			Code:    api.InvalidRequest,
			Message: "the body is not of the shape that this address takes",
			Details: api.Details{ErrorCode: api.ErrorCodeBadBody},
			Err:     err,
		}
	}
	return nil
}

func writeDone(c *call) error { return writeJSON(c, http.StatusOK, api.Done{Status: "ok"}) }

func wireTime(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	wire := api.NewTime(t)
	return &wire
}

func listed(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// shownRole is a role as it is told: none where there is none.
func shownRole(r api.Role) api.Role {
	if r == "" {
		return api.NoRole
	}
	return r
}

func (h *Handler) listMembers(c *call) error {
	all, err := h.orgs.Members(c.r.Context(), c.who.Org)
	if err != nil {
		return err
	}
	page, next, err := paged(c, all)
	if err != nil {
		return err
	}
	list := api.MemberList{Members: []api.MemberInfo{}, NextCursor: next}
	for _, m := range page {
		list.Members = append(list.Members, api.MemberInfo{
			Name: m.Name, Role: shownRole(m.Role), Groups: listed(m.Groups.List()), Service: m.Service, Created: api.NewTime(m.Created),
		})
	}
	return writeJSON(c, http.StatusOK, list)
}

func (h *Handler) setMember(c *call) error {
	values, err := c.query()
	if err != nil {
		return err
	}
	var ask api.MemberChange
	if err := h.readInto(c, &ask); err != nil {
		return err
	}
	if ask.Role == "" {
		return badBody("role is missing")
	}
	if err := h.orgs.SetMember(c.r.Context(), c.by(), values.Get("name"), ask.Role, ask.Service); err != nil {
		return err
	}
	return writeDone(c)
}

func badBody(message string) *api.Error {
	return &api.Error{Code: api.InvalidRequest, Message: message, Details: api.Details{ErrorCode: api.ErrorCodeBadBody}}
}

func (h *Handler) removeMember(c *call) error {
	values, err := c.query()
	if err != nil {
		return err
	}
	if err := h.orgs.RemoveMember(c.r.Context(), c.by(), values.Get("name")); err != nil {
		return err
	}
	return writeDone(c)
}

// listGroups lists what groups are, in the organization and on repos.
func (h *Handler) listGroups(c *call) error {
	return h.writeGrants(c, func(g store.Grant) bool { return g.Kind == store.ForGroup })
}

func (h *Handler) listGrants(c *call) error {
	return h.writeGrants(c, func(store.Grant) bool { return true })
}

func (h *Handler) writeGrants(c *call, wanted func(store.Grant) bool) error {
	all, err := h.orgs.Grants(c.r.Context(), c.who.Org)
	if err != nil {
		return err
	}
	list := api.GrantList{Grants: []api.GrantInfo{}}
	for _, g := range all {
		if wanted(g) {
			list.Grants = append(list.Grants, api.GrantInfo{Kind: string(g.Kind), Name: g.Name, Pattern: g.Pattern, Role: g.Role})
		}
	}
	return writeJSON(c, http.StatusOK, list)
}

// grantOf reads whom a grant is for, and on which repos; kind is fixed for groups.
func (c *call) grantOf(kind store.GrantKind) (store.Grant, error) {
	values, err := c.query()
	if kind == "" {
		kind = store.GrantKind(values.Get("kind"))
	}
	return store.Grant{Kind: kind, Name: values.Get("name"), Pattern: values.Get("pattern")}, err
}

func (h *Handler) setGroup(c *call) error    { return h.grant(c, store.ForGroup) }
func (h *Handler) setGrant(c *call) error    { return h.grant(c, "") }
func (h *Handler) removeGroup(c *call) error { return h.ungrant(c, store.ForGroup) }
func (h *Handler) removeGrant(c *call) error { return h.ungrant(c, "") }

func (h *Handler) grant(c *call, kind store.GrantKind) error {
	grant, err := c.grantOf(kind)
	if err != nil {
		return err
	}
	var ask api.GrantChange
	if err := h.readInto(c, &ask); err != nil {
		return err
	}
	grant.Role = ask.Role
	if err := h.orgs.SetGrant(c.r.Context(), c.by(), grant); err != nil {
		return err
	}
	return writeDone(c)
}

func (h *Handler) ungrant(c *call, kind store.GrantKind) error {
	grant, err := c.grantOf(kind)
	if err != nil {
		return err
	}
	if err := h.orgs.RemoveGrant(c.r.Context(), c.by(), grant); err != nil {
		return err
	}
	return writeDone(c)
}

// listRepos lists the repos that the caller may read.
func (h *Handler) listRepos(c *call) error {
	ctx := c.r.Context()
	all, err := h.orgs.Repos(ctx, c.who.Org)
	if err != nil {
		return err
	}
	access, err := h.orgs.Get(ctx, c.who.Org)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r store.RepoInfo) bool { return !c.who.MayOn(api.Read, r.Slug) })
	page, next, err := paged(c, all)
	if err != nil {
		return err
	}
	old := map[api.RepoSlug][]api.RepoSlug{}
	for name, now := range access.Aliases {
		old[now] = append(old[now], name)
	}
	list := api.RepoList{Repos: []api.RepoInfo{}, NextCursor: next}
	for _, r := range page {
		names := slices.Sorted(slices.Values(old[r.Slug]))
		if names == nil {
			names = []api.RepoSlug{}
		}
		list.Repos = append(list.Repos, api.RepoInfo{
			Repo: r.Slug, OldNames: names, Version: r.Head.Version, Entries: r.Head.Entries, Bytes: r.Head.Bytes,
			LastModified: api.NewTime(r.Head.LastModified), Role: c.who.RoleOn(r.Slug),
		})
	}
	return writeJSON(c, http.StatusOK, list)
}

// repoOf reads the repo of a query as it is called there.
func (c *call) repoOf() (api.RepoSlug, error) {
	values, err := c.query()
	if err != nil {
		return "", err
	}
	return api.ParseRepoSlug(values.Get("repo"))
}

func (h *Handler) renameRepo(c *call) error {
	from, err := c.repoOf()
	if err != nil {
		return err
	}
	var ask api.RepoRename
	if err := h.readInto(c, &ask); err != nil {
		return err
	}
	to, err := api.ParseRepoSlug(string(ask.To))
	if err != nil {
		return err
	}
	if err := h.orgs.Rename(c.r.Context(), c.by(), from, to); err != nil {
		return err
	}
	return writeDone(c)
}

func (h *Handler) forgetRepoName(c *call) error {
	name, err := c.repoOf()
	if err != nil {
		return err
	}
	if err := h.orgs.ForgetName(c.r.Context(), c.by(), name); err != nil {
		return err
	}
	return writeDone(c)
}

func (h *Handler) getOrganization(c *call) error {
	access, err := h.orgs.Get(c.r.Context(), c.who.Org)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, organizationInfo(access.Organization))
}

func organizationInfo(o store.Organization) api.OrganizationInfo {
	return api.OrganizationInfo{
		ID: o.UID, Name: o.Name, MaxEntries: o.MaxEntries, MaxRepos: o.MaxRepos, MaxBytes: o.MaxBytes,
		WritesPerMinute: o.WritesPerMinute, AuditDays: o.AuditDays, HistoryDays: o.HistoryDays, HistoryKeep: o.HistoryKeep, TrashDays: o.TrashDays,
		Created: api.NewTime(o.Created),
	}
}

func (h *Handler) changeOrganization(c *call) error {
	var ask api.OrganizationChange
	if err := h.readInto(c, &ask); err != nil {
		return err
	}
	after, err := h.orgs.Set(c.r.Context(), c.by(), organization.Settings(ask))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, organizationInfo(after))
}
