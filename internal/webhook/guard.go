package webhook

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"

	"example.com/petstore/internal/petstore"
)

// maxURL is the greatest length of a URL.
const maxURL = 2048

// A Guard says which addresses events may be posted to: those of the public Internet, and
// those that the operator allows.
type Guard struct {
	allowHTTP bool
	addresses *ssrf.Guardian
}

// NewGuard returns a guard that also allows the addresses in allowed, and plain HTTP if
// allowHTTP is set.
func NewGuard(allowHTTP bool, allowed []netip.Prefix) *Guard {
	var v4, v6 []netip.Prefix
	for _, p := range allowed {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return &Guard{allowHTTP, ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(cloudPrefixes()...), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
}

// cloudPrefixes returns the ranges that look public, but that clouds use for their own
// services inside the networks of their customers.
func cloudPrefixes() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("168.63.129.16/32"), // Azure: the host of a machine
		netip.MustParsePrefix("161.26.0.0/16"),    // IBM Cloud: name servers and the like
		netip.MustParsePrefix("166.8.0.0/14"),     // IBM Cloud: service endpoints
	}
}

// checkURL appends what is wrong with the member url of a body.
func (g *Guard) checkURL(fields []petstore.Field, text string) []petstore.Field {
	code := petstore.InvalidFormat
	var message string
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		code, message = petstore.TooLong, fmt.Sprintf("url must have at most %d characters.", maxURL)
	case err != nil || !plain(u) || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }):
		message = "url must be an absolute URL in ASCII, such as https://example.com/events, without a user, a password or a fragment."
	case u.Scheme != "https" && (u.Scheme != "http" || !g.allowHTTP):
		message = "url must begin with https://."
	case !g.mayBePublic(u.Hostname()):
		message = "url must name a host with a public address."
	default:
		return fields
	}
	return append(fields, petstore.Field{Pointer: "/url", Code: code, Message: message})
}

// plain reports whether a URL has a host, and besides it a valid port, a path and a query
// at most.
func plain(u *url.URL) bool {
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16)
	return u.Hostname() != "" && u.Opaque == "" && u.User == nil && err == nil && port > 0 && !strings.HasSuffix(u.Host, ":")
}

// numericHost matches hosts such as 0x7f.1, which some systems take for an IPv4 address
// (WHATWG URL §3.5). They are not names: no domain ends in a number, or in a second dot.
var numericHost = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)?$`)

// mayBePublic reports whether a host is a name, or an address that is allowed. The
// addresses of a name are checked by the sender, whenever a connection is made.
func (g *Guard) mayBePublic(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return !numericHost.MatchString(host)
	}
	return g.addresses.SafeAddr(ip.Unmap()) == nil
}
