package devoidc

import (
	"net"
	"net/http"
	"time"
)

// Box is a provider that listens on loopback.
type Box struct {
	*Provider
	Issuer string

	address string
	server  *http.Server
	served  chan struct{}
}

// Start serves a provider on a free port of loopback. path is appended to its
// address to make the issuer: "", "/", "/realms/acme". Configure what the issuer's
// address is needed for in change.
func Start(path string, cfg Config, change func(issuer string, cfg *Config)) (*Box, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cfg.Issuer = "http://" + listener.Addr().String() + path
	if change != nil {
		change(cfg.Issuer, &cfg)
	}
	p, err := New(cfg)
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	b := &Box{Provider: p, Issuer: cfg.Issuer, address: listener.Addr().String()}
	b.serve(listener)
	return b, nil
}

func (b *Box) serve(listener net.Listener) {
	b.server = &http.Server{Handler: b.Provider, ReadHeaderTimeout: 10 * time.Second}
	b.served = make(chan struct{})
	go func() {
		defer close(b.served)
		_ = b.server.Serve(listener)
	}()
}

// Stop makes the provider unreachable.
func (b *Box) Stop() {
	_ = b.server.Close()
	<-b.served
}

// Resume makes it reachable again, under the same address and with all it knew.
func (b *Box) Resume() error {
	listener, err := net.Listen("tcp", b.address)
	if err != nil {
		return err
	}
	b.serve(listener)
	return nil
}
