package config_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/processtest"
)

var update = flag.Bool("update", false, "write the page of all settings, docs/configuration.md")

// TestReference compares the page of all settings with what the settings say.
func TestReference(t *testing.T) {
	t.Parallel()
	const file = "../../docs/configuration.md"
	intro, err := os.ReadFile("testdata/reference.md")
	processtest.Must(t, err)
	want := reference(t, string(intro))
	if *update {
		processtest.Must(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	processtest.Must(t, err)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/configuration.md is not what go generate ./internal/config makes (-want +got):\n%s", diff)
	}
}

// reference returns the page: every setting under its section, in the order in which they are explained everywhere.
func reference(t *testing.T, intro string) string {
	t.Helper()
	sections := map[string]string{ // the titles, by the first setting
		"addr": "Listeners and TLS", "max-connections": "Connections", "base-url": "The API", "db": "Data", "event-retention": "Events and webhooks",
		"redis": "Counting requests together", "log-level": "Log", "drain-delay": "Stopping", "sandbox": "Sandboxes", "backup-every": "Backups", "ban-strikes": "Bans and limits",
	}
	setting := regexp.MustCompile(`--[a-z-]+`)
	var b, contents strings.Builder
	for _, s := range config.New().Settings() {
		if title, ok := sections[s.Name]; ok {
			fmt.Fprintf(&b, "\n## %s\n", title)
			fmt.Fprintf(&contents, "- [%s](#%s)\n", title, strings.ReplaceAll(strings.ToLower(title), " ", "-"))
			delete(sections, s.Name)
		}
		usage := strings.ToUpper(s.Usage[:1]) + setting.ReplaceAllString(s.Usage[1:], "[`$0`](#$0)")
		byDefault := "not set by default"
		if v := s.Value(); v != "" {
			byDefault = "default `" + v + "`"
		}
		fmt.Fprintf(&b, "\n### `--%s`\n\n%s.\n\nVariable `%s`, %s.\n", s.Name, usage, config.EnvName(s.Name), byDefault)
	}
	if len(sections) > 0 {
		t.Errorf("sections begin with settings that do not exist: %v", sections)
	}
	return strings.Replace(intro, "CONTENTS\n", contents.String()+"\n", 1) + b.String()
}
