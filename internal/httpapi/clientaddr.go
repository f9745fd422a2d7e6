package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddr returns the address of the client. Forwarded (RFC 7239) and
// X-Forwarded-For are trusted only if the peer is. If both are present and name
// different clients, the client must have sent one of them itself, since a proxy sets
// only one and passes the other through; then clientAddr returns the peer.
func clientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv6Unspecified() // a Unix socket: all share one address
	}
	addr := peer.Addr().Unmap().WithZone("")
	if !isTrusted(addr, trusted) {
		return addr
	}
	forwarded, others := hops(r.Header["Forwarded"], forParameter), hops(r.Header["X-Forwarded-For"], strings.TrimSpace)
	client, other := firstUntrusted(addr, forwarded, trusted), firstUntrusted(addr, others, trusted)
	switch {
	case client == other || len(others) == 0:
		return client
	case len(forwarded) == 0:
		return other
	}
	return addr
}

// firstUntrusted reads hops from the last to the first, and returns the first that is
// not trusted, which is the client. If an entry is not an address, it returns the hop
// that added the entry, which is peer for the last one.
func firstUntrusted(peer netip.Addr, hops []string, trusted []netip.Prefix) netip.Addr {
	addr := peer
	for _, hop := range slices.Backward(hops) {
		next, ok := hopAddr(hop)
		if !ok {
			break
		}
		if addr = next; !isTrusted(addr, trusted) {
			break
		}
	}
	return addr
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// hops returns the hops that the values of a header field name, the nearest last. read returns that of an element.
func hops(values []string, read func(element string) string) (all []string) {
	for _, value := range values {
		for element := range strings.SplitSeq(value, ",") {
			all = append(all, read(element))
		}
	}
	return all
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

// hopAddr parses an address as proxies write it: in brackets or not, with or without a
// port.
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
