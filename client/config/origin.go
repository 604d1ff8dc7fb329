package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Origin is the canonical scheme://host:port of a server's address, to which a token
// is bound. The scheme's own port (443, 80) is left out. Plain http is refused but
// to this machine itself, because the token and the memory would travel in the open;
// [InsecureOrigin] is for the person who asks for it by name.
func Origin(serverURL string) (string, error) {
	origin, host, err := parseOrigin(serverURL)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(origin, "http:") && !isLoopback(host) {
		return "", fmt.Errorf("server %s: plain http would show the token and the memory to everyone on the way; use https, or ask for it by name with --insecure", origin)
	}
	return origin, nil
}

// InsecureOrigin is [Origin] that takes plain http to anywhere.
func InsecureOrigin(serverURL string) (string, error) {
	origin, _, err := parseOrigin(serverURL)
	return origin, err
}

// BaseURL is the address that paths are appended to: the origin, and the path a
// reverse proxy may have put the server under, without a slash at the end.
func BaseURL(serverURL string, insecure bool) (string, error) {
	find := Origin
	if insecure {
		find = InsecureOrigin
	}
	origin, err := find(serverURL)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(serverURL)
	if err != nil {
		return "", badServer("it is not an address")
	}
	return origin + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// badServer does not repeat the address: it may hold a password.
func badServer(why string) error {
	return fmt.Errorf("the server's address cannot be used: %s; want https://host", why)
}

func parseOrigin(serverURL string) (origin, host string, err error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return "", "", badServer("it is not an address")
	}
	scheme := strings.ToLower(u.Scheme)
	switch {
	case serverURL == "":
		return "", "", errors.New("no server is named: give --server URL or set TEAMMEM_SERVER")
	case scheme != "https" && scheme != "http":
		return "", "", badServer("it does not begin with https://")
	case u.User != nil:
		return "", "", badServer("it holds a user or password, which belong in a token")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", "", badServer("it holds a query or a fragment")
	case u.Opaque != "":
		return "", "", badServer("the slashes are missing")
	}
	if host, err = canonicalHost(u.Hostname()); err != nil {
		return "", "", err
	}
	origin = scheme + "://" + bracket(host)
	port, err := canonicalPort(scheme, u.Host, u.Port())
	return origin + port, host, err
}

// canonicalHost lower-cases and drops the root's dot. A name in another script has
// to come in the form that travels (xn--…): two that look alike are two.
func canonicalHost(host string) (string, error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" {
		return "", badServer("it names no host")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return "", badServer("the host has a zone")
		}
		return ip.Unmap().String(), nil
	}
	for _, r := range host {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_' {
			return "", badServer("the host holds a character other than letters, digits, dot and dash")
		}
	}
	return host, nil
}

func canonicalPort(scheme, hostport, port string) (string, error) {
	if port == "" {
		if strings.HasSuffix(hostport, ":") {
			return "", badServer("the port is missing behind the colon")
		}
		return "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", badServer("the port is not a number from 1 to 65535")
	}
	if scheme == "https" && n == 443 || scheme == "http" && n == 80 {
		return "", nil
	}
	return ":" + strconv.FormatUint(n, 10), nil
}

func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// isLoopback goes by the name, never by what a resolver says of it.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
