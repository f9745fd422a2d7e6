package main

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/config"
)

func TestPageIsGenerated(t *testing.T) {
	t.Parallel()
	got, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page(), string(got)); diff != "" {
		t.Errorf("docs/configuration.md is not what go generate ./internal/config makes (-want +got):\n%s", diff)
	}
}

func TestSectionsBeginWithSettings(t *testing.T) {
	t.Parallel()
	settings := config.New().Settings()
	for _, s := range sections() {
		if !slices.ContainsFunc(settings, func(one config.Setting) bool { return one.Name == s.first }) {
			t.Errorf("the section %q begins with the setting %q, which does not exist", s.title, s.first)
		}
	}
}
