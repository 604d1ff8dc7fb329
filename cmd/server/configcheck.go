package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/signon"
)

// problem is something about a setting that an operator should know.
type problem struct {
	Setting string `json:"setting"`
	Level   string `json:"level"` // fail: the server would not serve so; warn: it would
	Text    string `json:"text"`
	Cure    string `json:"cure"`
}

const (
	levelFail = "fail"
	levelWarn = "warn"
)

// certificateSoon is how long before its end a certificate is spoken of.
const certificateSoon = 21 * 24 * time.Hour

// problems checks what can be checked without serving.
func (p *program) problems() []problem {
	s := &p.settings
	var all []problem
	fail := func(setting string, err error, cure string) {
		if err == nil {
			return
		}
		var hint *server.HintError
		if errors.As(err, &hint) {
			cure = hint.Hint
		}
		all = append(all, problem{setting, levelFail, err.Error(), cure})
	}
	fail("listen", checkAddress(s.listen), "give host:port, such as 127.0.0.1:8080 or [::]:8443")
	if s.metrics != "" {
		fail("metrics-listen", checkAddress(s.metrics), "give host:port, such as 127.0.0.1:9464")
		if s.metrics == s.listen && !strings.HasSuffix(s.listen, ":0") {
			fail("metrics-listen", errors.New("it is the address of listen"), "give the metrics a port of their own")
		}
	}
	fail("data", checkDirectory(s.data), "name a directory that this user may write to with --data")
	fail("database", checkDatabase(s.database), "give sqlite:///path/to/file or postgres://user@host/name")
	if s.replica != "" {
		fail("database-replica", server.CheckReplica(s.server().DatabaseURL(), s.replica), "give postgres://user@host/name")
	}
	if s.redacted != "" {
		fail("redactions", checkDirectory(filepath.Dir(s.redacted)), "name a file in a directory that this user may write to")
	}
	all = append(all, s.transport(p.now())...)
	networks, err := s.trustedProxies()
	fail("trusted-proxy", err, "name the networks of your proxies, such as 10.0.0.0/8")
	for _, network := range networks {
		if network.Bits() == 0 {
			all = append(all, problem{"trusted-proxy", levelWarn, "every address is believed to be a proxy: whoever asks says where from", "name the networks of your proxies"})
		}
	}
	_, err = p.logger(os.Stderr)
	if err != nil {
		setting := "log-level"
		if strings.Contains(err.Error(), "log-format") {
			setting = "log-format"
		}
		fail(setting, err, "give one of the words named")
	}
	s.oidc.problems(fail)
	return all
}

// checkAddress checks the form of an address to listen on.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address to listen on", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q: %q is no port", address, port)
	}
	return nil
}

// checkDirectory checks that files may be made in a directory, or that it may be made.
func checkDirectory(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is no directory", at)
		case err == nil:
			return mayWrite(at)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case filepath.Dir(at) == at:
			return fmt.Errorf("%s is not there", path)
		}
	}
}

// mayWrite makes a file and removes it again: permissions alone do not tell whether a
// file system is mounted for reading only.
func mayWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".teammem-check-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written to: %w", dir, errors.Unwrap(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// checkDatabase checks the form of the database's address, and of a file's where it is
// to be. Its errors do not repeat the address.
func checkDatabase(database string) error {
	if database == "" {
		return nil // SQLite in the data directory
	}
	if err := server.CheckDatabase(database); err != nil {
		return err
	}
	if path, ok := strings.CutPrefix(database, "sqlite://"); ok && runtime.GOOS != "windows" {
		return checkDirectory(filepath.Dir(path))
	}
	return nil
}

// transport checks the certificate, and that nothing secret crosses a network in the
// clear.
func (s *settings) transport(now time.Time) []problem {
	switch {
	case s.tlsCert == "" && s.tlsKey == "":
		return s.inTheClear()
	case s.tlsCert == "":
		return []problem{{"tls-cert", levelFail, "there is a key, and no certificate", "give both --tls-cert and --tls-key"}}
	case s.tlsKey == "":
		return []problem{{"tls-key", levelFail, "there is a certificate, and no key", "give both --tls-cert and --tls-key"}}
	}
	if _, err := os.ReadFile(s.tlsKey); err != nil {
		return []problem{{"tls-key", levelFail, err.Error(), "name a file in PEM that this user may read"}}
	}
	pair, err := tls.LoadX509KeyPair(s.tlsCert, s.tlsKey)
	if err != nil {
		return []problem{{"tls-cert", levelFail, err.Error(), "give a certificate in PEM and the key that it was made for"}}
	}
	ends := pair.Leaf.NotAfter
	switch {
	case now.After(ends):
		return []problem{{"tls-cert", levelFail, "the certificate ended on " + day(ends, ""), "renew it; a server that runs reads it again by itself"}}
	case now.Before(pair.Leaf.NotBefore):
		return []problem{{"tls-cert", levelFail, "the certificate holds from " + day(pair.Leaf.NotBefore, "") + " on", "look at this machine's clock, or make it anew"}}
	case now.Add(certificateSoon).After(ends):
		return []problem{{"tls-cert", levelWarn, "the certificate ends on " + day(ends, ""), "renew it; a server that runs reads it again by itself"}}
	}
	return nil
}

func (s *settings) inTheClear() []problem {
	host, _, err := net.SplitHostPort(s.listen)
	ip := net.ParseIP(host)
	if err != nil || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	const text = "plain http off loopback carries tokens and memories in the clear"
	if s.insecure {
		return []problem{{"insecure-http", levelWarn, text, "have a proxy with TLS before it, or give --tls-cert and --tls-key"}}
	}
	return []problem{{"listen", levelFail, text, "give --tls-cert and --tls-key, listen on 127.0.0.1 behind a proxy that speaks TLS, or say --insecure-http"}}
}

// problems checks the settings of signing in.
func (s *oidcSettings) problems(fail func(setting string, err error, cure string)) {
	if u, err := url.Parse(s.publicURL); s.publicURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		fail("public-url", errors.New("it is no address of a server"), "give it as people type it: https://memory.acme.example")
	}
	if s.idle <= 0 {
		fail("session-idle", errors.New("it is not above nothing"), "give a time such as 12h")
	}
	if s.life <= 0 {
		fail("session-life", errors.New("it is not above nothing"), "give a time such as 168h")
	}
	if s.recheck < 0 {
		fail("session-recheck", errors.New("it is below nothing"), "give a time such as 2s, or 0 for every page")
	}
	for _, text := range s.join {
		_, err := signon.ParseRule(text)
		fail("join", err, "docs/sign-on.md has examples")
	}
	if s.provider.Issuer != "" {
		one := s.provider
		one.Bearer = provider.Kind(s.bearer)
		setting := "oidc-issuer"
		if one.ClientID == "" {
			setting = "oidc-client-id"
		}
		fail(setting, one.Check(), "docs/sign-on.md says how a provider is set up")
		fail("oidc-client-secret-file", readSecret(&one), "name a file that this user may read and that holds the secret alone")
	} else if s.provider.ClientID != "" || s.provider.SecretFile != "" {
		fail("oidc-issuer", errors.New("a client is named, and no provider"), "give --oidc-issuer as the provider spells itself")
	}
	if s.file == "" {
		return
	}
	list, err := readProviders(s.file)
	fail("oidc-file", err, "docs/sign-on.md shows what stands in it")
	for i := range list {
		fail("oidc-file", errors.Join(list[i].Check(), readSecret(&list[i])), "docs/sign-on.md says how a provider is set up")
	}
}
