package ratelimit

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

const (
	connecting = time.Second     // for making a connection
	rechecking = 5 * time.Second // after which sentinels are asked who is the master
)

// errURL, and what is said beside it, tells nothing of the URL's text, which may hold a password, but a name of an option.
var (
	errURL      = errors.New("the URL of Redis cannot be read")
	errDatabase = fmt.Errorf("%w: the database must be a whole number from 0 on", errURL)
	errAddress  = fmt.Errorf("%w: a server must be HOST or HOST:PORT", errURL)
	errSocket   = fmt.Errorf("%w: unix:// must be followed by the path of a socket from / on", errURL)
	errVerify   = fmt.Errorf("%w: skip_verify must be true or false", errURL)
)

// clientOptions reads the URL of a server, of sentinels, or of a cluster:
//
//	redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][?addr=HOST:PORT]…[&master_set=NAME]
//	rediss://… with the same, over TLS; with skip_verify=true any certificate is good
//	unix://[USER][:PASSWORD@]/PATH[?db=DATABASE]
//
// An option that the form does not have is an error that names it. User and password are the master's; sentinels are
// asked without, and in the clear.
func clientOptions(text string) (rueidis.ClientOption, error) {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || strings.Contains(u.RawQuery, "@") { // then ? or # were in the password
		return rueidis.ClientOption{}, errURL
	}
	q, err := optionsOf(u)
	if err == nil {
		err = checkParts(u, q)
	}
	if err != nil {
		return rueidis.ClientOption{}, err
	}
	o, err := rueidis.ParseURL(text)
	if err != nil {
		return o, errURL
	}
	if u.Scheme != "unix" {
		o.InitAddress, err = addressesOf(u, q["addr"])
	}
	o.ClientName = "petstore"
	o.ClientSetInfo = rueidis.DisableClientSetInfo
	o.AlwaysRESP2, o.DisableCache = true, true // nothing here needs more
	o.DisableRetry = true                      // a call that is repeated counts twice
	o.AlwaysPipelining = true                  // a call that times out leaves its connection alive
	o.PipelineMultiplex = -1                   // one connection a server
	o.MaxFlushDelay = 20 * time.Microsecond    // while calls are under way, others gather: fewer system calls on both sides
	o.Dialer.Timeout, o.ConnWriteTimeout = connecting, connecting
	o.Sentinel.Dialer.Timeout, o.Sentinel.TopologyRefreshInterval = connecting, rechecking
	return o, err
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
		switch values := q[name]; {
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

// checkParts names the part of a URL that rueidis would not take, or pass over.
func checkParts(u *url.URL, q url.Values) error {
	database := cmp.Or(q.Get("db"), strings.TrimPrefix(u.Path, "/"), "0")
	if u.Scheme == "unix" {
		if u.Host != "" || u.Path == "" {
			return errSocket
		}
		database = cmp.Or(q.Get("db"), "0")
	}
	if n, err := strconv.Atoi(database); err != nil || n < 0 {
		return errDatabase
	}
	if _, err := strconv.ParseBool(cmp.Or(q.Get("skip_verify"), "true")); err != nil {
		return errVerify
	}
	return nil
}

// addressesOf returns the address in the URL, and others. What these lack is that of the first host, and the port of
// Redis.
func addressesOf(u *url.URL, others []string) (all []string, err error) {
	for _, text := range append([]string{u.Host}, others...) {
		one, err := url.Parse("//" + text)
		if err != nil || one.Host != text {
			return nil, errAddress
		}
		port := cmp.Or(one.Port(), "6379")
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errAddress
		}
		all = append(all, net.JoinHostPort(cmp.Or(one.Hostname(), u.Hostname(), "localhost"), port))
	}
	return all, nil
}

// isRefusal reports whether only another password, user, right, database or certificate can help.
func isRefusal(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	answer, ok := errors.AsType[*rueidis.RedisError](err)
	return ok && slices.ContainsFunc([]string{"NOAUTH", "NOPERM", "WRONGPASS", "AUTH", "DB index", "invalid DB"}, func(word string) bool {
		return strings.HasPrefix(answer.Error(), word)
	})
}
