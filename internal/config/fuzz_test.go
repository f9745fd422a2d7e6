package config_test

import (
	"net/url"
	"strings"
	"testing"

	"example.com/petstore/internal/config"
)

// FuzzRedact checks that nothing is left of a password, wherever in a URL it stands, and however it was mistyped.
func FuzzRedact(f *testing.F) {
	for _, seed := range [][2]string{
		{"postgres://u:", "@h:5432/d?sslmode=none"}, {"postgres://h/d?user=u&Password=", ""}, {"postgres://h/d?password=", ";x=1"}, {"postgres://h/d?password=", "%zz"}, {"postgres://h/d?sslpassword=", "&a=b"},
		{"postgres://u:12/", "@h/d"}, {"redis://:1?", "@h"}, {"redis://:1#", "@h"}, {"postgres://u:a@b/", "@h"}, {"REDIS://:", "@h"}, {"rediss://:%", "@h"}, {"postgres://u:1@h1,u:", "@h2/d"}, {"A:://:", "@"}, {"0/://:", "@"}, {"postgres://u@h:", "@g/d"},
		{"postgres://u@h:1/d?password=a@", ""}, {"postgres://h:1/d?a=b&sslpassword=a@", "&c=d"}, {"postgres://u@h:1/d?passwor%64=a@", ""}, {"postgres://u:", "&password=x@h/d"}, {"postgres://u:1&password=", "@h/d"},
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

// isSecret reports whether what stands between the two parts of a URL was meant as a password: between a colon and an @,
// or in a parameter whose name says so, escaped or not.
func isSecret(before, after string) bool {
	_, rest, ok := strings.Cut(before, "://")
	if !ok {
		return false
	}
	if strings.ContainsAny(rest, "?&") {
		name, _, ok := strings.Cut(rest[strings.LastIndex(rest, "&")+1:], "=")
		name = name[strings.LastIndex(name, "?")+1:]
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if ok && strings.Contains(strings.ToLower(name), "password") {
			return true
		}
	}
	return strings.Contains(rest, ":") && strings.Contains(after, "@")
}
