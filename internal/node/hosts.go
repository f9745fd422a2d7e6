package node

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// onlyHosts calls h for requests whose Host is an address, a name of this machine, or
// one of names. It refuses any other name, since a web page could have its name
// resolved to this machine, so that the browser lets it read the answers (DNS
// rebinding). A request without a Host does not come from a browser.
func onlyHosts(h http.Handler, names []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOf(r.Host)
		if host == "" || isLocal(host) || slices.Contains(names, host) {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, fmt.Sprintf("The operations listener does not answer as %q. Use its address, or add the name to --ops-hosts.", host), http.StatusMisdirectedRequest)
	})
}

// hostOf returns the name in a Host, without its port and in lower case.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isLocal(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
