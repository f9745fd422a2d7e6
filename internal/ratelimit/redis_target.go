package ratelimit

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A target is what a URL of Redis says.
type target struct {
	network        string      // "tcp" or "unix"
	addresses      []string    // of servers, or of sentinels
	tls            *tls.Config // nil: in the clear
	user, password string
	database       int
	master         string // the name under which sentinels know the master; "": there are none
}

// errURL, and what is said beside it, tells nothing of the URL's text, which may hold a password, but a name of an option.
var (
	errURL      = errors.New("the URL of Redis cannot be read")
	errDatabase = fmt.Errorf("%w: the database must be a whole number from 0 on", errURL)
	errAddress  = fmt.Errorf("%w: a server must be HOST or HOST:PORT", errURL)
	errSocket   = fmt.Errorf("%w: unix:// must be followed by the path of a socket from / on", errURL)
	errVerify   = fmt.Errorf("%w: skip_verify must be true or false", errURL)
)

// parseTarget reads the URL of a server, of sentinels, or of a cluster:
//
//	redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][?addr=HOST:PORT]…[&master_set=NAME]
//	rediss://… with the same, over TLS; with skip_verify=true any certificate is good
//	unix://[USER][:PASSWORD@]/PATH[?db=DATABASE]
//
// An option that the form does not have is an error that names it.
func parseTarget(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || strings.Contains(u.RawQuery, "@") { // then ? or # were in the password
		return target{}, errURL
	}
	q, err := optionsOf(u)
	if err != nil {
		return target{}, err
	}
	t := target{network: "tcp", user: u.User.Username(), master: q.Get("master_set")}
	t.password, _ = u.User.Password()
	database := q.Get("db")
	if u.Scheme == "unix" {
		if u.Host != "" || u.Path == "" {
			return target{}, errSocket
		}
		t.network, t.addresses = "unix", []string{u.Path}
	} else {
		if t.addresses, err = addressesOf(u, q["addr"]); err != nil {
			return target{}, err
		}
		database = cmp.Or(database, strings.TrimPrefix(u.Path, "/"))
	}
	if t.database, err = strconv.Atoi(cmp.Or(database, "0")); err != nil || t.database < 0 {
		return target{}, errDatabase
	}
	if u.Scheme == "rediss" {
		if t.tls, err = tlsOf(u, q); err != nil {
			return target{}, err
		}
	}
	return t, nil
}

// optionsOf returns the options in a URL's query: those that its scheme has, and each but addr once.
func optionsOf(u *url.URL) (url.Values, error) {
	known := map[string][]string{
		"redis":  {"addr", "db", "master_set"},
		"rediss": {"addr", "db", "master_set", "skip_verify"},
		"unix":   {"db"},
	}[u.Scheme]
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil || known == nil {
		return nil, errURL
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		values := q[name]
		switch {
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("%w: with %s:// there is no option %q, only %s", errURL, u.Scheme, name, strings.Join(known, ", "))
		case len(values) > 1 && name != "addr":
			return nil, fmt.Errorf("%w: the option %s is there twice", errURL, name)
		case slices.Contains(values, "") && name != "skip_verify":
			return nil, fmt.Errorf("%w: the option %s has no value", errURL, name)
		}
	}
	return q, nil
}

// tlsOf returns how to speak over TLS. An option skip_verify without a value says yes.
func tlsOf(u *url.URL, q url.Values) (*tls.Config, error) {
	skip, err := strconv.ParseBool(cmp.Or(q.Get("skip_verify"), strconv.FormatBool(q.Has("skip_verify"))))
	if err != nil {
		return nil, errVerify
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: hostOf(u), InsecureSkipVerify: skip}, nil //nolint:gosec // who sets it wants it
}

func hostOf(u *url.URL) string { return cmp.Or(u.Hostname(), "localhost") }

// addressesOf returns the address in the URL, and others. What these lack is that of the first host, and the port of
// Redis.
func addressesOf(u *url.URL, others []string) (all []string, err error) {
	for _, text := range append([]string{u.Host}, others...) {
		one, err := url.Parse("//" + text)
		if err != nil || one.Host != text {
			return nil, errAddress
		}
		address, ok := join(cmp.Or(one.Hostname(), hostOf(u)), cmp.Or(one.Port(), "6379"))
		if !ok {
			return nil, errAddress
		}
		all = append(all, address)
	}
	return all, nil
}

// join returns the address of a host, which is a name or an IP address, and a port. ok is false if there can be no such
// address.
func join(host, port string) (address string, ok bool) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", false
	}
	if _, err := netip.ParseAddr(host); err != nil && (host == "" || strings.ContainsFunc(host, inNoName)) {
		return "", false
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), true
}

// inNoName reports whether a character is in no name of a host, but ends one in a URL.
func inNoName(r rune) bool {
	return r < ' ' || unicode.IsSpace(r) || strings.ContainsRune(":/@[]?#%", r)
}
