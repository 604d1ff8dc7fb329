package main

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth"
)

// settings are what a server is told by flag, else by environment, else by file.
type settings struct {
	config    string
	listen    string
	database  string
	replica   string
	data      string
	redacted  string
	tlsCert   string
	tlsKey    string
	insecure  bool
	proxies   []string
	failures  int
	logFormat string
	logLevel  string
	metrics   string
	oidc      oidcSettings

	sources map[string]source // of each setting that the command has
}

// settingNames are the flags that the environment and the file may give as well:
// tls-cert is TEAMMEM_TLS_CERT and the file's line "tls-cert: …".
var settingNames = []string{"listen", "database", "database-replica", "data", "redactions", "tls-cert", "tls-key", "insecure-http", "trusted-proxy", "failed-sign-ins", "log-format", "log-level", "metrics-listen"}

// allSettings are the names of all settings.
func allSettings() []string { return slices.Concat(settingNames, oidcNames) }

// databaseFlags are the settings that every command needs.
func (s *settings) databaseFlags(f *pflag.FlagSet) {
	f.StringVar(&s.config, "config", "", "file with settings, one \"name: value\" a line")
	f.StringVar(&s.database, "database", "", "sqlite:///path or postgres://… (default SQLite in the data directory)")
	f.StringVar(&s.data, "data", "", "directory of the server's files (default the user's data directory)")
	f.StringVar(&s.redacted, "redactions", "", "list of what was withdrawn, outside every backup (default redactions.jsonl in the data directory)")
}

// serveFlags are the settings of serving.
func (s *settings) serveFlags(f *pflag.FlagSet) {
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 picks one")
	f.StringVar(&s.replica, "database-replica", "", "postgres://… of a streaming replica that may answer what changed since a version (default none)")
	f.StringVar(&s.tlsCert, "tls-cert", "", "certificate in PEM; read again when it changes")
	f.StringVar(&s.tlsKey, "tls-key", "", "its key in PEM")
	f.BoolVar(&s.insecure, "insecure-http", false, "serve plain http off loopback all the same")
	f.StringSliceVar(&s.proxies, "trusted-proxy", nil, "networks such as 10.0.0.0/8 whose X-Forwarded-For and Forwarded are believed")
	f.IntVar(&s.failures, "failed-sign-ins", auth.DefaultFailures, "a minute from one address or of one account before it has to wait; -1 any number")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	f.StringVar(&s.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.metrics, "metrics-listen", "", "address of a listener for Prometheus, plain http at /metrics (default none)")
	s.oidc.flags(f)
}

// load fills in what no flag gave.
func (s *settings) load(cmd *cobra.Command, getenv func(string) string) error {
	if s.config == "" {
		s.config = getenv("TEAMMEM_CONFIG")
	}
	fromFile := map[string]fileSetting{}
	if s.config != "" {
		f, err := os.Open(s.config)
		if err != nil {
			return fmt.Errorf("read the configuration: %w", err)
		}
		defer f.Close()
		if fromFile, err = parseFile(f); err != nil {
			return usagef("%s: %w", s.config, err)
		}
	}
	s.sources = map[string]source{}
	for _, name := range allSettings() {
		if err := s.take(cmd.Flag(name), getenv, fromFile); err != nil {
			return err
		}
	}
	if s.data == "" {
		data, err := server.DefaultData(getenv)
		if err != nil {
			return err
		}
		s.data = data
	}
	return nil
}

// take gives one setting the value of the first source that has one, and notes which
// that was. A nil flag is a setting that the command does not have.
func (s *settings) take(flag *pflag.Flag, getenv func(string) string, fromFile map[string]fileSetting) error {
	if flag == nil {
		return nil
	}
	value, from, err := environment(flag.Name, getenv)
	if err != nil {
		return err
	}
	line, inFile := fromFile[flag.Name]
	switch {
	case flag.Changed:
		s.sources[flag.Name] = source{fromFlag, "--" + flag.Name}
		return nil
	case value != "":
	case inFile && line.value != "":
		value, from = line.value, source{fromConfig, fmt.Sprintf("%s:%d", s.config, line.number)}
	default:
		s.sources[flag.Name] = source{fromDefault, "default"}
		return nil
	}
	if err := flag.Value.Set(value); err != nil {
		// The value is not repeated: it may be a DSN.
		return server.WithHint(usagef("%s: %s cannot be read", from.where, flag.Name), "--"+flag.Name+" is: "+flag.Usage)
	}
	s.sources[flag.Name] = from
	return nil
}

// trustedProxies reads the networks that are believed; a single address is one too.
func (s *settings) trustedProxies() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range s.proxies {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			addr, single := netip.ParseAddr(strings.TrimSpace(text))
			if single != nil {
				return nil, usagef("--trusted-proxy %q: want a network such as 10.0.0.0/8, or an address", text)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// server is the configuration these settings make.
func (s *settings) server() server.Config {
	cfg := server.DefaultConfig(s.data)
	cfg.Database = s.database
	cfg.Replica = s.replica
	cfg.Redactions = s.redacted
	if s.listen != "" {
		cfg.Listen = s.listen
	}
	cfg.TLSCert, cfg.TLSKey = s.tlsCert, s.tlsKey
	cfg.InsecureHTTP = s.insecure
	cfg.MetricsListen = s.metrics
	cfg.HTTP.Version = buildVersion()
	cfg.Auth.Failures = s.failures
	return cfg
}
