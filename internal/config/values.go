package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The functions below bind a member of a Config to text. What Read returns is
// checked as far as can be done with one value alone.

func text(to *string) *Value[string] {
	return &Value[string]{To: to, Read: func(s string) (string, error) { return s, nil }}
}

// address returns the value of an address, or with off as the word for none.
func address(to *string, none ...string) *Value[string] {
	return &Value[string]{To: to, Read: func(s string) (string, error) {
		if slices.Contains(none, s) {
			return s, nil
		}
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return "", errors.New("must be HOST:PORT, such as 127.0.0.1:8080 or :8080")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
			return "", fmt.Errorf("the port %.20q must be a number from 0 to 65535", port)
		}
		return s, nil
	}}
}

func baseURL(to *string) *Value[string] {
	return &Value[string]{To: to, Read: func(s string) (string, error) {
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(s, "?#") || !fitsHeader(u.String()) {
			return "", errors.New("must be an http or https URL without user, query and fragment, such as https://pets.example.com")
		}
		return strings.TrimRight(u.String(), "/"), nil
	}}
}

// fitsHeader reports whether a URL can stand in a header, between < and >.
func fitsHeader(u string) bool {
	return !strings.ContainsFunc(u, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>"`, r) })
}

func instant(to *time.Time) *Value[time.Time] {
	return &Value[time.Time]{To: to, Read: func(s string) (time.Time, error) {
		t, err := time.Parse(time.RFC3339, s)
		if year := t.UTC().Year(); err != nil || t.Nanosecond() != 0 || year < 0 || year > 9999 {
			return t, errors.New("must be an instant of RFC 3339 with an offset, in whole seconds, such as 2030-12-05T00:00:00Z")
		}
		return t.UTC(), nil
	}}
}

func prefixes(to *[]netip.Prefix) *Value[[]netip.Prefix] {
	return List(to, &Value[netip.Prefix]{Read: parsePrefix})
}

func names(to *[]string) *Value[[]string] { return List(to, &Value[string]{Read: parseName}) }

// parseName reads the name of a host.
func parseName(word string) (string, error) {
	if word == "" || strings.ContainsAny(word, ":/@*? ") {
		return "", fmt.Errorf("%q is not the name of a host, without a port", word)
	}
	return strings.ToLower(word), nil
}

// parsePrefix reads a CIDR block, or a single address as a block of its own. One of IPv4-mapped IPv6 addresses is one of
// IPv4, as callers are.
func parsePrefix(word string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(word); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(word)
	if err != nil {
		return p, fmt.Errorf("%.100q is neither an address nor a CIDR block such as 10.0.0.0/8", word)
	}
	const mapped = 96 // bits before the IPv4 address
	if p.Addr().Is4In6() && p.Bits() >= mapped {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}
	return p.Masked(), nil
}

func level(to *slog.Level) *Value[slog.Level] {
	return &Value[slog.Level]{To: to, Read: func(s string) (l slog.Level, err error) {
		if !slices.Contains([]string{"debug", "info", "warn", "error"}, strings.ToLower(s)) { // and not INFO+2
			return 0, errors.New("must be debug, info, warn or error")
		}
		return l, l.UnmarshalText([]byte(s))
	}}
}

// Duration returns a value that is a duration of at least least, such as 0, or 1 for a longer one than 0.
func Duration(to *time.Duration, least time.Duration) *Value[time.Duration] {
	return &Value[time.Duration]{To: to, Read: func(s string) (time.Duration, error) {
		d, err := parseDuration(s)
		switch {
		case err != nil:
			return 0, errors.New("must be a duration such as 500ms, 30s, 24h or 30d")
		case d < least && least == 1:
			return 0, errors.New("must be longer than 0")
		case d < least:
			return 0, fmt.Errorf("must be at least %v", least)
		}
		return d, nil
	}}
}

// days matches the days with which a duration may begin.
var days = regexp.MustCompile(`^[0-9]{1,5}d`)

// parseDuration reads a duration that may begin with days: 30d, or 1d12h.
func parseDuration(s string) (time.Duration, error) {
	return time.ParseDuration(days.ReplaceAllStringFunc(s, func(text string) string {
		n, _ := strconv.Atoi(text[:len(text)-1]) // the pattern has no other
		return strconv.Itoa(24*n) + "h"
	}))
}

// A boolean is a setting whose flag needs no value to be true.
type boolean struct{ *Value[bool] }

// Type implements pflag.Value.
func (boolean) Type() string { return "bool" }

func yesOrNo(to *bool) boolean {
	return boolean{&Value[bool]{To: to, Read: func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, errors.New("must be true or false")
		}
		return s == "true", nil
	}}}
}
