package rest

import (
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
)

func TestAddresses(t *testing.T) {
	h := &Handler{cfg: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}}}
	for _, test := range []struct {
		name, peer string
		xff, fwd   []string
		want       []string
	}{
		{"no proxy", "192.0.2.1:1", nil, nil, []string{"192.0.2.1"}},
		{"a stranger claims another address", "192.0.2.1:1", []string{"198.51.100.7"}, []string{"for=198.51.100.7"}, []string{"192.0.2.1"}},
		{"a proxy", "10.0.0.1:1", []string{"198.51.100.7"}, nil, []string{"198.51.100.7"}},
		{"what the client made up stands on the left", "10.0.0.1:1", []string{"203.0.113.9, 198.51.100.7"}, nil, []string{"198.51.100.7"}},
		{"on a line of its own", "10.0.0.1:1", []string{"203.0.113.9", "198.51.100.7"}, nil, []string{"198.51.100.7"}},
		{"two proxies", "10.0.0.1:1", []string{"198.51.100.7, 10.0.0.2"}, nil, []string{"198.51.100.7"}},
		{"a client that calls itself a proxy", "10.0.0.1:1", []string{"10.9.9.9, 198.51.100.7, 10.0.0.2"}, nil, []string{"198.51.100.7"}},
		{"only proxies", "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, nil, []string{"10.0.0.3"}},
		{"nonsense", "10.0.0.1:1", []string{"198.51.100.7, unknown"}, nil, []string{"10.0.0.1"}},
		{"nonsense behind a proxy", "10.0.0.1:1", []string{"unknown, 10.0.0.2"}, nil, []string{"10.0.0.2"}},
		{"RFC 7239", "10.0.0.1:1", nil, []string{`for=203.0.113.9, For="198.51.100.7:4711";proto=https;by=10.0.0.1`}, []string{"198.51.100.7"}},
		{"RFC 7239, IPv6", "[2001:db8::1]:1", nil, []string{`for="[2001:dead::7]:4711"`}, []string{"2001:dead::7"}},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:1", []string{"::ffff:198.51.100.7"}, nil, []string{"198.51.100.7"}},
		{"two headers that agree", "10.0.0.1:1", []string{"198.51.100.7"}, []string{"for=198.51.100.7"}, []string{"198.51.100.7"}},
		{"two headers, of which one is made up", "10.0.0.1:1", []string{"198.51.100.7"}, []string{"for=203.0.113.9"}, []string{"198.51.100.7", "203.0.113.9"}},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.peer
		for _, line := range test.xff {
			r.Header.Add("X-Forwarded-For", line)
		}
		for _, line := range test.fwd {
			r.Header.Add("Forwarded", line)
		}
		var got []string
		for _, addr := range h.addresses(r) {
			got = append(got, addr.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func FuzzAddresses(f *testing.F) {
	f.Add("198.51.100.7, 10.0.0.2", `for="[2001:dead::7]:4711";by=x, for=unknown`)
	h := &Handler{cfg: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	f.Fuzz(func(t *testing.T, xff, fwd string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header["X-Forwarded-For"], r.Header["Forwarded"] = []string{xff}, []string{fwd}
		if n := len(h.addresses(r)); n < 1 || n > 2 {
			t.Errorf("%d addresses", n)
		}
	})
}
