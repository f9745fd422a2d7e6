package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddr returns the address that a request came from. Forwarded (RFC 7239)
// and X-Forwarded-For are believed only from trusted peers. If both are there
// and tell of different clients, one of them is the client's own invention,
// since a proxy sets the one and lets the other through: then it is the peer.
func clientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv6Unspecified() // a Unix socket: all share one address
	}
	addr := peer.Addr().Unmap().WithZone("")
	if len(trusted) == 0 || !isTrusted(addr, trusted) {
		return addr
	}
	forwarded, others := forwardedHops(r.Header), otherHops(r.Header)
	switch {
	case len(others) == 0:
		return firstUntrusted(addr, forwarded, trusted)
	case len(forwarded) == 0:
		return firstUntrusted(addr, others, trusted)
	}
	client := firstUntrusted(addr, others, trusted)
	if client != firstUntrusted(addr, forwarded, trusted) {
		return addr
	}
	return client
}

// firstUntrusted reads hops from their end: the first that is not trusted is
// the client. An entry that is no address ends the reading at the hop that
// reported it, of which the nearest is peer.
func firstUntrusted(peer netip.Addr, hops []string, trusted []netip.Prefix) netip.Addr {
	addr := peer
	for _, hop := range slices.Backward(hops) {
		next, ok := hopAddr(hop)
		if !ok {
			return addr
		}
		addr = next
		if !isTrusted(addr, trusted) {
			return addr
		}
	}
	return addr
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// forwardedHops returns the hops of Forwarded, the nearest last.
func forwardedHops(h http.Header) []string {
	var hops []string
	if forwarded := h["Forwarded"]; len(forwarded) > 0 {
		for element := range strings.SplitSeq(strings.Join(forwarded, ","), ",") {
			hops = append(hops, forParameter(element))
		}
	}
	return hops
}

// otherHops returns the hops of X-Forwarded-For, the nearest last.
func otherHops(h http.Header) []string {
	if xff := h["X-Forwarded-For"]; len(xff) > 0 {
		return strings.Split(strings.Join(xff, ","), ",")
	}
	return nil
}

// forParameter returns the value of "for" in one element of Forwarded.
func forParameter(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, ok := strings.Cut(pair, "=")
		if ok && strings.EqualFold(strings.TrimSpace(name), "for") {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// hopAddr reads an address as proxies write it: bare, in brackets, with or
// without a port.
func hopAddr(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if addr, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil {
		return addr.Unmap().WithZone(""), true
	}
	if peer, err := netip.ParseAddrPort(hop); err == nil {
		return peer.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}
