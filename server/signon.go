package server

import (
	"fmt"
	"strings"
	"time"

	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/dashboard"
	"github.com/teammem/teammem/server/signon"
)

// openDesk builds what says who is calling: tokens, and the desk at which providers
// and browsers are known.
func (s *Server) openDesk(now func() time.Time, cfg auth.Config) error {
	providers, err := provider.New(s.log, s.cfg.Providers, nil, now)
	if err != nil {
		return WithHint(fmt.Errorf("identity providers: %w", err), "docs/sign-on.md says how a provider is set up")
	}
	s.desk = signon.New(s.log, s.store, providers, now, s.cfg.SignOn, func() { s.auth.Forget() })
	if len(s.cfg.Providers) > 0 {
		cfg.Foreign = s.desk
	}
	s.auth = auth.New(s.log, s.observer.timed(s.store, now), now, cfg)
	return nil
}

// pages puts the pages before the API.
func (s *Server) pages(parts dashboard.Parts, now func() time.Time) (*dashboard.Handler, error) {
	public := strings.TrimSuffix(s.cfg.PublicURL, "/")
	if public == "" {
		public = s.URL()
	}
	return dashboard.New(s.log, s.desk, s.auth, parts, dashboard.Config{
		PublicURL: public, Request: s.cfg.HTTP.Request, Life: s.cfg.SignOn.Life, From: s.rest.Addresses, Now: now,
	}, s.rest)
}
