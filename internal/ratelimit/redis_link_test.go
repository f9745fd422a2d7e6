package ratelimit

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url  string
		want target
	}{
		{"redis://h", target{network: "tcp", addresses: []string{"h:6379"}}},
		{"redis://", target{network: "tcp", addresses: []string{"localhost:6379"}}},
		{"redis://:p%40ss@h:1/2", target{network: "tcp", addresses: []string{"h:1"}, password: "p@ss", database: 2}},
		{"redis://u:p@h?db=3", target{network: "tcp", addresses: []string{"h:6379"}, user: "u", password: "p", database: 3}},
		{"redis://[::1]:7?addr=[::2]:8&addr=:9", target{network: "tcp", addresses: []string{"[::1]:7", "[::2]:8", "[::1]:9"}}},
		{"redis://h:1?addr=g:2&master_set=shop", target{network: "tcp", addresses: []string{"h:1", "g:2"}, master: "shop"}},
		{"unix://u:p@/run/redis.sock?db=1", target{network: "unix", addresses: []string{"/run/redis.sock"}, user: "u", password: "p", database: 1}},
	}
	for _, tt := range tests {
		if got, err := parseTarget(tt.url); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("parseTarget(%q) = %+v, %v, want %+v", tt.url, got, err, tt.want)
		}
	}
	for url, want := range map[string]bool{"rediss://h": false, "rediss://h?skip_verify=true": true, "rediss://h?skip_verify": true} {
		got, err := parseTarget(url)
		if err != nil || got.tls == nil || got.tls.ServerName != "h" || got.tls.InsecureSkipVerify != want {
			t.Errorf("parseTarget(%q) = %+v, %v, want TLS with any certificate: %v", url, got.tls, err, want)
		}
	}
}

// TestParseTargetNamesTheFault: what is mistyped is not passed over, and the error says which part it is, but nothing of
// a password.
func TestParseTargetNamesTheFault(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://h":                        "cannot be read",
		"redis://h:port":                  "cannot be read",
		"redis://h:70000":                 "HOST:PORT",
		"redis://h?addr=g:x":              "HOST:PORT",
		"redis://h?addr=g/1":              "HOST:PORT",
		"redis://h/one":                   "database",
		"redis://h/-1":                    "database",
		"redis://h?db=1x":                 "database",
		"redis://h?masterset=shop":        `no option "masterset"`,
		"redis://h?skip_verify=true":      `no option "skip_verify"`,
		"unix:///run/r.sock?addr=h":       `no option "addr"`,
		"redis://h?master_set=":           "master_set has no value",
		"redis://h?master_set=a&addr":     "addr has no value",
		"redis://h?db=1&db=2":             "db is there twice",
		"redis://h?db=%zz":                "cannot be read",
		"rediss://h?skip_verify=perhaps":  "skip_verify must be",
		"unix://run/redis.sock":           "path of a socket",
		"unix://":                         "path of a socket",
		"redis://:12?hunter2@h":           "cannot be read",
		"redis://:12#hunter2@h":           "cannot be read",
		"redis://:12?a=hunter2%40x&b=c@h": "cannot be read",
	} {
		_, err := parseTarget(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("parseTarget(%q) = %v, want an error with %q", url, err, want)
		}
		if got := (RedisOptions{URL: url, Config: DefaultConfig()}).Validate(); got == nil || got.Error() != err.Error() {
			t.Errorf("Validate with %q = %v, want %v", url, got, err)
		}
	}
}

func TestRedisOptionsValidate(t *testing.T) {
	t.Parallel()
	if err := (RedisOptions{URL: "redis://h", Config: DefaultConfig()}).Validate(); err != nil {
		t.Errorf("Validate = %v, want that nothing answers at h yet is no fault", err)
	}
	if err := (RedisOptions{URL: "redis://h"}).Validate(); err == nil {
		t.Error("Validate takes a configuration without numbers")
	}
}

// TestALostLinkIsMadeAnew: the server ends the connection. Redis does not count as away for it, and goes on deciding.
func TestALostLinkIsMadeAnew(t *testing.T) {
	t.Parallel()
	awaitMinute(t)
	server := redistest.Start(t)
	r := startNodes(t, server, 1, GoOnAlone, 10*time.Second)[0]
	c := r.Caller(1, "k", plenty)
	admitted := int64(0)
	for range 5 {
		server.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		before := r.RedisStats().Decided
		eventually(t, "Redis decides again", func() bool {
			admitted++
			return r.Admit(t.Context(), c).Admitted() && r.RedisStats().Decided > before
		})
	}
	eventually(t, "every request is counted", func() bool { return r.Peek(t.Context(), c).Day.Used == admitted })
	if s := r.RedisStats(); s.Aways != 0 {
		t.Errorf("RedisStats = %+v, want that Redis was never away", s)
	}
}

// TestAPasswordAndADatabase: the server asks for both.
func TestAPasswordAndADatabase(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do(t, "ACL", "SETUSER", "shop", "on", ">secret", "~petstore:*", "+@all")
	at := netip.MustParseAddrPort(server.Addr()).String()
	r := startNodesAt(t, "redis://shop:secret@"+at+"/3", 1, 10*time.Second)[0]
	if d := r.Admit(t.Context(), r.Caller(1, "k", plenty)); !d.Admitted() || r.RedisStats().Decided != 1 {
		t.Errorf("Admit = %+v, %+v, want a decision of Redis", d, r.RedisStats())
	}
	if got := server.Do(t, "DBSIZE"); got != "0" {
		t.Errorf("database 0 has %s keys, want all of them in database 3", got)
	}
	stranger, err := NewRedis(RedisOptions{URL: "redis://shop:wrong@" + at, Config: DefaultConfig(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stranger.Close)
	if !isAway([]*Redis{stranger}, true)() {
		t.Error("with a wrong password Redis is there, want away")
	}
}
