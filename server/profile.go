package server

import (
	"errors"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
)

// longestProfile is how many seconds one may watch the server.
const longestProfile = 60

// profiles serves Go's profiles on the metrics' listener, for an operator who wants to
// know where time and memory go. They are given to an admin's token only, and to loopback
// only: the listener is plain http. One at a time, since watching costs. The command line
// is not among them: it may name a database with its password.
func (s *Server) profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.Handle("GET /debug/pprof/cmdline", http.NotFoundHandler())
	watched := make(chan struct{}, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, err := s.mayProfile(r); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		select {
		case watched <- struct{}{}:
			defer func() { <-watched }()
		default:
			w.Header().Set("Retry-After", "10")
			http.Error(w, "somebody is taking a profile: try again when it is done", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// mayProfile says who may not, and why.
func (s *Server) mayProfile(r *http.Request) (status int, err error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return http.StatusForbidden, errors.New("profiles are given to loopback only, as the token would cross the network in the clear: ask on the server's machine, or through a forwarded port")
	}
	who, err := s.auth.Authenticate(r.Context(), auth.Credentials{Authorization: r.Header.Get("Authorization"), From: []netip.Addr{from.Addr().Unmap()}})
	switch {
	case err != nil:
		return http.StatusUnauthorized, errors.New("profiles are given to an admin: send Authorization: Bearer with the token of one")
	case !who.May(api.Administer) || !who.Whole():
		return http.StatusForbidden, errors.New("profiles are given to an admin, with a token that is bound to no repo and no scope")
	}
	if text := r.URL.Query().Get("seconds"); text != "" {
		if seconds, err := strconv.ParseFloat(text, 64); err != nil || seconds < 0 || seconds > longestProfile {
			return http.StatusBadRequest, errors.New("seconds is a number up to " + strconv.Itoa(longestProfile))
		}
	}
	return 0, nil
}
