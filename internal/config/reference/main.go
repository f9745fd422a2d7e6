// Command reference writes docs/configuration.md, the page of all settings:
// reference FILE.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"strings"

	"example.com/petstore/internal/config"
)

//go:embed intro.txt
var intro string

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reference FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(page()), 0o644); err != nil { //nolint:gosec // a page for everybody
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// A section is a heading before the first of its settings.
type section struct{ first, title string }

func sections() []section {
	return []section{
		{"addr", "Listeners and TLS"},
		{"max-connections", "Connections"},
		{"base-url", "The API"},
		{"db", "Data"},
		{"event-retention", "Events and webhooks"},
		{"redis", "Counting requests together"},
		{"log-level", "Log"},
		{"drain-delay", "Stopping"},
		{"sandbox", "Sandboxes"},
		{"backup-every", "Backups"},
		{"ban-strikes", "Bans and limits"},
	}
}

// page returns the page: every setting under its section, in the order in which
// they are explained everywhere.
func page() string {
	var b, contents strings.Builder
	for _, s := range config.New().Settings() {
		for _, heading := range sections() {
			if heading.first == s.Name {
				fmt.Fprintf(&b, "\n## %s\n", heading.title)
				fmt.Fprintf(&contents, "- [%s](#%s)\n", heading.title, strings.ReplaceAll(strings.ToLower(heading.title), " ", "-"))
			}
		}
		fmt.Fprintf(&b, "\n### `--%s`\n\n%s\n\n", s.Name, sentence(s.Usage))
		fmt.Fprintf(&b, "Variable `%s`, %s.\n", config.EnvName(s.Name), byDefault(s.Value()))
	}
	return strings.Replace(intro, "CONTENTS\n", contents.String()+"\n", 1) + b.String()
}

func byDefault(value string) string {
	if value == "" {
		return "not set by default"
	}
	return "default `" + value + "`"
}

// flag matches another setting in a text.
var flag = regexp.MustCompile(`--[a-z-]+`)

// sentence returns the usage of a setting as a sentence.
func sentence(usage string) string {
	text := strings.ToUpper(usage[:1]) + usage[1:]
	return flag.ReplaceAllStringFunc(text, func(name string) string { return "[`" + name + "`](#" + name + ")" }) + "."
}
