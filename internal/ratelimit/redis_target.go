package ratelimit

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
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

// errURL tells nothing of the URL's text, which may hold a password.
var errURL = errors.New("the URL of Redis cannot be read")

// parseTarget reads the URL of a server, of sentinels, or of a cluster:
//
//	redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][?addr=HOST:PORT]…[&master_set=NAME]
//	rediss://… with the same, over TLS; with skip_verify=true any certificate is good
//	unix://[USER][:PASSWORD@]/PATH[?db=DATABASE]
func parseTarget(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return target{}, errURL
	}
	q := u.Query()
	t := target{network: "tcp", user: u.User.Username(), master: q.Get("master_set")}
	t.password, _ = u.User.Password()
	database := strings.TrimPrefix(u.Path, "/")
	switch u.Scheme {
	case "unix":
		t.network, t.addresses, database = "unix", []string{u.Path}, ""
	case "rediss":
		t.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: hostOf(u)}
		if t.tls.InsecureSkipVerify, err = isSet(q, "skip_verify"); err != nil { //nolint:gosec // who sets it wants it
			return target{}, errURL
		}
	case "redis":
	default:
		return target{}, errURL
	}
	if t.network == "tcp" {
		t.addresses = addressesOf(u)
	}
	if q.Has("db") {
		database = q.Get("db")
	}
	if database != "" {
		if t.database, err = strconv.Atoi(database); err != nil || t.database < 0 {
			return target{}, errURL
		}
	}
	return t, nil
}

func hostOf(u *url.URL) string {
	if host := u.Hostname(); host != "" {
		return host
	}
	return "localhost"
}

// addressesOf returns the address in the URL, and those of its parameter addr. What these lack is that of the first host,
// and the port of Redis.
func addressesOf(u *url.URL) (all []string) {
	for _, text := range append([]string{u.Host}, u.Query()["addr"]...) {
		one := url.URL{Host: text}
		host, port := one.Hostname(), one.Port()
		if host == "" {
			host = hostOf(u)
		}
		if port == "" {
			port = "6379"
		}
		all = append(all, net.JoinHostPort(host, port))
	}
	return all
}

// isSet reports whether a parameter of the query says yes; one without a value does.
func isSet(q url.Values, name string) (bool, error) {
	switch {
	case !q.Has(name):
		return false, nil
	case q.Get(name) == "":
		return true, nil
	}
	return strconv.ParseBool(q.Get(name))
}
