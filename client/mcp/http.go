package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionTimeout ends a session that nobody asks any more.
const sessionTimeout = time.Hour

// Handler serves over HTTP on the loopback, for whoever has the token. A page in a
// browser reaches it by none of its ways: not from another origin, not by a name that
// was made to lead here, and not without the token.
func (s *Server) Handler(token string) http.Handler {
	streams := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Logger: s.log, SessionTimeout: sessionTimeout,
	})
	inner := http.NewCrossOriginProtection().Handler(streams)
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !isLoopback(r.Host):
			http.Error(w, "only for this machine: ask by the name localhost or by a loopback address", http.StatusForbidden)
			return
		case !ownOrigin(r):
			http.Error(w, "not for pages of another origin", http.StatusForbidden)
			return
		}
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send the token of client mcp --listen as Authorization: Bearer", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// isLoopback knows the names of this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.IsLoopback()
}

// ownOrigin takes requests that name no origin, as programs send them, and those of a
// page that we served ourselves.
func ownOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}
