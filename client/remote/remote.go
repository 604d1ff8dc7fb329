// Package remote is the client's side of the contract: it asks a server for a
// repo's memory and pushes to it, over HTTP, and gives back the contract's own
// values and errors.
//
// It promises three things. Nothing is believed that is not the contract's: an
// answer that is not our JSON, a redirect, a page of some proxy become errors that
// say so. The token goes to the one origin it was made for, in one header, and
// nowhere else. And a fault that may pass is tried again, a bounded number of
// times, with growing and random pauses and with respect for Retry-After; what is
// left comes back as [Unreachable] or as an [api.Error].
//
// The syncer is its main caller.
package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
)

// maxAnswer bounds what an answer may make the client read: the full set of a
// repo at the server's own limits is larger than any real one by far.
const maxAnswer = 1 << 30

// Options are what a Client is made from.
type Options struct {
	Server string // origin, as config.Origin gives it
	// Token is asked for before every request, so that a new login holds at
	// once. An empty token sends no header.
	Token      func() string
	CAFile     string // PEM certificates to trust instead of the system's
	ClientName string // see [api.HeaderClient]
	// Organization is named with every request, for people who are in several; empty
	// names none.
	Organization string
	UserAgent    string
	// Tries is how often one call is tried in all; 0 means 4, the stock
	// client's one try and three retries.
	Tries int
	// Pause is the first pause between tries; 0 means the stock 500 ms.
	Pause time.Duration
	// Observe hears of each request but live streams: what was answered, 0 for nothing,
	// and when. Nil for nobody; it must not wait.
	Observe func(method string, status int, took time.Duration)
	// Transport replaces the network in tests.
	Transport http.RoundTripper
}

// Client speaks to one server. It is safe for concurrent use.
type Client struct {
	opts   Options
	base   *url.URL
	http   *http.Client
	stream *http.Client // for live changes

	mu    sync.Mutex
	heard Heard
}

// Heard is what answers say beside what was asked for.
type Heard struct {
	TokenEnds time.Time    // in its last week; zero: not soon
	Repo      api.RepoSlug // the name of now of a repo that was asked for by an old one; empty: it was not
}

// Heard is what the last answers said. Only those that the server meant as answers
// count: what fails says nothing of a token or a name.
func (c *Client) Heard() Heard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// hear takes in what an answer says beside what was asked for.
func (c *Client) hear(r request, resp *http.Response) {
	if r.anonymous || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard.TokenEnds = time.Time{}
	if ends, err := api.ParseTime(resp.Header.Get(api.HeaderTokenExpires)); err == nil {
		c.heard.TokenEnds = ends.Time
	}
	if r.path == api.PathTeamMemory {
		c.heard.Repo, _ = api.ParseRepoSlug(resp.Header.Get(api.HeaderRepo)) // empty where it is none
	}
}

// New builds a client; it does not connect.
func New(opts Options) (*Client, error) {
	base, err := url.Parse(opts.Server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("server address %q: want https://host or http://127.0.0.1:port", opts.Server)
	}
	transport, streaming := opts.Transport, opts.Transport
	if transport == nil {
		own, err := newTransport(opts.CAFile)
		if err != nil {
			return nil, err
		}
		transport, streaming = own, onlyHTTP1(own)
	}
	if opts.Observe != nil {
		transport = observed{transport, opts.Observe}
	}
	if opts.Tries == 0 {
		opts.Tries = 4
	}
	if opts.Pause == 0 {
		opts.Pause = 500 * time.Millisecond
	}
	if opts.Token == nil {
		opts.Token = func() string { return "" }
	}
	// The token must not follow a redirect, and the answer of another place is
	// not this server's.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		opts:   opts,
		base:   base,
		http:   &http.Client{Transport: transport, CheckRedirect: stay},
		stream: &http.Client{Transport: streaming, CheckRedirect: stay},
	}, nil
}

// observed is a transport that somebody counts.
type observed struct {
	http.RoundTripper
	tell func(method string, status int, took time.Duration)
}

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := o.RoundTripper.RoundTrip(r)
	status := 0
	if err == nil {
		status = resp.StatusCode
	}
	o.tell(r.Method, status, time.Since(began))
	return resp, err
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] through.
func (o observed) CloseIdleConnections() {
	if closes, ok := o.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closes.CloseIdleConnections()
	}
}

// onlyHTTP1 is the transport for streams: one that stays open costs a server a
// fifth on a connection of its own of what it costs within HTTP/2.
func onlyHTTP1(t *http.Transport) *http.Transport {
	t = t.Clone()
	t.ForceAttemptHTTP2 = false
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	return t
}

func newTransport(caFile string) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 10 * time.Second
	t.MaxIdleConnsPerHost = 2
	t.MaxResponseHeaderBytes = 64 << 10
	if caFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("certificate file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificate file %s holds no PEM certificate", caFile)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// Server is the origin the client speaks to.
func (c *Client) Server() string { return c.opts.Server }

// Close gives up idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.stream.CloseIdleConnections()
}

// Query says what to ask of a repo.
type Query struct {
	Since       api.Version  // only what changed after it; 0: all
	IfNoneMatch api.Checksum // answer "not modified" while the repo has this checksum
	Hashes      bool         // checksums only
}

// Answer is what a repo's GET gave.
type Answer struct {
	NotModified bool
	NoMemory    bool       // the repo has no memory yet, by our server's own word
	Memory      api.Memory // otherwise
}

// Get reads a repo.
func (c *Client) Get(ctx context.Context, repo api.RepoSlug, q Query) (Answer, error) {
	params := url.Values{"repo": {string(repo)}}
	if q.Hashes {
		params.Set("view", "hashes")
	}
	if q.Since > 0 {
		params.Set("since", strconv.FormatInt(int64(q.Since), 10))
	}
	header := http.Header{}
	if q.IfNoneMatch != "" {
		header.Set("If-None-Match", q.IfNoneMatch.ETag())
	}
	var answer Answer
	err := c.call(ctx, request{method: http.MethodGet, path: api.PathTeamMemory, query: params, header: header}, func(status int, body []byte) (err error) {
		if status == http.StatusNotModified {
			answer.NotModified = true
			return nil
		}
		if q.Hashes {
			answer.Memory, err = api.DecodeHashes(body)
		} else {
			answer.Memory, err = api.DecodeMemory(body)
		}
		return err
	})
	if e, ok := api.AsError(err); ok && e.Code == api.NotFound && !e.Foreign && e.Details.ErrorCode != api.ErrorCodeNoRoute {
		// Only the server's own error can say this, never a 404 of something
		// in between.
		return Answer{NoMemory: true}, nil
	}
	return answer, err
}

// Put pushes. ifMatch is empty where the push names its bases itself, or where
// nothing is known of the repo.
func (c *Client) Put(ctx context.Context, repo api.RepoSlug, push api.Push, ifMatch api.Checksum) (api.PushResult, error) {
	body, err := EncodePush(push)
	if err != nil {
		return api.PushResult{}, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if ifMatch != "" {
		header.Set("If-Match", ifMatch.ETag())
	}
	var result api.PushResult
	err = c.call(ctx, request{method: http.MethodPut, path: api.PathTeamMemory, query: url.Values{"repo": {string(repo)}}, header: header, body: body},
		func(_ int, body []byte) (err error) {
			result, err = api.DecodePushResult(body)
			return err
		})
	return result, err
}

// EncodePush is the body of a PUT. It does not escape what JSON need not, so that
// a body is no larger than it has to be.
func EncodePush(push api.Push) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(push); err != nil {
		return nil, fmt.Errorf("encode push: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// WellKnown asks the server what it is. A server that does not answer this is
// none of ours, or an older stock one: the error is then [api.NotFound].
func (c *Client) WellKnown(ctx context.Context) (api.WellKnown, error) {
	var w api.WellKnown
	err := c.call(ctx, request{method: http.MethodGet, path: api.PathWellKnown, anonymous: true}, func(_ int, body []byte) (err error) {
		w, err = api.DecodeWellKnown(body)
		return err
	})
	return w, err
}

// WhoAmI asks whose the token is.
func (c *Client) WhoAmI(ctx context.Context) (api.WhoAmI, error) {
	var w api.WhoAmI
	err := c.call(ctx, request{method: http.MethodGet, path: api.PathWhoAmI}, func(_ int, body []byte) (err error) {
		w, err = api.DecodeWhoAmI(body)
		return err
	})
	return w, err
}

// BeginSession tells the server that a person has just signed in with the token, and
// asks who they are.
func (c *Client) BeginSession(ctx context.Context) (api.WhoAmI, error) {
	var w api.WhoAmI
	err := c.call(ctx, request{method: http.MethodPost, path: api.PathSession}, func(_ int, body []byte) (err error) {
		w, err = api.DecodeWhoAmI(body)
		return err
	})
	return w, err
}

// EndSession signs a provider's token out at the server. A token of the server's own
// stays.
func (c *Client) EndSession(ctx context.Context) (ended bool, err error) {
	err = c.call(ctx, request{method: http.MethodDelete, path: api.PathSession}, func(_ int, body []byte) error {
		var answer api.SignOut
		err := json.Unmarshal(body, &answer)
		ended = answer.Ended
		return err
	})
	return ended, err
}

// NewHTTP is a client for other servers than ours: identity providers. It trusts the
// same authorities and follows no redirect.
func NewHTTP(caFile string) (*http.Client, error) {
	t, err := newTransport(caFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: t, Timeout: 15 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
	anonymous    bool                 // sends no token
	seen         func(*http.Response) // looks at the head of the answer; may be nil
}

func (c *Client) newRequest(ctx context.Context, r request) (*http.Request, error) {
	u := *c.base
	u.Path = strings.TrimSuffix(u.Path, "/") + r.path
	u.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	for name, values := range r.header {
		req.Header[name] = values
	}
	if c.opts.UserAgent != "" {
		req.Header.Set("User-Agent", c.opts.UserAgent)
	}
	if c.opts.ClientName != "" {
		req.Header.Set(api.HeaderClient, c.opts.ClientName)
	}
	if r.anonymous {
		return req, nil
	}
	if c.opts.Organization != "" {
		req.Header.Set(api.HeaderOrganization, c.opts.Organization)
	}
	if token := c.opts.Token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

// once sends the request a single time.
func (c *Client) once(ctx context.Context, r request, read func(status int, body []byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, api.DefaultLimits.Request)
	defer cancel()
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return unreachable(c.opts.Server, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if r.seen != nil {
		r.seen(resp)
	}
	c.hear(r, resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return unreachable(c.opts.Server, fmt.Errorf("the answer broke off: %w", err))
	case len(body) > maxAnswer:
		return api.Errorf(api.Internal, "the answer of %s is larger than %d bytes", c.opts.Server, maxAnswer)
	}
	return c.judge(resp, body, read)
}

// judge tells the contract's answers from all others.
func (c *Client) judge(resp *http.Response, body []byte, read func(status int, body []byte) error) error {
	switch status := resp.StatusCode; {
	case status == http.StatusNotModified:
		return read(status, nil)
	case status >= 300 && status < 400:
		return &Stranger{Server: c.opts.Server, What: "redirects elsewhere, which a teammem server never does"}
	case status >= 400:
		return api.DecodeError(status, resp.Header, body)
	case status != http.StatusOK:
		return &Stranger{Server: c.opts.Server, What: fmt.Sprintf("answers with status %d", status)}
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "application/json" {
		return &Stranger{Server: c.opts.Server, What: fmt.Sprintf("answers with %q and not with JSON", kind)}
	}
	if err := read(resp.StatusCode, body); err != nil {
		return &Stranger{Server: c.opts.Server, What: "answers with JSON that is not the contract's", Err: err}
	}
	return nil
}

// Unreachable says that a server could not be asked: nothing is known of what it
// would have said. After a PUT it may have been carried out all the same.
type Unreachable struct {
	Server  string
	Timeout bool
	Err     error
}

func (e *Unreachable) Error() string {
	if e.Timeout {
		return fmt.Sprintf("the server %s did not answer in time", e.Server)
	}
	return fmt.Sprintf("the server %s cannot be reached: %v", e.Server, e.Err)
}

func (e *Unreachable) Unwrap() error { return e.Err }

// unreachable keeps the cause and drops what net/http wraps round it, which
// repeats the whole address.
func unreachable(server string, err error) *Unreachable {
	var wrapped *url.Error
	timeout := errors.Is(err, context.DeadlineExceeded)
	if errors.As(err, &wrapped) {
		timeout = timeout || wrapped.Timeout()
		err = wrapped.Err
	}
	return &Unreachable{Server: server, Timeout: timeout, Err: err}
}

// Stranger says that what answers under the server's address is not a teammem
// server, or that something in between answers for it. Nothing it said was
// believed.
type Stranger struct {
	Server, What string
	Err          error
}

func (e *Stranger) Error() string {
	text := fmt.Sprintf("%s %s: is this the address of a teammem server, without a sign-in page or another proxy before it?", e.Server, e.What)
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text
}

func (e *Stranger) Unwrap() error { return e.Err }

// Probe is what one question to a server shows of the way to it.
type Probe struct {
	Known   api.WellKnown
	Latency time.Duration
	// Skew is how far the server's clock is ahead of ours, as exactly as a
	// Date header tells: to the second.
	Skew time.Duration
}

// Probe asks once, without tries, and looks at the answer's time.
func (c *Client) Probe(ctx context.Context) (p Probe, err error) {
	began := time.Now()
	err = c.once(ctx, request{
		method: http.MethodGet, path: api.PathWellKnown, anonymous: true,
		seen: func(resp *http.Response) {
			p.Latency = time.Since(began)
			if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
				p.Skew = date.Sub(began.Add(p.Latency / 2)).Truncate(time.Second)
			}
		},
	}, func(_ int, body []byte) (err error) {
		p.Known, err = api.DecodeWellKnown(body)
		return err
	})
	return p, err
}
