// Package dashboard is the pages for people: what the organization's agents know, who
// wrote it and what it said before, what waits for approval, who may do what, and what
// was done. And the way in and out.
//
// A page is a view struct, a function that fills it, and a template of package web.
// All routes stand in one table, each with the right that it asks for; the right is
// held against the caller in one place, before the page is filled, and templates ask
// the same caller what to offer. Handlers return errors, and one writer answers them
// as a page. Everything works as a plain link or form; scripts only make it quicker.
// What a form did is said by the page that it leads to, with a way back where there
// is one.
//
// What is promised: the content policy allows nothing but our own files, no page is
// kept by a cache or shown in a frame, a form is taken from our own pages only, and
// the address of a page is never told to another site. Everything that people or
// agents wrote is hostile: templates escape it, and Markdown is rendered without raw
// HTML and sanitised all the same. The session's secret is in a cookie that scripts
// cannot read; under TLS its name begins with __Host-, so that no neighbour can set
// it. Addresses that files are served under hold their hash. Pages keep no state and
// decide nothing: the ledger and the organization's rules do.
//
// server mounts it before rest: what is no page goes on to the next handler.
package dashboard

import (
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
)

// Config is what the pages are told.
type Config struct {
	// PublicURL is where people reach the server, without a slash at the end.
	PublicURL string
	Request   time.Duration // a page as a whole
	Life      time.Duration // of a session's cookie
	// From are the addresses a request comes from.
	From func(*http.Request) []netip.Addr
	Now  func() time.Time
}

// Handler serves the pages.
type Handler struct {
	log      *slog.Logger
	desk     Desk
	callers  Callers
	parts    Parts
	cfg      Config
	markdown *markdown
	secure   bool // people come by https
	pages    map[string]*template.Template
	assets   assets
	paths    map[string]bool // that are pages
	mux      *http.ServeMux
	next     http.Handler
}

// New builds the Handler. next answers what is no page.
func New(log *slog.Logger, desk Desk, callers Callers, parts Parts, cfg Config, next http.Handler) (*Handler, error) {
	h := &Handler{
		log: log, desk: desk, callers: callers, parts: parts, cfg: cfg, next: next,
		markdown: newMarkdown(), paths: map[string]bool{}, mux: http.NewServeMux(), secure: strings.HasPrefix(cfg.PublicURL, "https://"),
	}
	var err error
	if h.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if h.pages, err = readPages(h.assets, cfg.Now); err != nil {
		return nil, err
	}
	compress, err := gzhttp.NewWrapper(gzhttp.ContentTypes([]string{"text/html", "text/css", "text/javascript", "image/svg+xml"}))
	if err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	guard, err := h.guard()
	if err != nil {
		return nil, err
	}
	for _, route := range h.routes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		h.paths[path] = true
		if path == "/" {
			path = "/{$}"
		}
		answer := route.open
		if answer == nil {
			answer = h.signedIn(route)
		}
		serve := h.page(answer, route.stream)
		if !route.stream {
			serve = compress(serve)
		}
		h.mux.Handle(method+" "+path, guard.Handler(serve))
	}
	h.mux.Handle("GET /static/{name}", compress(http.HandlerFunc(h.asset)))
	h.mux.Handle("/", next)
	return h, nil
}

// guard refuses forms that other sites send.
func (h *Handler) guard() (*http.CrossOriginProtection, error) {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, nil, &fault{status: http.StatusForbidden, message: "This form was sent from another site.", hint: "Open the page anew and send it from there."})
	}))
	if h.cfg.PublicURL == "" {
		return guard, nil
	}
	// Behind a proxy that changes the Host header it is still one of our own.
	if err := guard.AddTrustedOrigin(h.cfg.PublicURL); err != nil {
		return nil, fmt.Errorf("public address %q: want https://host, without a path: %w", h.cfg.PublicURL, err)
	}
	return guard, nil
}

// ServeHTTP answers one request. What cannot be a page does not go through the mux:
// it would redirect addresses that it finds untidy, and the API answers all in JSON.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.secure {
		// Of the API's answers too: whichever a browser sees first.
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	if h.paths[r.URL.Path] || strings.HasPrefix(r.URL.Path, "/static/") {
		h.mux.ServeHTTP(w, r)
		return
	}
	h.next.ServeHTTP(w, r)
}

// address puts a local address together of pairs of names and values; empty values are
// left out.
func address(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
