package config

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// A Setting is a value of a Config under its name.
type Setting struct {
	Name   string // of the flag, without dashes, and of the file's member
	Usage  string
	Secret bool // the value may hold a password

	value pflag.Value
}

// Value returns the setting's value as text, without passwords.
func (s Setting) Value() string {
	if s.Secret {
		return Redact(s.value.String())
	}
	return s.value.String()
}

// Settings returns every setting of c, in the order in which they are explained.
// The settings stay bound to c.
func (c *Config) Settings() []Setting {
	return []Setting{
		{Name: "addr", Usage: "listen for the API on `HOST:PORT`", value: address{&c.Addr, false}},
		{Name: "ops-addr", Usage: "listen for health, metrics and profiles on `HOST:PORT`, or off", value: address{&c.OpsAddr, true}},
		{Name: "ops-hosts", Usage: "answer there also to these `HOST,...` names; addresses and localhost always work", value: &names{to: &c.OpsHosts}},
		{Name: "tls-cert", Usage: "serve HTTPS with the certificate in the PEM `FILE`, read again when it changes", value: text{&c.TLSCert}},
		{Name: "tls-key", Usage: "the PEM `FILE` with the key of --tls-cert", value: text{&c.TLSKey}},
		{Name: "h2c", Usage: "speak HTTP/2 without TLS too, behind a proxy that does: `CHOICE` off or on", value: choice{&c.H2C, []string{"off", "on"}}},
		{Name: "max-connections", Usage: "take up to `N` connections at once; 0 is as many as memory and file descriptors allow", value: number{&c.MaxConnections, 0, 1 << 20}},
		{Name: "max-anonymous-per-address", Usage: "take up to `N` connections from one address (IPv6: /64) that have shown no key; 0 is a quarter of --max-connections", value: number{&c.MaxAnonymousPerAddress, 0, 1 << 20}},
		{Name: "base-url", Usage: "the `URL` under which clients reach the API; links in answers are relative unless it is set", value: baseURL{&c.BaseURL}},
		{Name: "sunset", Usage: "the `INSTANT` (RFC 3339) from which GET /pets/{petId} is gone", value: instant{&c.Sunset}},
		{Name: "trusted-proxies", Usage: "believe the forwarding headers of proxies in these `CIDR,...`", value: &prefixes{to: &c.TrustedProxies}},
		{Name: "db", Usage: "keep the data in `PATH` (SQLite), or in PostgreSQL at a postgres:// URL", Secret: true, value: text{&c.DB}},
		{Name: "db-read", Usage: "read pets, orders and stock from the PostgreSQL replica at `URL`", Secret: true, value: text{&c.DBRead}},
		{Name: "redis", Usage: "count requests in Redis at `URL`", Secret: true, value: text{&c.Redis}},
		{Name: "limiter-on-failure", Usage: "without Redis, go on in each node from the last known counts, or deny: `CHOICE` local or deny", value: choice{&c.LimiterOnFailure, []string{"local", "deny"}}},
		{Name: "log-level", Usage: "log from `LEVEL` on: debug, info, warn or error", value: level{&c.LogLevel}},
		{Name: "log-format", Usage: "log in `FORMAT`: json or text", value: choice{&c.LogFormat, []string{"json", "text"}}},
		{Name: "drain-delay", Usage: "on SIGTERM, go on serving for `DURATION` after readiness fails", value: duration{&c.DrainDelay, 0}},
		{Name: "drain-timeout", Usage: "wait at most `DURATION` for the requests in flight at the end", value: duration{&c.DrainTimeout, 1}},
		{Name: "backup-every", Usage: "back the database up every `DURATION`; 0 is never", value: duration{&c.Backup.Every, 0}},
		{Name: "backup-dir", Usage: "keep the backups in `DIR`", value: text{&c.Backup.Dir}},
		{Name: "backup-keep", Usage: "keep the latest `N` backups", value: number{&c.Backup.Keep, 1, 10000}},
		{Name: "ban-strikes", Usage: "ban a key after `N` strikes", value: number{&c.Ban.Strikes, 1, 1000}},
		{Name: "ban-window", Usage: "count the strikes of the last `DURATION`", value: duration{&c.Ban.Window, 1}},
		{Name: "ban-grace", Usage: "forgive refusals for `DURATION` after the first", value: duration{&c.Ban.Grace, 0}},
		{Name: "ban-first", Usage: "ban for `DURATION` the first time, then twice as long each time", value: duration{&c.Ban.First, time.Second}},
		{Name: "ban-max", Usage: "ban for `DURATION` at most", value: duration{&c.Ban.Max, 1}},
		{Name: "address-table", Usage: "count up to `N` addresses without a key apart", value: number{&c.AddressTable, 1, 1 << 24}},
		{Name: "console-pages", Usage: "let the sessions of a workspace read `N` pages of the console a minute from one address", value: number{&c.ConsolePages, 1, 1 << 20}},
	}
}

// FileFlag is the flag that names the file.
const FileFlag = "config"

// Register adds the flag of each named setting to flags, or of every setting
// if none is named. It panics on a name that no setting has.
func (c *Config) Register(flags *pflag.FlagSet, names ...string) {
	all := c.Settings()
	known := make([]string, len(all))
	for i, s := range all {
		known[i] = s.Name
		if len(names) == 0 || slices.Contains(names, s.Name) {
			flags.Var(s.value, s.Name, s.Usage)
			FromEnvironment(flags, s.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			panic("config: there is no setting " + name)
		}
	}
}

// EnvName returns the environment variable that stands for a flag:
// PETSTORE_LOG_LEVEL for log-level.
func EnvName(flag string) string {
	return "PETSTORE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
