// Package dashboard is the pages for people. For now they are about signing in:
// who one is, in which organization and role, and the way in and out.
//
// A page is a view struct, a function that fills it, and a template of package web.
// Handlers return errors, and one writer answers them as a page. Everything works
// as a plain link or form.
//
// What is promised: the content policy allows nothing but our own files, no page is
// kept by a cache or shown in a frame, a form is taken from our own pages only, and
// the address of a page is never told to another site. The session's secret is in a
// cookie that scripts cannot read; under TLS its name begins with __Host-, so that
// no neighbour can set it. Addresses that files are served under hold their hash.
//
// server mounts it before rest: what is no page goes on to the next handler.
package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/signon"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/web"
)

// Desk is where browsers are known and signed in.
type Desk interface {
	Providers() *provider.Set
	Session(ctx context.Context, secret string) (store.UserID, error)
	Enter(ctx context.Context, claims provider.Claims, renewal, old string, from signon.From) (string, error)
	Linked(ctx context.Context, link string, from signon.From) (store.UserID, error)
	Follow(ctx context.Context, link, old string, from signon.From) (string, error)
	Leave(ctx context.Context, secret string, everywhere bool, from signon.From) error
}

// Callers says what somebody is in an organization.
type Callers interface {
	CallerOf(ctx context.Context, user store.UserID, how auth.How, organization string) (auth.Caller, error)
	MembershipsOf(ctx context.Context, user store.UserID) ([]store.Membership, error)
	Door() *auth.Door
}

// Config is what the pages are told.
type Config struct {
	// PublicURL is where people reach the server, without a slash at the end.
	PublicURL string
	Request   time.Duration // a page as a whole
	Life      time.Duration // of a session's cookie
	// From are the addresses a request comes from.
	From func(*http.Request) []netip.Addr
}

// Handler serves the pages.
type Handler struct {
	log     *slog.Logger
	desk    Desk
	callers Callers
	cfg     Config
	secure  bool // people come by https
	pages   map[string]*template.Template
	assets  map[string][]byte // by path
	mux     *http.ServeMux
	next    http.Handler
}

// New builds the Handler. next answers what is no page.
func New(log *slog.Logger, desk Desk, callers Callers, cfg Config, next http.Handler) (*Handler, error) {
	h := &Handler{log: log, desk: desk, callers: callers, cfg: cfg, next: next, assets: map[string][]byte{}, pages: map[string]*template.Template{}}
	h.secure = strings.HasPrefix(cfg.PublicURL, "https://")
	names, err := h.readAssets()
	if err != nil {
		return nil, err
	}
	if err := h.readPages(names); err != nil {
		return nil, err
	}
	h.mux = http.NewServeMux()
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, &fault{status: http.StatusForbidden, message: "This form was sent from another site.", hint: "Open the page anew and send it from there."})
	}))
	if cfg.PublicURL != "" {
		// Behind a proxy that changes the Host header it is still one of our own.
		if err := guard.AddTrustedOrigin(cfg.PublicURL); err != nil {
			return nil, fmt.Errorf("public address %q: want https://host, without a path: %w", cfg.PublicURL, err)
		}
	}
	for _, route := range h.routes() {
		h.mux.Handle(route.pattern, guard.Handler(h.page(route.answer)))
	}
	h.mux.HandleFunc("GET /static/{name}", h.asset)
	h.mux.Handle("/", next)
	return h, nil
}

// answer answers one request, or returns the error to show.
type answer func(w http.ResponseWriter, r *http.Request) error

// routes are all pages, on one screen.
func (h *Handler) routes() []struct {
	pattern string
	answer  answer
} {
	return []struct {
		pattern string
		answer  answer
	}{
		{"GET /{$}", h.home},
		{"GET /sign-in", h.signIn},
		{"GET /sign-in/callback", h.callback},
		{"GET /sign-in/link", h.showLink},
		{"POST /sign-in/link", h.followLink},
		{"POST /sign-out", func(w http.ResponseWriter, r *http.Request) error { return h.signOut(w, r, false) }},
		{"POST /sign-out/everywhere", func(w http.ResponseWriter, r *http.Request) error { return h.signOut(w, r, true) }},
	}
}

// ServeHTTP answers one request. What cannot be a page does not go through the mux:
// it would redirect addresses that it finds untidy, and the API answers all in JSON.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.secure {
		// Of the API's answers too: whichever a browser sees first.
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	p := r.URL.Path
	if p == "/" || strings.HasPrefix(p, "/sign-") || strings.HasPrefix(p, "/static/") {
		h.mux.ServeHTTP(w, r)
		return
	}
	h.next.ServeHTTP(w, r)
}

// policy is what a page may load: our own files, and nothing of anybody else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm bounds what a form may send.
const maxForm = 64 << 10

// page is what is the same for all of them.
func (h *Handler) page(answer answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), h.cfg.Request)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		// Not every writer has deadlines: a test's recorder has none.
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(h.cfg.Request))
		_ = rc.SetWriteDeadline(time.Now().Add(h.cfg.Request + 3*time.Second))
		h.setHeaders(w.Header())
		if err := answer(w, r); err != nil {
			h.fail(w, r, err)
		}
		_ = rc.SetReadDeadline(time.Time{})
	})
}

func (h *Handler) setHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// fault is an error as a page shows it.
type fault struct {
	status        int
	message, hint string
}

func (f *fault) Error() string { return f.message }

// fail shows an error. What is not ours to explain is shown as such.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := &fault{status: http.StatusInternalServerError, message: "The server failed.", hint: "Its log names the cause."}
	var refusal *provider.Refusal
	var away *provider.Unavailable
	e, ours := api.AsError(err)
	switch {
	case errors.As(err, &f):
	case errors.As(err, &refusal):
		f = &fault{status: http.StatusForbidden, message: "The sign-in is refused: " + refusal.Text + ".", hint: "Begin anew; if it goes on, an administrator reads here what is to be put right."}
	case errors.As(err, &away):
		f = &fault{status: http.StatusServiceUnavailable, message: "The identity provider " + away.Issuer + " does not answer.", hint: "Try again in a moment. Everything but signing in goes on."}
	case ours:
		f = &fault{status: e.HTTPStatus(), message: e.Message, hint: "Begin anew from the first page."}
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(e.RetryAfter.Seconds()+1)))
		}
	case errors.Is(err, store.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		f = &fault{status: http.StatusServiceUnavailable, message: "The database is busy.", hint: "Try again in a moment."}
	}
	h.log.Info("page refused", "method", r.Method, "path", r.URL.Path, "status", f.status, "error", reason(err))
	h.setHeaders(w.Header())
	h.render(w, r, f.status, "fault", view{Title: "Not signed in", Message: f.message, Hint: f.hint})
}

// reason is an error as the log may hold it: a refusal by its word, because its
// text may repeat what was sent.
func reason(err error) string {
	var refusal *provider.Refusal
	if errors.As(err, &refusal) {
		return "refused for its " + refusal.Reason
	}
	if e, ok := api.AsError(err); ok {
		return string(e.Code)
	}
	return err.Error()
}

// view is what templates are filled with.
type view struct {
	Title         string
	Places        []link
	User          string
	Organizations []organization
	Providers     []link
	Message, Hint string
	Secret        string // of a link, for the form that uses it up
}

type link struct {
	Name, Href string
	Here       bool
}

type organization struct{ Name, Called, Role string }

func (h *Handler) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	v.Places = []link{{Name: "overview", Href: "/", Here: r.URL.Path == "/"}}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	// A browser that went away in the middle is no fault of ours.
	_ = h.pages[name].ExecuteTemplate(w, "frame", v)
}

func (h *Handler) readPages(assets map[string]string) error {
	funcs := template.FuncMap{"asset": func(name string) (string, error) {
		if address, ok := assets[name]; ok {
			return address, nil
		}
		return "", fmt.Errorf("there is no file %s", name)
	}}
	for _, name := range []string{"home", "signin", "link", "fault"} {
		t, err := template.New("").Funcs(funcs).ParseFS(web.Files, "templates/frame.html", "templates/"+name+".html")
		if err != nil {
			return fmt.Errorf("read the page %s: %w", name, err)
		}
		h.pages[name] = t
	}
	return nil
}

// readAssets gives each file an address with its hash: what has one address is one
// content, for ever.
func (h *Handler) readAssets() (map[string]string, error) {
	names := map[string]string{}
	files, err := fs.ReadDir(web.Files, "static")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		content, err := fs.ReadFile(web.Files, "static/"+f.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		ext := path.Ext(f.Name())
		hashed := strings.TrimSuffix(f.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		names[f.Name()] = "/static/" + hashed
		h.assets[hashed] = content
	}
	return names, nil
}

var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func (h *Handler) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, ok := h.assets[name]
	if !ok {
		h.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(content)
}
