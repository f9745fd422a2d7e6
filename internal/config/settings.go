package config

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// A Setting is a value of a Config under its name.
type Setting struct {
	Name    string // of the flag, without dashes, and of the file's member
	Default string // as text; "" for the zero value
	Usage   string
	Secret  bool // the value may hold a password

	value pflag.Value
}

// Value returns the setting's value as it was given, without passwords.
func (s Setting) Value() string {
	if s.Secret {
		return Redact(s.value.String())
	}
	return s.value.String()
}

// Settings returns every setting of c, in the order in which they are explained.
func (c *Config) Settings() []Setting { return c.settings }

// settingsOf returns the settings that set the members of c.
func settingsOf(c *Config) []Setting {
	return []Setting{
		{Name: "addr", Default: "127.0.0.1:8080", Usage: "serve the API, the reference and the console on `HOST:PORT`", value: address(&c.Addr)},
		{Name: "ops-addr", Default: "127.0.0.1:9090", Usage: "serve health checks, metrics and the operator's console and API on `HOST:PORT`; off for no operations listener", value: address(&c.OpsAddr, Off)},
		{Name: "ops-hosts", Usage: "let the operations listener also answer requests to the names `HOST,...`; IP addresses and localhost always work", value: names(&c.OpsHosts)},
		{Name: "tls-cert", Usage: "serve HTTPS with the certificate in the PEM `FILE`; read again when it changes", value: text(&c.TLSCert)},
		{Name: "tls-key", Usage: "the PEM `FILE` with the private key of --tls-cert", value: text(&c.TLSKey)},
		{Name: "h2c", Default: "off", Usage: "accept HTTP/2 without TLS, for a proxy that uses it: `CHOICE` off or on", value: Word(&c.H2C, "off", "on")},
		{Name: "max-connections", Default: "0", Usage: "accept at most `N` connections at once; 0 for as many as memory and file descriptors allow", value: Whole(&c.MaxConnections, 0, 1<<20)},
		{Name: "idle-timeout", Default: "2m", Usage: "keep a connection without requests open for `DURATION`; a proxy in front must close its own sooner", value: Duration(&c.IdleTimeout, time.Second)},
		{Name: "base-url", Usage: "the `URL` that clients use; without it, links in responses are relative", value: baseURL(&c.BaseURL)},
		{Name: "sunset", Default: "2030-12-05T00:00:00Z", Usage: "answer GET /pets/{petId} with 410 from `INSTANT` (RFC 3339) on", value: instant(&c.Sunset)},
		{Name: "trusted-proxies", Usage: "trust the Forwarded and X-Forwarded-For headers of proxies with addresses in `CIDR,...`", value: prefixes(&c.TrustedProxies)},
		{Name: "db", Default: "petstore.db", Usage: "keep the data in the SQLite file `PATH`, or in PostgreSQL at a postgres:// URL", Secret: true, value: text(&c.DB)},
		{Name: "event-retention", Default: "30d", Usage: "keep events for `DURATION`; 0 for no events at all", value: Duration(&c.EventRetention, 0)},
		{Name: "webhook-allow-http", Default: "false", Usage: "allow webhooks with http:// URLs", value: yesOrNo(&c.WebhookAllowHTTP)},
		{Name: "webhook-allow-to", Usage: "allow webhooks to private addresses in `CIDR,...`", value: prefixes(&c.WebhookAllowTo)},
		{Name: "redis", Usage: "count requests in Redis at `URL`, together with all other nodes", Secret: true, value: text(&c.Redis)},
		{Name: "limiter-on-failure", Default: "local", Usage: "while Redis is away: `CHOICE` local (each node continues from the last known counts) or deny (503)", value: Word(&c.LimiterOnFailure, "local", "deny")},
		{Name: "log-level", Default: "info", Usage: "log messages of `LEVEL` and above: debug, info, warn or error", value: level(&c.LogLevel)},
		{Name: "log-format", Default: "json", Usage: "log in `FORMAT` json or text", value: Word(&c.LogFormat, "json", "text")},
		{Name: "drain-delay", Default: "0", Usage: "after SIGTERM, keep serving for `DURATION` while /readyz fails", value: Duration(&c.DrainDelay, 0)},
		{Name: "drain-timeout", Default: "30s", Usage: "when stopping, wait at most `DURATION` for requests in flight", value: Duration(&c.DrainTimeout, 1)},
		{Name: "sandbox", Default: "false", Usage: "let anybody create a workspace that is removed after --sandbox-ttl", value: yesOrNo(&c.Sandbox.On)},
		{Name: "sandbox-max", Default: "1000", Usage: "allow at most `N` sandboxes at once", value: Whole(&c.Sandbox.Most, 1, 1<<20)},
		{Name: "sandbox-per-address", Default: "20", Usage: "let one address create at most `N` sandboxes an hour", value: Whole(&c.Sandbox.PerAddress, 1, 1<<20)},
		{Name: "sandbox-plan", Default: "free", Usage: "the `PLAN` of each sandbox: free, pro or business", value: Word(&c.Sandbox.Plan, "free", "pro", "business")},
		{Name: "sandbox-ttl", Default: "24h", Usage: "remove each sandbox `DURATION` after it was created, at least 1h", value: Duration(&c.Sandbox.Life, time.Hour)},
		{Name: "sandbox-webhooks", Default: "false", Usage: "give the keys of sandboxes the scope manage, so that they can create webhooks and keys", value: yesOrNo(&c.Sandbox.Webhooks)},
		{Name: "backup-every", Default: "0", Usage: "back up the SQLite database every `DURATION`; 0 for never", value: Duration(&c.Backup.Every, 0)},
		{Name: "backup-dir", Usage: "store backups in `DIR`", value: text(&c.Backup.Dir)},
		{Name: "backup-keep", Default: "7", Usage: "keep the newest `N` backups", value: Whole(&c.Backup.Keep, 1, 10000)},
		{Name: "ban-strikes", Default: "20", Usage: "ban a key after `N` strikes", value: Whole(&c.Ban.Strikes, 1, 1000)},
		{Name: "ban-window", Default: "1m", Usage: "count strikes within `DURATION`", value: Duration(&c.Ban.Window, 1)},
		{Name: "ban-grace", Default: "2s", Usage: "forgive refused requests for `DURATION` after the first one", value: Duration(&c.Ban.Grace, 0)},
		{Name: "ban-first", Default: "2m", Usage: "the first ban lasts `DURATION`, and each further one twice as long", value: Duration(&c.Ban.First, time.Second)},
		{Name: "ban-max", Default: "24h", Usage: "no ban lasts longer than `DURATION`", value: Duration(&c.Ban.Max, 1)},
		{Name: "address-table", Default: "65536", Usage: "count up to `N` addresses without a key separately; the rest share one allowance", value: Whole(&c.AddressTable, 1, 1<<24)},
		{Name: "console-pages", Default: "60", Usage: "allow `N` console pages and downloads a minute for each workspace and address", value: Whole(&c.ConsolePages, 1, 1<<20)},
	}
}

// FileFlag is the flag that names the file.
const FileFlag = "config"

// Register adds the flag of each named setting to flags, or of every setting
// if none is named.
func (c *Config) Register(flags *pflag.FlagSet, names ...string) {
	for _, s := range c.settings {
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		flag := flags.VarPF(s.value, s.Name, "", s.Usage)
		if _, yes := s.value.(boolean); yes {
			flag.NoOptDefVal = "true"
		}
		FromEnvironment(flags, s.Name)
	}
}

// EnvName returns the environment variable that stands for a flag:
// PETSTORE_LOG_LEVEL for log-level.
func EnvName(flag string) string {
	return "PETSTORE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
