package ratelimit

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

const (
	dialTimeout      = time.Second
	sentinelInterval = 5 * time.Second // between questions to the sentinels who is the master
)

// The errors tell nothing of the URL but names of options, since its text may contain a password.
var (
	errURL     = errors.New("the URL of Redis cannot be read")
	errAddress = fmt.Errorf("%w: a server must be HOST:PORT", errURL)
	errValue   = fmt.Errorf("%w: the database must be a number, and skip_verify true or false", errURL)
)

// clientOptions reads the URL of a server, of sentinels, or of a cluster:
//
//	redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][?addr=HOST:PORT]…[&master_set=NAME]
//	rediss://… with the same, over TLS; with skip_verify=true any certificate is good
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
		return o, errValue
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

// checkURL names the part of a URL that rueidis would ignore.
func checkURL(u *url.URL) error {
	options := map[string][]string{
		"redis":  {"addr", "db", "master_set"},
		"rediss": {"addr", "db", "master_set", "skip_verify"},
	}[u.Scheme]
	if options == nil {
		return errURL
	}
	for name, values := range u.Query() {
		if !slices.Contains(options, name) {
			return fmt.Errorf("%w: with %s:// there is no option %q, only %s", errURL, u.Scheme, name, strings.Join(options, ", "))
		}
		if name == "addr" && slices.ContainsFunc(values, hasNoPort) {
			return errAddress
		}
	}
	return nil
}

func hasNoPort(server string) bool {
	_, _, err := net.SplitHostPort(server)
	return err != nil
}
