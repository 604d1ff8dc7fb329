// Package proxy stands on this machine between a stock client and a server: it takes
// the team-memory calls of the protocol, drops whatever token they bring, and passes
// them on with ours.
//
// What is promised: the token that came in goes nowhere, nor does a cookie; only the
// one address of the protocol is passed on, with the methods it has; a text that must
// not leave this machine is not sent, and the stock client is told so as a server would
// tell it; everything else arrives as it was answered, its ETag and its errors with it.
// A page of some web site reaches nothing: requests with an origin, or by another name
// than this machine's, are refused.
//
// It keeps nothing. client proxy is its caller.
package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
)

// maxBody is the most that a PUT may bring: the wire's own bound of 4 MiB.
const maxBody = 4 << 20

// Judge says what of a text may not leave, as guard.Guard does; Refresh asks for the
// policy that it judges by.
type Judge interface {
	Refresh(ctx context.Context) (changed bool, err error)
	Judge(key api.Key, content []byte) ([]guard.Judged, error)
}

// Options are what a Proxy is made from.
type Options struct {
	Server string        // origin, as config.Origin gives it
	Token  func() string // asked for each request
	// Client and Organization go with each request, see [api.HeaderClient] and
	// [api.HeaderOrganization]; the second may be empty.
	Client       string
	Organization string
	UserAgent    string
	Transport    http.RoundTripper
}

// Proxy passes calls on. It is an http.Handler.
type Proxy struct {
	log   *slog.Logger
	opts  Options
	judge Judge
	mu    sync.Mutex // a judge belongs to one goroutine
	pass  *httputil.ReverseProxy
}

// New makes a proxy.
func New(log *slog.Logger, judge Judge, opts Options) (*Proxy, error) {
	base, err := url.Parse(opts.Server)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("server address %q: want https://host or http://127.0.0.1:port", opts.Server)
	}
	p := &Proxy{log: log, opts: opts, judge: judge}
	p.pass = &httputil.ReverseProxy{
		Transport:    opts.Transport,
		ErrorLog:     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: p.away,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(base)
			r.Out.Host = base.Host
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			p.own(r.Out.Header, r.In.Header)
		},
	}
	return p, nil
}

// passed are the headers of a request that go on: those of the protocol.
var passed = []string{"Accept", "Accept-Encoding", "Content-Encoding", "Content-Type", "If-Match", "If-None-Match"}

// own makes a request ours: nothing goes on but what the protocol has.
func (p *Proxy) own(out, in http.Header) {
	clear(out)
	for _, name := range passed {
		if values, ok := in[name]; ok {
			out[name] = values
		}
	}
	out.Set("Authorization", "Bearer "+p.opts.Token())
	out.Set("User-Agent", p.opts.UserAgent)
	out.Set(api.HeaderClient, p.opts.Client)
	if p.opts.Organization != "" {
		out.Set(api.HeaderOrganization, p.opts.Organization)
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := admit(r); err != nil {
		refuse(w, err)
		return
	}
	if r.Method == http.MethodPut {
		if err := p.examine(r); err != nil {
			refuse(w, err)
			return
		}
	}
	p.pass.ServeHTTP(w, r)
}

// admit refuses what is no call of the protocol by a program of this machine.
func admit(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	switch {
	case host != "localhost" && (ip == nil || !ip.IsLoopback()), r.Header.Get("Origin") != "", r.Header.Get("Sec-Fetch-Site") != "":
		return api.Errorf(api.Permission, "this is for programs on this machine, and not for pages of the web")
	case r.URL.Path != api.PathTeamMemory:
		return &api.Error{Code: api.NotFound, Message: "only " + api.PathTeamMemory + " is passed on", Details: api.Details{ErrorCode: api.ErrorCodeNoRoute}}
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPut}, r.Method):
		return &api.Error{
			Code: api.InvalidRequest, Status: http.StatusMethodNotAllowed, Allow: "GET, HEAD, PUT",
			Message: "this address takes other methods: GET, HEAD, PUT", Details: api.Details{ErrorCode: api.ErrorCodeMethod},
		}
	}
	return nil
}

// examine reads what a PUT brings, and refuses what must not leave. A body that cannot
// be read here goes nowhere either: what is not looked at is not sent.
func (p *Proxy) examine(r *http.Request) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return &api.Error{Code: api.InvalidRequest, Status: http.StatusUnsupportedMediaType, Message: "send the body as it is: it is looked at before it leaves this machine"}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return api.Errorf(api.InvalidRequest, "the body did not arrive whole")
	case len(body) > maxBody:
		return api.Errorf(api.RequestTooLarge, "the body is larger than %d bytes", maxBody)
	}
	push, err := api.DecodePush(body)
	if err != nil {
		return err
	}
	if err := p.look(r.Context(), push); err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// look holds the texts of a push against the policy.
func (p *Proxy) look(ctx context.Context, push api.Push) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.judge.Refresh(ctx); err != nil {
		p.log.Warn("the policy could not be asked for, so nothing is sent", "error", err)
		return &api.Error{Code: api.Overloaded, Message: "the organization's policy could not be asked for", Details: api.Details{ErrorCode: api.ErrorCodeBusy}, RetryAfter: time.Second}
	}
	var found []api.EntryFinding
	for key, text := range push.Entries {
		judged, err := p.judge.Judge(key, []byte(text))
		if err != nil {
			return api.Errorf(api.Refused, "%q cannot be scanned, so it is not sent", key)
		}
		for _, j := range judged {
			if j.Verdict == api.VerdictRefuse {
				found = append(found, api.EntryFinding{Key: key, Rule: j.Rule, Class: j.Class, Line: j.Line})
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b api.EntryFinding) int { return strings.Compare(string(a.Key), string(b.Key)) })
	first := found[0]
	p.log.Warn("a push is refused and was not sent", "key", first.Key, "rule", first.Rule, "line", first.Line, "findings", len(found))
	return &api.Error{
		Code: api.Refused, Message: fmt.Sprintf("%q is not sent: %s in line %d", first.Key, first.Rule, first.Line),
		Details: api.Details{ErrorCode: api.ErrorCodeRefused, Key: first.Key, Refused: found},
	}
}

// away answers where the server did not.
func (p *Proxy) away(w http.ResponseWriter, _ *http.Request, err error) {
	if !errors.Is(err, context.Canceled) {
		p.log.Warn("the server does not answer", "error", err)
	}
	refuse(w, &api.Error{
		Code: api.Overloaded, Message: "the team-memory server cannot be reached", Details: api.Details{ErrorCode: api.ErrorCodeBusy}, RetryAfter: 2 * time.Second,
	})
}

// refuse answers in the contract's words.
func refuse(w http.ResponseWriter, err error) {
	e, ok := api.AsError(err)
	if !ok {
		e = api.Errorf(api.Internal, "the proxy failed")
	}
	body, err := json.Marshal(e.Body())
	if err != nil {
		panic(err) // strings and numbers only
	}
	w.Header().Set("Content-Type", "application/json")
	if e.Allow != "" {
		w.Header().Set("Allow", e.Allow)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(e.RetryAfter.Seconds())))
	}
	w.WriteHeader(e.HTTPStatus())
	_, _ = w.Write(body)
}
