package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/processtest"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/config"
)

// A source is what an operator gave: arguments, variables, and the text of a
// file ("" for no file).
type source struct {
	args []string
	env  map[string]string
	file string
}

// load reads s. The path of the file is replaced by FILE in the error.
func load(t *testing.T, s source) (*config.Config, config.Origins, error) {
	t.Helper()
	c := config.New()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.String(config.FileFlag, "", "")
	c.Register(flags)
	args := s.args
	if s.file != "" {
		path := filepath.Join(t.TempDir(), "petstore.yaml")
		processtest.Must(t, os.WriteFile(path, []byte(s.file), 0o600))
		args = append(args, "--config="+path)
	}
	processtest.Must(t, flags.Parse(args))
	origins, err := c.Load(flags, func(name string) string { return s.env[name] })
	return c, origins, err
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	flag := []string{"--addr", "127.0.0.1:1"}
	env := map[string]string{"PETSTORE_ADDR": "127.0.0.1:2"}
	const file = "# the public listener\naddr: 127.0.0.1:3\n"
	tests := []struct {
		name       string
		give       source
		want, from string
	}{
		{"nothing", source{}, "127.0.0.1:8080", "default"},
		{"file", source{file: file}, "127.0.0.1:3", "petstore.yaml:2"},
		{"environment over file", source{env: env, file: file}, "127.0.0.1:2", "PETSTORE_ADDR"},
		{"flag over environment", source{args: flag, env: env, file: file}, "127.0.0.1:1", "--addr"},
		{"empty variable is unset", source{env: map[string]string{"PETSTORE_ADDR": ""}, file: file}, "127.0.0.1:3", "petstore.yaml:2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, origins, err := load(t, test.give)
			processtest.Must(t, err)
			if c.Addr != test.want {
				t.Errorf("Addr = %q, want %q", c.Addr, test.want)
			}
			if got := filepath.Base(string(origins.Of("addr"))); got != test.from {
				t.Errorf("origin = %q, want %q", got, test.from)
			}
		})
	}
}

func TestEverySettingFromEverySource(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"addr": ":1", "ops-addr": "off", "ops-hosts": "node1,ops.example", "tls-cert": "cert.pem", "tls-key": "key.pem", "base-url": "https://pets.example", "sunset": "2031-01-02T03:04:05Z",
		"trusted-proxies": "10.0.0.0/8,192.0.2.1/32", "db": "other.db", "redis": "", "limiter-on-failure": "deny", "log-level": "debug", "log-format": "text",
		"drain-delay": "1s", "drain-timeout": "2s", "event-retention": "48h", "backup-every": "1h30m", "backup-dir": "/backups", "backup-keep": "2", "ban-strikes": "3", "ban-window": "4s", "ban-grace": "5s",
		"ban-first": "6s", "ban-max": "7s", "address-table": "8", "console-pages": "9", "h2c": "on", "max-connections": "10", "idle-timeout": "11s",
		"sandbox": "true", "sandbox-max": "12", "sandbox-per-address": "13", "sandbox-plan": "pro", "sandbox-ttl": "14h", "sandbox-webhooks": "true",
		"webhook-allow-http": "true", "webhook-allow-to": "10.0.0.0/8",
	}
	var args []string
	var file strings.Builder
	env := map[string]string{}
	for name, value := range values {
		if value == "" {
			continue
		}
		args = append(args, "--"+name+"="+value)
		env[config.EnvName(name)] = value
		file.WriteString(name + ": \"" + value + "\"\n")
	}
	for name, s := range map[string]source{"flags": {args: args}, "environment": {env: env}, "file": {file: file.String()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, err := load(t, s)
			processtest.Must(t, err)
			got := map[string]string{}
			for _, s := range c.Settings() {
				got[s.Name] = s.Value()
			}
			if diff := cmp.Diff(values, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDefaultsFromFile: what config print prints can be read from a file.
func TestDefaultsFromFile(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	for _, s := range config.New().Settings() {
		file.WriteString(s.Name + ": \"" + s.Value() + "\"\n")
	}
	if _, _, err := load(t, source{file: file.String()}); err != nil {
		t.Error(err)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	c, _, err := load(t, source{file: "trusted-proxies: [10.1.2.3/8, \"2001:db8::1\"]\n"})
	processtest.Must(t, err)
	got := []string{}
	for _, p := range c.TrustedProxies {
		got = append(got, p.String())
	}
	if want := []string{"10.0.0.0/8", "2001:db8::1/128"}; !cmp.Equal(got, want) {
		t.Errorf("TrustedProxies = %v, want %v", got, want)
	}
	c, _, err = load(t, source{args: []string{"--ops-hosts=node1,Node2", "--ops-hosts=node3"}})
	if want := []string{"node1", "node2", "node3"}; err != nil || !cmp.Equal(c.OpsHosts, want) {
		t.Errorf("OpsHosts = %v, %v, want %v", c.OpsHosts, err, want)
	}
}

func env(name, value string) source { return source{env: map[string]string{name: value}} }

// faults are settings that are wrong.
var faults = []struct {
	name string
	give source
	want string // the error begins with it, after the directory of the file
}{
	{"unknown member", source{file: "db: x\nadr: y\n"}, `petstore.yaml:2: there is no setting "adr"`},
	{"member twice", source{file: "db: x\n\ndb: y\n"}, "petstore.yaml: the configuration must be YAML, with lines of NAME: VALUE, each name once: line 3"},
	{"value in the file", source{file: "\naddr: here\n"}, `petstore.yaml:2: "here": must be HOST:PORT`},
	{"null", source{file: "addr: :1\nredis:\n"}, "petstore.yaml:2: redis must be a value, or a list of values"},
	{"empty list", source{file: "ops-hosts: []\n"}, "petstore.yaml:1: ops-hosts must be a value, or a list of values"},
	{"list of null", source{file: "ops-hosts: [~]\n"}, "petstore.yaml:1: ops-hosts must be a value, or a list of values"},
	{"only null", source{file: "~\n"}, "petstore.yaml: the configuration must be lines of NAME: VALUE"},
	{"null for a name", source{file: "~: x\n"}, "petstore.yaml: the configuration must be lines of NAME: VALUE"},
	{"unknown anchor", source{file: "redis: *secret\n"}, "petstore.yaml: the configuration must be YAML, with lines of NAME: VALUE, each name once: a value that begins with * or & must be in quotes"},
	{"nested", source{file: "addr:\n  strikes: 1\n"}, "petstore.yaml:2: addr must be a value"},
	{"scalar", source{file: "# Settings\nsecret\n"}, "petstore.yaml: the configuration must be YAML, with lines of NAME: VALUE, each name once: line 2"},
	{"list on lines of its own", source{file: "trusted-proxies:\n  - 10.0.0.0/8\n  - proxy\n"}, `petstore.yaml:2: "10.0.0.0/8,proxy": `},
	{"folder", source{args: []string{"--config=."}}, ".: the configuration cannot be read: "},
	{"large file", source{file: "addr: :1\n" + strings.Repeat("#", 1<<20)}, "petstore.yaml: the configuration cannot be read: is larger than 1 MiB"},
	{"two documents", source{file: "addr: :1\n---\naddr: :2\n"}, "petstore.yaml: the configuration must be one document"},
	{"no YAML", source{file: "db: x\n\taddr: y\n"}, "petstore.yaml: the configuration must be YAML, with lines of NAME: VALUE, each name once: line 2: found a tab"},
	{"no such file", source{args: []string{"--config=/nowhere/petstore.yaml"}}, "petstore.yaml: the configuration cannot be read: "},
	{"port", env("PETSTORE_ADDR", "127.0.0.1:65536"), "PETSTORE_ADDR: "},
	{"off is for operations only", env("PETSTORE_ADDR", "off"), "PETSTORE_ADDR: "},
	{"base URL", env("PETSTORE_BASE_URL", "pets.example"), "PETSTORE_BASE_URL: "},
	{"sunset", env("PETSTORE_SUNSET", "2030-12-05"), "PETSTORE_SUNSET: "},
	{"proxies", env("PETSTORE_TRUSTED_PROXIES", "10.0.0.0/8,proxy"), `PETSTORE_TRUSTED_PROXIES: "10.0.0.0/8,proxy": "proxy" is neither`},
	{"level", env("PETSTORE_LOG_LEVEL", "loud"), "PETSTORE_LOG_LEVEL: "},
	{"format", env("PETSTORE_LOG_FORMAT", "xml"), "PETSTORE_LOG_FORMAT: "},
	{"duration", env("PETSTORE_DRAIN_TIMEOUT", "30"), "PETSTORE_DRAIN_TIMEOUT: "},
	{"negative", env("PETSTORE_DRAIN_DELAY", "-1s"), "PETSTORE_DRAIN_DELAY: "},
	{"too long", env("PETSTORE_EVENT_RETENTION", "65535d2000000h"), `PETSTORE_EVENT_RETENTION: "65535d2000000h": must be a duration`},
	{"short ban", env("PETSTORE_BAN_FIRST", "999ms"), `PETSTORE_BAN_FIRST: "999ms": must be at least 1s`},
	{"number", env("PETSTORE_BAN_STRIKES", "0"), "PETSTORE_BAN_STRIKES: "},
	{"bans", env("PETSTORE_BAN_MAX", "1m"), "PETSTORE_BAN_MAX: the longest ban, 1m0s, is shorter"},
	{"backups without a folder", env("PETSTORE_BACKUP_EVERY", "1h"), "PETSTORE_BACKUP_EVERY: backups need a folder"},
	{"events for a moment", source{args: []string{"--event-retention=1s"}}, "--event-retention: must be at least 1h, or 0"},
	{"backups too often", source{args: []string{"--backup-every=1s", "--backup-dir=d"}}, "--backup-every: must be at least 1m"},
	{"certificate without a key", source{args: []string{"--tls-cert=c.pem"}}, "--tls-cert: tls-key must be given too"},
	{"key without a certificate", source{args: []string{"--tls-key=k.pem"}}, "--tls-key: tls-cert must be given too"},
	{"bans, the other way", source{args: []string{"--ban-first=25h"}}, "--ban-max: the longest ban, 24h0m0s, is shorter than the first of --ban-first, 25h0m0s"},
	{"backups of PostgreSQL", source{args: []string{"--db=postgres://h/d", "--backup-every=1h", "--backup-dir=d"}}, "--backup-every: backups by the server are for SQLite"},
	{"other database", env("PETSTORE_DB", "mysql://u:secret@h/d"), `PETSTORE_DB: "mysql://u:xxxxx@h/d" is neither`},
	{"slash in the password", env("PETSTORE_DB", "postgres://u:12/secret@h/d"), "PETSTORE_DB: an @ comes after a slash"},
	{"keywords", env("PETSTORE_DB", "host=localhost dbname=shop password=secret"), "PETSTORE_DB: PostgreSQL is given as a URL, postgres://user@host/dbname"},
	{"mistyped scheme", source{args: []string{"--db=postgres:/u:secret@h/d"}}, "--db: PostgreSQL is given as a URL"},
	{"Redis", source{file: "redis: http://:secret@h\n"}, "petstore.yaml:1: must be a URL such as redis://"},
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, test := range faults {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := load(t, test.give)
			if err == nil {
				t.Fatalf("Load succeeded, want %q", test.want)
			}
			got := err.Error()
			if _, after, ok := strings.Cut(got, "petstore.yaml"); ok {
				got = "petstore.yaml" + after
			}
			if !strings.HasPrefix(got, test.want) || strings.Contains(got, "\n") || strings.Contains(got, "secret") {
				t.Errorf("Load = %q, want one line %q without the secret", got, test.want)
			}
		})
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	const asURL, neither = "PostgreSQL is given as a URL", " is neither the path of a database nor a postgres:// URL"
	for db, want := range map[string]string{
		"petstore.db": "", "/var/lib/petstore/a b=c.db": "", "./a=b.db": "", "shop=1.db": "", "ghost=1": "", "./dbname=shop.db": "",
		"postgres": "", "postgres.db": "", "postgres/shop.db": "", "postgresql-16:old.db": "", "./postgres:shop.db": "", "a:b.db": "", "": "",

		"host=localhost dbname=shop": asURL, "service=shop": asURL, " host = h  port=1 ": asURL, `password=my\ secret/1 host=h`: asURL, "password=secret dbname=postgres://h/d": asURL,
		"postgresql//h/d": asURL, "postgres:/u:secret@h/d": asURL, "postgres:h/d": asURL, "postgresql:": asURL, "POSTGRES:/h": asURL,

		"mysql://u:secret@h/d": `"mysql://u:xxxxx@h/d"` + neither, "POSTGRES://u:secret@h/d": `"POSTGRES://u:xxxxx@h/d"` + neither, "sqlite:///shop.db": `"sqlite:///shop.db"` + neither,
	} {
		got := ""
		if err := config.CheckPath(db); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) || strings.Contains(got, "secret") {
			t.Errorf("CheckPath(%q) = %q, want %q without the secret", db, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{
		"petstore.db":                          "petstore.db",
		"postgres://u:p@h:5432/d?sslmode=none": "postgres://u:xxxxx@h:5432/d?sslmode=none",
		"postgres://h/d?user=u&Password=p":     "postgres://h/d?user=u&Password=xxxxx",
		"u:p@h:5432/d":                         "u:xxxxx@h:5432/d",
		"postgres://u@h:5432/d":                "postgres://u@h:5432/d",
		"shop@home.db":                         "shop@home.db",

		"postgres://app@db:5432/shop?password=pa@tail":              "postgres://xxxxx",
		"postgres://app@db:5432/shop?sslmode=a&sslpassword=pa@tail": "postgres://xxxxx",
		"postgres://app@db:5432/shop&password=pa@tail":              "postgres://xxxxx",
		"postgres://app@db:5432/shop;password=pa@tail":              "postgres://xxxxx",
		"postgres://db:5432/shop?password=pa@tail":                  "postgres://xxxxx",
		"postgres://db/shop?password=pa@tail":                       "postgres://xxxxx",
		"postgres://app@db:5432/shop?passwor%64=pa@tail":            "postgres://xxxxx",
		"postgres://app@db:5432/shop?a=b&%70assword=tail&c=d":       "postgres://app@db:5432/shop?a=b&%70assword=xxxxx&c=d",
		"postgres://u:tail&password=x@h/db":                         "postgres://xxxxx",
		"postgres://u:tail?x@h/db":                                  "postgres://xxxxx",
		"u:tail://x@h/db":                                           "u:xxxxx@h/db",
		"db:1?password=tail@x":                                      "xxxxx",
	} {
		if got := config.Redact(give); got != want {
			t.Errorf("Redact(%q) = %q, want %q", give, got, want)
		}
	}
}
