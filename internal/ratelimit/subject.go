package ratelimit

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A subject is the name of what is counted: in saved rows, and with keyOf in Redis. overflowSubject is that of all the
// addresses for which the table has no place.
const overflowSubject = "a:*"

func workspaceSubject(id int64) string { return "w:" + strconv.FormatInt(id, 10) }

func addressSubject(a address) string { return "a:" + a.String() }

// parseWorkspace returns the id of a subject "w:12", and whether the subject is of that kind at all.
func parseWorkspace(subject string) (id int64, yes bool, err error) {
	s, yes := strings.CutPrefix(subject, "w:")
	if !yes {
		return 0, false, nil
	}
	if id, err = strconv.ParseInt(s, 10, 64); err != nil {
		return 0, true, fmt.Errorf("saved window %q names no workspace", subject)
	}
	return id, true, nil
}

// parseAddress returns an address of the saved subject "a:192.0.2.7" or "a:2001:db8:0:1::/64".
func parseAddress(subject string) (netip.Addr, error) {
	if s, ok := strings.CutPrefix(subject, "a:"); ok {
		if a, err := netip.ParseAddr(strings.TrimSuffix(s, "/64")); err == nil {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("saved window %q names neither a workspace nor an address", subject)
}
