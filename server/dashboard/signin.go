package dashboard

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/signon"
)

// signedOut answers somebody whom nobody knows: the first page offers the ways to sign
// in, and so does every other, which one comes back to afterwards.
func (h *Handler) signedOut(w http.ResponseWriter, r *http.Request) error {
	status := http.StatusUnauthorized
	if r.URL.Path == "/" {
		status = http.StatusOK
	}
	back := "/"
	if r.Method == http.MethodGet {
		back = r.URL.RequestURI()
	}
	h.ways(w, r, status, back)
	return nil
}

// signinView is the ways to sign in.
type signinView struct {
	frame
	Providers []link
}

// ways offers the providers.
func (h *Handler) ways(w http.ResponseWriter, r *http.Request, status int, back string) {
	view := signinView{frame: frame{Title: "Sign in"}}
	for _, p := range h.desk.Providers().All() {
		cfg := p.Config()
		view.Providers = append(view.Providers, link{Name: cfg.Name, Href: address("/sign-in", "issuer", cfg.Issuer, "return", back)})
	}
	h.render(w, r, status, "signin", view)
}

// signIn sends the browser to a provider. What belongs to this sign-in goes along
// in a cookie, so that whichever server the browser comes back to can go on.
func (h *Handler) signIn(w http.ResponseWriter, r *http.Request) error {
	if err := h.private(r); err != nil {
		return err
	}
	all := h.desk.Providers().All()
	issuer := r.URL.Query().Get("issuer")
	if issuer == "" && len(all) == 1 {
		issuer = all[0].Config().Issuer
	}
	if issuer == "" {
		h.ways(w, r, http.StatusOK, r.URL.Query().Get("return"))
		return nil
	}
	p := h.desk.Providers().By(issuer)
	if p == nil {
		return &fault{status: http.StatusNotFound, message: "There is no such identity provider here.", hint: "The first page lists those there are."}
	}
	flow := provider.Flow{Issuer: issuer, State: rand.Text(), Nonce: rand.Text(), Verifier: provider.NewVerifier(), Return: localPath(r.URL.Query().Get("return"))}
	address, err := p.Begin(r.Context(), flow, h.redirect())
	if err != nil {
		return err
	}
	text, err := json.Marshal(flow)
	if err != nil {
		return err
	}
	h.setCookie(w, flowCookie, base64.RawURLEncoding.EncodeToString(text), flowLife)
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// redirect is where providers send browsers back to.
func (h *Handler) redirect() string { return h.cfg.PublicURL + "/sign-in/callback" }

// localPath is a path on this server; anything else is the first page.
func localPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// callback is where a provider sends the browser back to.
func (h *Handler) callback(w http.ResponseWriter, r *http.Request) error {
	if err := h.private(r); err != nil {
		return err
	}
	var flow provider.Flow
	text, err := base64.RawURLEncoding.DecodeString(h.cookie(r, flowCookie))
	h.setCookie(w, flowCookie, "", -1)
	q := r.URL.Query()
	if err != nil || json.Unmarshal(text, &flow) != nil || flow.State == "" || q.Get("state") != flow.State {
		return &fault{status: http.StatusBadRequest, message: "This sign-in was not begun in this browser, or is too old.", hint: "Begin anew from the first page."}
	}
	from := h.cfg.From(r)
	if err := h.callers.Door().Check(from, ""); err != nil {
		return err
	}
	p := h.desk.Providers().By(flow.Issuer)
	if p == nil {
		return &fault{status: http.StatusBadRequest, message: "The identity provider was taken away meanwhile.", hint: "Begin anew from the first page."}
	}
	if err := p.CheckAnswer(q.Get("iss")); err != nil {
		return err
	}
	if why := q.Get("error"); why != "" {
		return &fault{status: http.StatusForbidden, message: "The identity provider did not sign you in.", hint: "Begin anew, and allow it there."}
	}
	claims, renewal, err := p.Finish(r.Context(), flow, h.redirect(), q.Get("code"))
	if err != nil {
		var refusal *provider.Refusal
		if errors.As(err, &refusal) {
			h.callers.Door().Failed(from, "")
		}
		return err
	}
	secret, err := h.desk.Enter(r.Context(), claims, renewal, h.cookie(r, sessionCookie), h.from(r))
	if err != nil {
		return err
	}
	h.setCookie(w, sessionCookie, secret, h.cfg.Life)
	http.Redirect(w, r, localPath(flow.Return), http.StatusSeeOther)
	return nil
}

// showLink says whom a link signs in, and asks: whatever follows links by itself, as
// mail and chat programs do, leaves it whole.
func (h *Handler) showLink(w http.ResponseWriter, r *http.Request) error {
	if err := h.private(r); err != nil {
		return err
	}
	from := h.cfg.From(r)
	if err := h.callers.Door().Check(from, ""); err != nil {
		return err
	}
	secret := r.URL.Query().Get("t")
	user, err := h.desk.Linked(r.Context(), secret, h.from(r))
	if err != nil {
		return h.noLink(from, err)
	}
	in, err := h.callers.MembershipsOf(r.Context(), user)
	if err != nil {
		return err
	}
	view := linkView{frame: frame{Title: "Sign in"}, Secret: secret}
	for _, m := range in {
		view.Whom = m.Name
		view.In = append(view.In, m.OrgName)
	}
	h.render(w, r, http.StatusOK, "link", view)
	return nil
}

// linkView is a link that signs somebody in.
type linkView struct {
	frame
	Secret, Whom string
	In           []string
}

// followLink signs in by a link that was given out.
func (h *Handler) followLink(w http.ResponseWriter, r *http.Request) error {
	if err := h.private(r); err != nil {
		return err
	}
	from := h.cfg.From(r)
	if err := h.callers.Door().Check(from, ""); err != nil {
		return err
	}
	secret, err := h.desk.Follow(r.Context(), r.PostFormValue("t"), h.cookie(r, sessionCookie), h.from(r))
	if err != nil {
		return h.noLink(from, err)
	}
	h.setCookie(w, sessionCookie, secret, h.cfg.Life)
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// noLink counts what may be a guess; a store that is busy is none.
func (h *Handler) noLink(from []netip.Addr, err error) error {
	if e, ok := api.AsError(err); ok && e.Code == api.Authentication {
		h.callers.Door().Failed(from, "")
	}
	return err
}

// private refuses to hand out a session where others on the way can read it: on
// plain http a browser is let in on this machine only.
func (h *Handler) private(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if h.secure || err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return nil
	}
	return &fault{
		status: http.StatusForbidden, message: "Signing in needs https: on plain http others could read the session.",
		hint: "An administrator names the address that people use, server --public-url https://…, and serves it with TLS.",
	}
}

func (h *Handler) signOut(w http.ResponseWriter, r *http.Request, everywhere bool) error {
	if err := h.desk.Leave(r.Context(), h.cookie(r, sessionCookie), everywhere, h.from(r)); err != nil {
		return err
	}
	h.setCookie(w, sessionCookie, "", -1)
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

func (h *Handler) from(r *http.Request) signon.From {
	return signon.From{Address: first(h.cfg.From(r)), Client: "browser"}
}

func first(all []netip.Addr) string {
	if len(all) == 0 {
		return ""
	}
	return all[0].Unmap().String()
}

// The cookies, without their prefix.
const (
	sessionCookie = "teammem-session"
	flowCookie    = "teammem-sign-in"
	saidCookie    = "teammem-said"
	// flowLife is how long a person may take at the provider.
	flowLife = 15 * time.Minute
)

// cookieName: the prefix makes browsers refuse a cookie that a neighbouring host, or
// a page without TLS, tries to set. It needs TLS, which loopback has not.
func (h *Handler) cookieName(name string) string {
	if h.secure {
		return "__Host-" + name
	}
	return name
}

func (h *Handler) cookie(r *http.Request, name string) string {
	c, err := r.Cookie(h.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie sets a cookie, or with a negative life takes it away. SameSite is Lax:
// a strict one would be missing on the way back from the provider.
func (h *Handler) setCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	age := int(life / time.Second)
	if life < 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: h.cookieName(name), Value: value, Path: "/", MaxAge: age, Secure: h.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
