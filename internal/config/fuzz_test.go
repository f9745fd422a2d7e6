package config_test

import (
	"errors"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"example.com/petstore/internal/config"
)

// FuzzSettings gives any text to any setting. Its fault is one line that names the variable, and shows no password; and
// what is taken says of itself what gives the same configuration again.
func FuzzSettings(f *testing.F) {
	names := config.New().Settings()
	for _, seed := range []string{
		"127.0.0.1:8080", "[::1]:0", "off", ":65536", "https://pets.example/v1/", "HTTPS://h", "https://h/?", "https://h#", "https://h/a b<c>", "2030-12-05T00:00:00.5+23:59",
		"0000-01-01T00:00:00+01:00", "10.1.2.3/8, 2001:db8::1", "::ffff:10.0.0.0/104", "postgres://u:p@h/d", "redis://:p@h", "-1s", "1h2m3.5s", "9223372036854775807ns", "+7", "007", "Debug",
	} {
		for i := range names {
			f.Add(uint8(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		name := names[int(which)%len(names)].Name
		first, err := loadOne(name, text)
		if err != nil {
			fault, ok := errors.AsType[*config.Fault](err)
			if !ok || string(fault.Origin) != config.EnvName(name) || strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%s=%q: %q, want one line that begins with %s", name, text, err, config.EnvName(name))
			}
			return
		}
		if name == "db" || name == "redis" {
			return // what they say of themselves lacks the password
		}
		value := valueOf(first, name)
		second, err := loadOne(name, value)
		if diff := cmp.Diff(first, second, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); err != nil || diff != "" {
			t.Errorf("%s=%q says that it is %q, which is %v\n%s", name, text, value, err, diff)
		}
		checkBase(t, first.BaseURL)
		for _, p := range first.TrustedProxies {
			if p.Addr().Is4In6() && p.Bits() >= 96 {
				t.Errorf("%s=%q is the block %v, in which no caller is", name, text, p)
			}
		}
	})
}

// loadOne returns the configuration of one variable.
func loadOne(name, text string) (*config.Config, error) {
	c, flags := config.New(), pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.Register(flags)
	_, err := c.Load(flags, func(asked string) string {
		if asked == config.EnvName(name) {
			return text
		}
		return ""
	})
	return c, err
}

func valueOf(c *config.Config, name string) string {
	for _, s := range c.Settings() {
		if s.Name == name {
			return s.Value()
		}
	}
	return ""
}

// checkBase checks that paths and queries can be put behind a base URL, and the whole into a header.
func checkBase(t *testing.T, base string) {
	t.Helper()
	if base == "" {
		return
	}
	u, err := url.Parse(base + "/pets?limit=1")
	if err != nil || u.Hostname() == "" || !strings.HasSuffix(u.Path, "/pets") || u.RawQuery != "limit=1" || u.User != nil {
		t.Errorf("below the base URL %q the pets are at %+v, %v", base, u, err)
	}
	if strings.ContainsFunc(base, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.ContainsAny(base, `<>"`) {
		t.Errorf("the base URL is %q, which cannot stand in a header", base)
	}
}

// FuzzFile reads any text as a configuration. What is wrong with it is said in one line with the file's name; and what is
// set is in the file, under its name, once.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "# nothing\n", "db: x\nlog-level: debug\n", "trusted-proxies: [10.0.0.0/8, \"2001:db8::1\"]\n", "a: &a [*a]\n", "\"a\\nb\": x\n", "\"db\\n\": x\n\"db\\n\": y\n",
		"db: x\n---\naddr: y\n", "db: x\n...\nrubbish: [\n", "? [a, b]\n: c\n", "<<: {db: x}\n", "db: !!binary aGk=\n", "ban-max: 48h\nban-first: 72h\n", "\xef\xbb\xbfdb: x\n", "{db: x, addr: :1}",
		"{\"\\u2028x\": null}", "db: |\n  a\n  b\n", "drain-delay: 1s\ndrain-delay : 2s\n",
	} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "petstore.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, flags := config.New(), pflag.NewFlagSet("test", pflag.ContinueOnError)
		flags.String(config.FileFlag, "", "")
		c.Register(flags)
		if err := flags.Parse([]string{"--config=" + path}); err != nil {
			t.Fatal(err)
		}
		origins, err := c.Load(flags, func(string) string { return "" })
		if err != nil {
			if got := err.Error(); !strings.HasPrefix(got, path) || strings.ContainsAny(got, "\n\r") || len(got) > 2000 {
				t.Errorf("%q: %q, want one line, not too long, that begins with the file", text, got)
			}
			return
		}
		for _, s := range c.Settings() {
			if origin := string(origins.Of(s.Name)); strings.HasPrefix(origin, path+":") && !strings.ContainsAny(text, "\\") && !strings.Contains(text, s.Name) {
				t.Errorf("%q: %s is set from %s", text, s.Name, origin)
			}
		}
		documents := yaml.NewDecoder(strings.NewReader(text))
		for n := 0; documents.Decode(new(yaml.Node)) == nil; n++ {
			if n > 0 {
				t.Errorf("%q: only the first of several documents is read", text)
			}
		}
	})
}

// FuzzRedact checks that nothing is left of a password, wherever in a URL it stands, and however it was mistyped.
func FuzzRedact(f *testing.F) {
	for _, seed := range [][2]string{
		{"postgres://u:", "@h:5432/d?sslmode=none"}, {"postgres://h/d?user=u&Password=", ""}, {"postgres://h/d?password=", ";x=1"}, {"postgres://h/d?password=", "%zz"}, {"postgres://h/d?sslpassword=", "&a=b"},
		{"postgres://u:12/", "@h/d"}, {"redis://:1?", "@h"}, {"redis://:1#", "@h"}, {"postgres://u:a@b/", "@h"}, {"REDIS://:", "@h"}, {"rediss://:%", "@h"}, {"postgres://u:1@h1,u:", "@h2/d"}, {"A:://:", "@"}, {"0/://:", "@"},
	} {
		f.Add(seed[0], seed[1])
	}
	const secret = "hunter2"
	f.Fuzz(func(t *testing.T, before, after string) {
		text := before + secret + after
		if !isSecret(before, after) {
			return
		}
		if got := config.Redact(text); strings.Contains(got, secret) {
			t.Errorf("Redact(%q) = %q", text, got)
		}
	})
}

// isSecret reports whether what stands between the two parts of a URL was meant as a password: between a colon and an @
// with nothing but the user before the colon, or behind a parameter's name that says so.
func isSecret(before, after string) bool {
	_, rest, ok := strings.Cut(before, "://")
	if !ok {
		return false
	}
	if i := strings.LastIndexAny(rest, "?&"); i >= 0 && strings.Contains(rest[:i+1], "?") {
		name, value, ok := strings.Cut(rest[i+1:], "=")
		if ok && value == "" && strings.Contains(strings.ToLower(name), "password") && !strings.Contains(name, "#") {
			return true
		}
	}
	user, _, ok := strings.Cut(rest, ":")
	return ok && !strings.ContainsAny(user, "/?#@[") && !strings.Contains(rest, "@") && strings.Contains(after, "@")
}
