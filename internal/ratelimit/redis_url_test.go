package ratelimit

import (
	"strings"
	"testing"
)

func TestClientOptions(t *testing.T) {
	t.Parallel()
	type server struct {
		addresses              string
		user, password, master string
		database               int
	}
	for url, want := range map[string]server{
		"redis://h":                                {addresses: "h:6379"},
		"redis://":                                 {addresses: "localhost:6379"},
		"redis://:p%40ss@h:1/2":                    {addresses: "h:1", password: "p@ss", database: 2},
		"redis://u:p@h?db=3":                       {addresses: "h:6379", user: "u", password: "p", database: 3},
		"redis://[::1]:7?addr=[::2]:8&addr=:9":     {addresses: "[::1]:7 [::2]:8 [::1]:9"},
		"redis://h:1?addr=g:2&master_set=petstore": {addresses: "h:1 g:2", master: "petstore"},
	} {
		o, err := clientOptions(url)
		got := server{strings.Join(o.InitAddress, " "), o.Username, o.Password, o.Sentinel.MasterSet, o.SelectDB}
		if err != nil || got != want || !o.DisableRetry || o.Sentinel.Password != "" {
			t.Errorf("clientOptions(%q) = %+v, %v, want %+v, no retries, and no password for sentinels", url, got, err, want)
		}
	}
	for url, want := range map[string]bool{"rediss://h": false, "rediss://h?skip_verify=true": true, "rediss://h?skip_verify": true} {
		o, err := clientOptions(url)
		if err != nil || o.TLSConfig == nil || o.TLSConfig.ServerName != "h" || o.TLSConfig.InsecureSkipVerify != want {
			t.Errorf("clientOptions(%q) = %+v, %v, want TLS with any certificate: %v", url, o.TLSConfig, err, want)
		}
	}
}

// TestClientOptionsNameTheFault: what is mistyped is not passed over, and the error says which part it is, but nothing of
// a password.
func TestClientOptionsNameTheFault(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://h":                        "cannot be read",
		"redis://h:port":                  "cannot be read",
		"redis://h?addr=g":                "HOST:PORT",
		"redis://h/one":                   "database",
		"redis://h?db=1x":                 "database",
		"redis://h?masterset=petstore":    `no option "masterset"`,
		"redis://h?skip_verify=true":      `no option "skip_verify"`,
		"rediss://h?skip_verify=perhaps":  "skip_verify",
		"unix:///run/redis.sock":          "cannot be read",
		"redis://:12?hunter2@h":           "cannot be read",
		"redis://:12#hunter2@h":           "cannot be read",
		"redis://:12?a=hunter2%40x&b=c@h": "cannot be read",
	} {
		_, err := clientOptions(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("clientOptions(%q) = %v, want an error with %q", url, err, want)
		}
	}
}
