// Package config reads the settings from flags, the environment and a file, in that
// order of precedence, and remembers where each value comes from. Nothing else in the
// program reads the environment or the file.
//
// A Config is plain, checked data, from which the service is built.
package config

import (
	"log/slog"
	"net/netip"
	"time"
)

//go:generate go test -run TestReference -update .

// A Config holds the value of every setting. The zero value is not usable;
// start from New.
type Config struct {
	Addr    string // of the public listener, host:port
	OpsAddr string // of the operations listener, host:port, or Off

	OpsHosts []string // names of the operations listener in lower case, besides addresses and localhost

	TLSCert, TLSKey string // paths of PEM files; "" without TLS
	H2C             string // HTTP/2 without TLS: "off" or "on"

	MaxConnections int           // of the public listener; 0: as many as memory and descriptors allow
	IdleTimeout    time.Duration // for how long its connections stay open without a request

	BaseURL        string // the beginning of links; "": derived from the request
	Sunset         time.Time
	TrustedProxies []netip.Prefix

	DB    string // a path, or a postgres:// URL
	Redis string // a redis:// URL, or ""
	// LimiterOnFailure is what a node does while Redis is unavailable: "local" or
	// "deny".
	LimiterOnFailure string

	LogLevel     slog.Level
	LogFormat    string        // "json" or "text"
	DrainDelay   time.Duration // between failing readiness and refusing connections
	DrainTimeout time.Duration // for the requests in flight at the end

	EventRetention time.Duration // for how long events are kept; 0: none are

	WebhookAllowHTTP bool           // post events to http:// URLs too
	WebhookAllowTo   []netip.Prefix // post events to these addresses too, though they are not public

	Sandbox      Sandbox
	Backup       Backup
	Ban          Ban
	AddressTable int // how many callers without a key are counted one by one
	ConsolePages int // pages that a workspace's sessions may read from one address in a minute

	settings []Setting // which set all of these
}

// A Sandbox has the settings of sandboxes for visitors.
type Sandbox struct {
	On         bool
	Most       int // at once
	PerAddress int // created from an address in an hour
	Plan       string
	Life       time.Duration
	Webhooks   bool // whether their keys have the scope manage
}

// A Backup has the settings of scheduled backups.
type Backup struct {
	Every time.Duration // 0: never
	Dir   string
	Keep  int // how many backups are kept
}

// A Ban has the settings of temporary bans.
type Ban struct {
	Strikes int           // how many strikes lead to a ban
	Window  time.Duration // within which they must be
	Grace   time.Duration // from the first refusal to the first strike
	First   time.Duration // how long the first ban lasts
	Max     time.Duration // how long the longest ban lasts
}

// Off as an address means that there is no such listener.
const Off = "off"

// New returns the configuration in which every setting has its default.
func New() *Config {
	c := &Config{}
	c.settings = settingsOf(c)
	for _, s := range c.settings {
		if s.Default == "" {
			continue
		}
		if err := s.value.Set(s.Default); err != nil {
			panic(err) // the default is wrong
		}
	}
	return c
}
