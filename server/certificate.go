package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a pair of files that is read again when one of them changes, so
// that a renewed certificate needs no restart.
type certificate struct {
	log       *slog.Logger
	cert, key string

	mu      sync.Mutex
	stamp   [2]time.Time
	current *tls.Certificate
}

// certificate loads the files that are configured; nil means plain http.
func (c Config) certificate(log *slog.Logger) (*certificate, error) {
	switch {
	case c.TLSCert == "" && c.TLSKey == "":
		return nil, nil
	case c.TLSCert == "" || c.TLSKey == "":
		return nil, WithHint(errors.New("TLS needs a certificate and its key"), "give both --tls-cert and --tls-key")
	}
	cert := &certificate{log: log, cert: c.TLSCert, key: c.TLSKey}
	stamp, err := cert.stamps()
	if err != nil {
		return nil, err
	}
	if err := cert.load(stamp); err != nil {
		return nil, err
	}
	return cert, nil
}

// get is asked at each handshake. Files that cannot be read, or do not fit each
// other because one was written before the other, leave the old pair in force.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamp, err := c.stamps()
	if err == nil && stamp != c.stamp {
		if err = c.load(stamp); err != nil {
			c.stamp = stamp // say it once a change
			c.log.Warn("the changed certificate cannot be used, the old one stays in force", "error", err)
		}
	}
	return c.current, nil
}

// ends is when the pair in force ends.
func (c *certificate) ends() time.Time {
	pair, err := c.get(nil)
	if err != nil || pair.Leaf == nil {
		return time.Time{}
	}
	return pair.Leaf.NotAfter
}

func (c *certificate) stamps() (stamp [2]time.Time, err error) {
	for i, file := range []string{c.cert, c.key} {
		info, err := os.Stat(file)
		if err != nil {
			return stamp, fmt.Errorf("read the certificate: %w", err)
		}
		stamp[i] = info.ModTime()
	}
	return stamp, nil
}

func (c *certificate) load(stamp [2]time.Time) error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	c.current, c.stamp = &pair, stamp
	return nil
}
