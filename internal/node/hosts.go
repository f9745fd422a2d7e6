package node

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// onlyHosts hands on requests whose Host a page on the web cannot have made its
// own: addresses, names of this machine, and the names given. Any other name may
// be one that was pointed here to let a browser read what is not for it (DNS
// rebinding). A request without a Host comes from no browser.
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
