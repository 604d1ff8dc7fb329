// Package rest speaks HTTP for the server: it turns requests into calls of the
// ledger and what comes back into the contract's JSON. It holds no rule of its
// own and keeps no data.
//
// The routes are data ([api.Routes]); a route without a handler, or a handler
// without a route, is an error of [New]. Handlers return errors; one writer
// answers them, also for unknown addresses, wrong methods and panics, so that
// every answer is JSON. The right a route asks for is checked in one place, from
// the table, before the handler runs.
//
// What is promised: every stage is bounded (requests at once, bytes of bodies at
// once, size before and after decompression, the time of a request, of its body
// and of its answer); a body that comes too slowly gets the connection closed; a
// refused body is drained so that its sender sees why; a fault that will pass is
// never a 4xx. Answers up to 4 MiB are verified before their header is sent,
// larger ones are written in pieces and broken off when a content turns out
// damaged. The log has one line a request and never a token, a body or a query
// value but the repo.
//
// The server mounts a [Handler] as it is.
package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/semaphore"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/search"
	"github.com/teammem/teammem/server/store"
)

// Ledger is what rest asks of the rules.
type Ledger interface {
	Head(ctx context.Context, caller ledger.Caller, repo api.RepoSlug) (store.Head, error)
	View(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, since api.Version) (ledger.View, error)
	Bodies(ctx context.Context, caller ledger.Caller, rows []store.Row, fn func(row store.Row, content []byte) error) error
	Push(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, push api.Push, ifMatch api.Tags) (ledger.Result, error)
	History(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, key api.Key, before api.Version, limit int) ([]store.Past, error)
	At(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, key api.Key, version api.Version) (store.Past, []byte, error)
	Restore(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, ask api.Restore) (ledger.Result, error)
	Edit(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, ask api.Edit) (ledger.Result, error)
	Move(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, ask api.Move) (ledger.Result, error)
	Findings(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, after api.Key, limit int) ([]store.Finding, error)
	Proposals(ctx context.Context, caller ledger.Caller, query store.ProposalQuery) ([]store.Proposal, error)
	Proposal(ctx context.Context, caller ledger.Caller, id string) (store.Proposal, error)
	ProposalTexts(ctx context.Context, caller ledger.Caller, p store.Proposal) (proposed, current *string, err error)
	Approve(ctx context.Context, caller ledger.Caller, id string, ask api.Approve) (store.Proposal, error)
	Reject(ctx context.Context, caller ledger.Caller, id, reason string) (store.Proposal, error)
	Reopen(ctx context.Context, caller ledger.Caller, id string) (store.Proposal, error)
	MayPropose(ctx context.Context, caller ledger.Caller) (bool, error)
	Policy(ctx context.Context, caller ledger.Caller) (api.OrgPolicy, error)
	SetPolicy(ctx context.Context, caller ledger.Caller, change api.PolicyChange, ifMatch api.Tags) (api.OrgPolicy, error)
	AcceptFinding(ctx context.Context, caller ledger.Caller, accept api.Acceptance) (api.OrgPolicy, error)
	ForgetFinding(ctx context.Context, caller ledger.Caller, fingerprint string) (api.OrgPolicy, error)
	Search(ctx context.Context, caller ledger.Caller, admitted func(api.RepoSlug) bool, q search.Query, page ledger.Page) (ledger.Found, error)
	Digest(ctx context.Context, caller ledger.Caller, admitted func(api.RepoSlug) bool, since time.Time, page ledger.Page) (ledger.Learned, error)
	Redactions(ctx context.Context, caller ledger.Caller, sums []api.Checksum) (map[api.Checksum]store.Redaction, error)
}

// Authenticator finds whom a request's credentials speak for, and hears of what
// was refused to them.
type Authenticator interface {
	Authenticate(ctx context.Context, given auth.Credentials) (auth.Caller, error)
	Refused(r auth.Refusal)
}

// SignOn is how people sign in other than with a token of ours.
type SignOn interface {
	// Announce says what a client may sign in with.
	Announce() []api.Provider
	// BeganBearer records that a program was signed in as a user.
	BeganBearer(ctx context.Context, user store.UserID, address, client string) error
	// EndedBearer signs a provider's token out.
	EndedBearer(ctx context.Context, token string, user store.UserID, address, client string) error
}

// Database is what rest asks of the store itself. The epoch is asked for with
// every answer; stores remember it for a second.
type Database interface {
	Ping(ctx context.Context) error
	Epoch(ctx context.Context) (api.Epoch, error)
}

// Config bounds the work of a Handler.
type Config struct {
	Version string // of the build, announced under [api.PathWellKnown]
	Limits  api.Limits

	InFlight int           // requests at once; more are answered 503
	Memory   int64         // bytes of bodies held at once, in and out; decoding needs up to three times that
	Request  time.Duration // a request as a whole; below the 30 s after which clients give up
	Body     time.Duration // a body to arrive; a slower one gets the connection closed

	// SignOn signs people in with identity providers; nil where there are none.
	SignOn SignOn

	// Began hears of each call, and what it returns of the call's end; nil for nobody.
	// Neither may wait.
	Began func() (ended func(Observation))

	// TrustedProxies are believed when they say whom they speak for.
	TrustedProxies []netip.Prefix

	// What is read of a refused body, so that its sender sees the answer and not
	// a reset.
	DrainBytes int64
	DrainTime  time.Duration
}

// DefaultConfig is fit for a small machine.
func DefaultConfig() Config {
	return Config{
		Version:    "devel",
		Limits:     api.DefaultLimits,
		InFlight:   1024,
		Memory:     256 << 20,
		Request:    25 * time.Second,
		Body:       20 * time.Second,
		DrainBytes: 16 << 20,
		DrainTime:  10 * time.Second,
	}
}

// Handler answers all requests of the contract.
type Handler struct {
	log     *slog.Logger
	ledger  Ledger
	auth    Authenticator
	db      Database
	events  *events.Hub
	orgs    *organization.Rules
	leaks   Leaks
	reads   *reading.Desk
	figures *figures.Desk
	cfg     Config

	router   chi.Router
	compress func(http.Handler) http.HandlerFunc
	ids      *requestIDs
	inFlight chan struct{}
	memory   *semaphore.Weighted
	shares   *shares
	rendered rendered
	draining atomic.Bool
	calls    sync.WaitGroup
}

// New builds the Handler. It refuses when [api.Routes] and the handlers here do
// not fit each other. The hub must run while streams are asked for.
func New(log *slog.Logger, l Ledger, a Authenticator, db Database, hub *events.Hub, orgs *organization.Rules, leaks Leaks, reads *reading.Desk, numbers *figures.Desk, cfg Config) (*Handler, error) {
	compress, err := gzhttp.NewWrapper(
		gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.ContentTypes([]string{typeJSON, typeYAML}),
	)
	if err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	h := &Handler{
		log:      log,
		ledger:   l,
		auth:     a,
		db:       db,
		events:   hub,
		orgs:     orgs,
		leaks:    leaks,
		reads:    reads,
		figures:  numbers,
		cfg:      cfg,
		router:   chi.NewRouter(),
		compress: compress,
		ids:      newRequestIDs(),
		inFlight: make(chan struct{}, cfg.InFlight),
		memory:   semaphore.NewWeighted(cfg.Memory),
		shares:   newShares(cfg.InFlight, cfg.Memory),
	}
	if err := h.mount(api.Routes); err != nil {
		return nil, err
	}
	return h, nil
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.router.ServeHTTP(w, r) }

// Drain makes the Handler say that it is not ready, for balancers that ask. It
// goes on answering.
func (h *Handler) Drain() { h.draining.Store(true) }

// Wait returns when no call is under way any more. No new one may come in: the
// listener is closed before.
func (h *Handler) Wait() { h.calls.Wait() }

// handle answers one call, or returns the error to answer with.
type handle func(*call) error

// handlers are by operation.
func (h *Handler) handlers() map[string]handle {
	return map[string]handle{
		"getTeamMemory":   h.getTeamMemory,
		"putTeamMemory":   h.putTeamMemory,
		"listFindings":    h.listFindings,
		"listProposals":   h.listProposals,
		"getProposal":     h.getProposal,
		"approveProposal": h.approveProposal,
		"rejectProposal":  h.rejectProposal,
		"reopenProposal":  h.reopenProposal,
		"getPolicy":       h.getPolicy,
		"setPolicy":       h.setPolicy,
		"acceptFinding":   h.acceptFinding,
		"forgetFinding":   h.forgetFinding,
		"whoAmI":          h.whoAmI,
		"liveEvents":      h.liveEvents,
		"listEntries":     h.listEntries,
		"getEntry":        h.getEntry,
		"listHistory":     h.listHistory,
		"listVersions":    h.listVersions,
		"getDiff":         h.getDiff,
		"restoreEntry":    h.restoreEntry,
		"editEntry":       h.editEntry,
		"moveEntry":       h.moveEntry,
		"listCatalogue":   h.listCatalogue,
		"getLinks":        h.getLinks,
		"getIndexes":      h.getIndexes,
		"getBlame":        h.getBlame,
		"exportRepo":      h.exportRepo,
		"listActivity":    h.listActivity,
		"liveActivity":    h.liveActivity,
		"search":          h.search,
		"digest":          h.digest,
		"getStats":        h.getStats,
		"reportClient":    h.reportClient,
		"listClients":     h.listClients,

		"redact":         h.redact,
		"listRedactions": h.listRedactions,
		"startScan":      h.startScan,
		"getScan":        h.getScan,
		"beginSession":   h.beginSession,
		"endSession":     h.endSession,

		"listMembers":        h.listMembers,
		"setMember":          h.setMember,
		"removeMember":       h.removeMember,
		"listGroups":         h.listGroups,
		"setGroup":           h.setGroup,
		"removeGroup":        h.removeGroup,
		"listGrants":         h.listGrants,
		"setGrant":           h.setGrant,
		"removeGrant":        h.removeGrant,
		"listTokens":         h.listTokens,
		"createToken":        h.createToken,
		"revokeToken":        h.revokeToken,
		"listRepos":          h.listRepos,
		"renameRepo":         h.renameRepo,
		"forgetRepoName":     h.forgetRepoName,
		"getOrganization":    h.getOrganization,
		"changeOrganization": h.changeOrganization,
		"findAudit":          h.findAudit,
		"exportAudit":        h.exportAudit,

		"openAPI":   h.openAPI,
		"wellKnown": h.wellKnown,
		"health":    h.health,
		"ready":     h.ready,
	}
}

// noRoute stands in the log for a request that no route answers.
var noRoute = api.Route{Operation: "none", Right: api.Public}

func (h *Handler) mount(routes []api.Route) error {
	handlers := h.handlers()
	for _, route := range routes {
		answer, ok := handlers[route.Operation]
		if !ok {
			return fmt.Errorf("the route %s %s has no handler for its operation %q", route.Method, route.Pattern, route.Operation)
		}
		delete(handlers, route.Operation)
		serve := h.serve(route, answer)
		h.router.Method(route.Method, route.Pattern, serve)
		if route.Method == http.MethodGet {
			h.router.Method(http.MethodHead, route.Pattern, serve)
		}
	}
	for operation := range handlers {
		return fmt.Errorf("the handler of %q has no route", operation)
	}
	lost := h.serve(noRoute, h.lost)
	h.router.NotFound(lost)
	h.router.MethodNotAllowed(lost)
	return nil
}

// lost answers a request that no route takes: 405 where another method would
// do, else 404.
func (h *Handler) lost(c *call) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if h.router.Match(chi.NewRouteContext(), method, c.r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return &api.Error{
			Code:    api.NotFound,
			Message: "there is nothing at this address",
			Details: api.Details{ErrorCode: api.ErrorCodeNoRoute},
		}
	}
	allow := allowed[0]
	for _, method := range allowed[1:] {
		allow += ", " + method
	}
	return &api.Error{
		Code:    api.InvalidRequest,
		Status:  http.StatusMethodNotAllowed,
		Message: "this address takes other methods: " + allow,
		Details: api.Details{ErrorCode: api.ErrorCodeMethod},
		Allow:   allow,
	}
}

// enter admits a call, unless as many are under way as may be. leave gives the
// place back. Probes always come in: an overloaded server is not a dead one. A
// stream takes no place: it would hold it for hours and does nothing.
func (h *Handler) enter(route api.Route) (leave func(), err error) {
	if !counted(route) {
		return func() {}, nil
	}
	select {
	case h.inFlight <- struct{}{}:
		return func() { <-h.inFlight }, nil
	default:
		return nil, overloaded("as many requests are under way as the server takes at once", errors.New("too many requests in flight"))
	}
}

// counted tells whether calls of a route take a place.
func counted(route api.Route) bool {
	return !slices.Contains([]string{"health", "ready", "liveEvents", "liveActivity"}, route.Operation)
}

// authorize finds the caller and holds what they may do against the route's right,
// on every repo that the query names. This is the one place where that happens. It
// is decided before anything of a repo is read, so that a refusal says and costs the
// same whether there is such a repo or not.
func (h *Handler) authorize(c *call) error {
	if c.route.Right == api.Public {
		return nil
	}
	c.from = h.addresses(c.r)
	who, err := h.auth.Authenticate(c.r.Context(), c.credentials())
	if err != nil {
		return err
	}
	c.who = who
	c.caller = callerOf(who, c.r, c.from)
	// What a provider gives lasts an hour and is renewed by itself.
	if who.How == auth.ByToken && !who.Expires.IsZero() && who.Expires.Sub(h.orgs.Now()) < expiresSoon {
		c.w.Header().Set(api.HeaderTokenExpires, api.NewTime(who.Expires).String())
	}
	repo, err := c.mayOn()
	if err != nil {
		return err
	}
	if repo == allowed {
		return h.admitWrite(c)
	}
	proposes, err := h.mayPropose(c, repo)
	if err != nil {
		return err
	}
	if proposes {
		return h.admitWrite(c)
	}
	c.repo = repo
	return refusedRight(c, repo)
}

// admitWrite holds a write against the organization's limit.
func (h *Handler) admitWrite(c *call) error {
	if c.route.Right != api.Write {
		return nil
	}
	return h.orgs.AdmitWrite(c.who.Org, c.who.Limits.WritesPerMinute)
}

// noteRefusal passes on that somebody known was refused a right, or more than their
// share.
func (h *Handler) noteRefusal(c *call, err error) {
	e, ours := api.AsError(err)
	if !ours || e.Code != api.Permission && e.Code != api.RateLimit || c.who.Org == 0 {
		return
	}
	h.auth.Refused(auth.Refusal{
		Org: c.who.Org, User: c.who.UserName, TokenUID: c.who.TokenUID, How: c.who.How, Why: e.Details.ErrorCode,
		What: c.route.Operation, Repo: c.repo, From: c.caller.From,
	})
}

// mayPropose reports whether somebody who may not write may send a write all the
// same, because a review rule makes a proposal of it. What no rule catches the
// ledger refuses.
func (h *Handler) mayPropose(c *call, repo api.RepoSlug) (bool, error) {
	if c.route.Right != api.Write || !c.who.Scope.Admits(api.Write) || repo != "" && !c.who.MayOn(api.Read, repo) {
		return false, nil
	}
	c.caller.Role = c.roleOn(repo)
	return h.ledger.MayPropose(c.r.Context(), c.caller)
}

// roleOn is the caller's role on a repo, or in the organization where none is named.
func (c *call) roleOn(repo api.RepoSlug) api.Role {
	if repo == "" {
		return c.who.Role
	}
	return c.who.RoleOn(repo)
}

// expiresSoon is for how long before its end a token says so.
const expiresSoon = 7 * 24 * time.Hour

// allowed is what mayOn gives where nothing is refused: it is no repo.
const allowed api.RepoSlug = "/"

// mayOn holds the caller against the route. It gives the repo on which the right
// is missing, the empty one where it is missing in the organization, or [allowed].
func (c *call) mayOn() (api.RepoSlug, error) {
	right := c.route.Right
	if !right.OfRepo() {
		if !c.who.May(right) {
			return "", nil
		}
		return allowed, nil
	}
	if !c.who.MaySomewhere(right) {
		return "", nil
	}
	// What the handler says of a query that cannot be read is better.
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return allowed, nil
	}
	for _, name := range values["repo"] {
		slug, err := api.ParseRepoSlug(name)
		if err != nil {
			return "", err
		}
		if slug = c.who.Resolve(slug); !c.who.MayOn(right, slug) {
			return slug, nil
		}
	}
	return allowed, nil
}

func refusedRight(c *call, repo api.RepoSlug) error {
	role, where := c.who.Role, ""
	if repo != "" {
		role, where = c.who.RoleOn(repo), " on this repo"
	}
	says := fmt.Sprintf("the role %s does not hold the right to %s%s", role, c.route.Right, where)
	if !c.who.Scope.Admits(c.route.Right) {
		says = fmt.Sprintf("the token's scope is %s, which leaves out the right to %s", c.who.Scope, c.route.Right)
	}
	return &api.Error{
		Code:    api.Permission,
		Message: says + ": an admin of the organization can give a higher role, or a token that holds it",
		Details: api.Details{ErrorCode: api.ErrorCodeRole},
	}
}
