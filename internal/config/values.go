package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// The types below bind text to a member of a Config. Their Set checks what can
// be checked of one value alone, and its error says what would be right.

type text struct{ to *string }

func (v text) Type() string       { return "text" }
func (v text) String() string     { return deref(v.to) }
func (v text) Set(s string) error { *v.to = s; return nil }

type address struct {
	to  *string
	off bool // may be off
}

func (v address) Type() string   { return "address" }
func (v address) String() string { return deref(v.to) }

func (v address) Set(s string) error {
	if v.off && s == Off {
		*v.to = s
		return nil
	}
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return errors.New("must be HOST:PORT, such as 127.0.0.1:8080 or :8080")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("the port %.20q must be a number from 0 to 65535", port)
	}
	*v.to = s
	return nil
}

type baseURL struct{ to *string }

func (v baseURL) Type() string   { return "url" }
func (v baseURL) String() string { return deref(v.to) }

func (v baseURL) Set(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(s, "?#") || !fitsHeader(u.String()) {
		return errors.New("must be an http or https URL without user, query and fragment, such as https://pets.example.com")
	}
	*v.to = strings.TrimRight(u.String(), "/")
	return nil
}

// fitsHeader reports whether a URL can stand in a header, between < and >.
func fitsHeader(u string) bool {
	return !strings.ContainsFunc(u, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>"`, r) })
}

type instant struct{ to *time.Time }

func (v instant) Type() string { return "instant" }

func (v instant) String() string {
	if v.to == nil {
		return ""
	}
	return v.to.UTC().Format(time.RFC3339)
}

func (v instant) Set(s string) error {
	t, err := time.Parse(time.RFC3339, s)
	if year := t.UTC().Year(); err != nil || t.Nanosecond() != 0 || year < 0 || year > 9999 {
		return errors.New("must be an instant of RFC 3339 with an offset, in whole seconds, such as 2030-12-05T00:00:00Z")
	}
	*v.to = t.UTC()
	return nil
}

// A list is of values that are separated by commas; a flag that is given again adds to it.
type list[T any] struct {
	to    *[]T
	read  func(word string) (T, error)
	given bool
}

func (v *list[T]) Type() string { return "list" }

func (v *list[T]) String() string {
	if v.to == nil {
		return ""
	}
	var words []string
	for _, one := range *v.to {
		words = append(words, fmt.Sprint(one))
	}
	return strings.Join(words, ",")
}

func (v *list[T]) Set(s string) error {
	var all []T
	if v.given {
		all = *v.to
	}
	for word := range strings.SplitSeq(s, ",") {
		one, err := v.read(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	*v.to, v.given = all, true
	return nil
}

func prefixes(to *[]netip.Prefix) pflag.Value {
	return &list[netip.Prefix]{to: to, read: parsePrefix}
}

func names(to *[]string) pflag.Value { return &list[string]{to: to, read: parseName} }

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

type level struct{ to *slog.Level }

func (v level) Type() string { return "level" }

func (v level) String() string {
	if v.to == nil {
		return ""
	}
	return strings.ToLower(v.to.String())
}

// Words returns what Set takes, for completion.
func (v level) Words() []string { return []string{"debug", "info", "warn", "error"} }

func (v level) Set(s string) error {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	i := slices.IndexFunc(levels, func(l slog.Level) bool { return strings.EqualFold(l.String(), s) })
	if i < 0 {
		return errors.New("must be debug, info, warn or error")
	}
	*v.to = levels[i]
	return nil
}

type choice struct {
	to *string
	of []string
}

func (v choice) Type() string   { return "choice" }
func (v choice) String() string { return deref(v.to) }

// Words returns what Set takes, for completion.
func (v choice) Words() []string { return v.of }

func (v choice) Set(s string) error {
	if !slices.Contains(v.of, s) {
		return fmt.Errorf("must be %s", strings.Join(v.of, " or "))
	}
	*v.to = s
	return nil
}

type duration struct {
	to  *time.Duration
	min time.Duration
}

func (v duration) Type() string { return "duration" }

func (v duration) String() string {
	if v.to == nil {
		return ""
	}
	text := v.to.String()
	if hours, ok := strings.CutSuffix(text, "h0m0s"); ok {
		return hours + "h"
	}
	if minutes, ok := strings.CutSuffix(text, "m0s"); ok {
		return minutes + "m"
	}
	return text
}

func (v duration) Set(s string) error {
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		return errors.New("must be a duration such as 500ms, 30s, 24h or 30d")
	case d < v.min && v.min == 0:
		return errors.New("must not be negative")
	case d < v.min && v.min == 1:
		return errors.New("must be longer than 0s")
	case d < v.min:
		return fmt.Errorf("must be at least %v", v.min)
	}
	*v.to = d
	return nil
}

// ParseDuration reads a duration that may begin with days: 30d, or 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	const day = 24 * time.Hour
	before, rest, ok := strings.Cut(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	days, err := strconv.ParseUint(before, 10, 16) // of at most 179 years
	if err != nil || rest == "" {
		return time.Duration(days) * day, err
	}
	d, err := time.ParseDuration(rest)
	if err == nil && d < 0 {
		err = errors.New("a part is negative")
	}
	return time.Duration(days)*day + d, err
}

type boolean struct{ to *bool }

func (v boolean) Type() string   { return "bool" }
func (v boolean) String() string { return strconv.FormatBool(v.to != nil && *v.to) }

// Words returns what Set takes, for completion.
func (v boolean) Words() []string { return []string{"false", "true"} }

func (v boolean) Set(s string) error {
	if s != "true" && s != "false" {
		return errors.New("must be true or false")
	}
	*v.to = s == "true"
	return nil
}

type number struct {
	to       *int
	min, max int
}

func (v number) Type() string { return "number" }

func (v number) String() string {
	if v.to == nil {
		return ""
	}
	return strconv.Itoa(*v.to)
}

func (v number) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < v.min || n > v.max {
		return fmt.Errorf("must be a whole number from %d to %d", v.min, v.max)
	}
	*v.to = n
	return nil
}

// deref returns what s points to; flags also ask zero values for their text.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
