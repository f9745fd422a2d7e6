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
	dialTimeout      = time.Second
	sentinelInterval = 5 * time.Second // between questions to the sentinels who is the master
)

// errURL and the others tell nothing of the URL but names of options, since its text may contain a password.
var (
	errURL      = errors.New("the URL of Redis cannot be read")
	errDatabase = fmt.Errorf("%w: the database must be a whole number from 0 on", errURL)
	errAddress  = fmt.Errorf("%w: a server must be HOST:PORT", errURL)
	errSocket   = fmt.Errorf("%w: unix:// must be followed by the path of a socket from / on", errURL)
	errVerify   = fmt.Errorf("%w: skip_verify must be true or false", errURL)
)

// clientOptions reads the URL of a server, of sentinels, or of a cluster:
//
//	redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][?addr=HOST:PORT]…[&master_set=NAME]
//	rediss://… with the same, over TLS; with skip_verify=true any certificate is good
//	unix://[USER][:PASSWORD@]/PATH[?db=DATABASE]
//
// An option that the scheme does not have is an error that names it. User and password are the master's; sentinels are
// asked without them, and without TLS.
func clientOptions(text string) (o rueidis.ClientOption, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || strings.Contains(u.RawQuery, "@") { // then ? or # were in the password
		return o, errURL
	}
	if err := checkURL(u); err != nil {
		return o, err
	}
	if o, err = rueidis.ParseURL(text); err != nil {
		return o, errURL
	}
	o.ClientName = "petstore"
	o.ClientSetInfo = rueidis.DisableClientSetInfo
	o.AlwaysRESP2, o.DisableCache = true, true // nothing here needs more
	o.DisableRetry = true                      // a call that is repeated counts twice
	o.AlwaysPipelining = true                  // a call that times out leaves its connection alive
	o.PipelineMultiplex = -1                   // one connection a server
	o.MaxFlushDelay = 20 * time.Microsecond    // while calls are in flight, others are collected: fewer system calls on both sides
	o.Dialer.Timeout, o.ConnWriteTimeout = dialTimeout, dialTimeout
	o.Sentinel.Dialer.Timeout, o.Sentinel.TopologyRefreshInterval = dialTimeout, sentinelInterval
	return o, nil
}

// knownOptions are the options of each scheme. Only addr may be there more than once.
var knownOptions = map[string][]string{
	"redis":  {"addr", "db", "master_set"},
	"rediss": {"addr", "db", "master_set", "skip_verify"},
	"unix":   {"db"},
}

// checkURL names the part of a URL that rueidis would refuse without saying why, or ignore.
func checkURL(u *url.URL) error {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil || knownOptions[u.Scheme] == nil {
		return errURL
	}
	if err := checkOptions(u.Scheme, q); err != nil {
		return err
	}
	database, servers := strings.TrimPrefix(u.Path, "/"), q["addr"]
	if u.Scheme == "unix" {
		if u.Host != "" || database == "" {
			return errSocket
		}
		database = ""
	} else if u.Port() != "" {
		servers = append(servers, u.Host)
	}
	if slices.ContainsFunc(servers, hasNoPort) {
		return errAddress
	}
	if n, err := strconv.Atoi(cmp.Or(q.Get("db"), database, "0")); err != nil || n < 0 {
		return errDatabase
	}
	return nil
}

// checkOptions names an option that the scheme does not have, or whose value is missing or wrong.
func checkOptions(scheme string, q url.Values) error {
	known := knownOptions[scheme]
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch values := q[name]; {
		case !slices.Contains(known, name):
			return fmt.Errorf("%w: with %s:// there is no option %q, only %s", errURL, scheme, name, strings.Join(known, ", "))
		case len(values) > 1 && name != "addr":
			return fmt.Errorf("%w: the option %s is there twice", errURL, name)
		case slices.Contains(values, "") && name != "skip_verify":
			return fmt.Errorf("%w: the option %s has no value", errURL, name)
		}
	}
	if _, err := strconv.ParseBool(cmp.Or(q.Get("skip_verify"), "true")); err != nil {
		return errVerify
	}
	return nil
}

func hasNoPort(server string) bool {
	_, port, err := net.SplitHostPort(server)
	n, parseErr := strconv.ParseUint(port, 10, 16)
	return err != nil || parseErr != nil || n == 0
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
