package rest

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Addresses are where a request comes from, see [Config.TrustedProxies].
func (h *Handler) Addresses(r *http.Request) []netip.Addr { return h.addresses(r) }

// mostHops bounds how far a chain of proxies is followed.
const mostHops = 32

// addresses are where a request comes from. Without trusted proxies that is the
// other end of the connection, whatever headers say. Behind one it is, read from
// the right, the first address in X-Forwarded-For or Forwarded that is no trusted
// proxy's. Which of the two headers the proxy writes is not known, and the other
// one may be the client's own: where both are there and differ both count, so that
// nobody hides behind what they made up.
func (h *Handler) addresses(r *http.Request) []netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return nil
	}
	direct := peer.Addr().Unmap().WithZone("")
	if !h.trusts(direct) {
		return []netip.Addr{direct}
	}
	var found []netip.Addr
	for _, chain := range [][]string{forwardedFor(r.Header.Values("X-Forwarded-For")), forwarded(r.Header.Values("Forwarded"))} {
		if len(chain) == 0 {
			continue
		}
		if addr := h.lastUntrusted(direct, chain); !slices.Contains(found, addr) {
			found = append(found, addr)
		}
	}
	if len(found) == 0 {
		found = append(found, direct)
	}
	return found
}

func (h *Handler) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(h.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// lastUntrusted walks a chain from the right. What cannot be read as an address
// ends it: then the proxy that wrote it is the last that is known.
func (h *Handler) lastUntrusted(direct netip.Addr, chain []string) netip.Addr {
	last := direct
	for i, text := range slices.Backward(chain) {
		addr, ok := parseHop(text)
		if !ok || len(chain)-i > mostHops {
			return last
		}
		if last = addr; !h.trusts(addr) {
			return last
		}
	}
	return last
}

func parseHop(text string) (netip.Addr, bool) {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if addr, err := netip.ParseAddrPort(text); err == nil {
		return addr.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return addr.Unmap().WithZone(""), err == nil
}

// forwardedFor takes X-Forwarded-For apart, all lines of it.
func forwardedFor(lines []string) []string {
	var chain []string
	for _, line := range lines {
		for hop := range strings.SplitSeq(line, ",") {
			chain = append(chain, strings.TrimSpace(hop))
		}
	}
	return chain
}

// forwarded takes Forwarded apart (RFC 7239): of each hop the for= parameter, or
// nothing that could be read.
func forwarded(lines []string) []string {
	var chain []string
	for _, line := range lines {
		for hop := range strings.SplitSeq(line, ",") {
			node := ""
			for pair := range strings.SplitSeq(hop, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				if strings.EqualFold(strings.TrimSpace(name), "for") {
					node = strings.TrimSpace(value)
				}
			}
			chain = append(chain, node)
		}
	}
	return chain
}
