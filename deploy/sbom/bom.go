package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// A bom is a bill of materials in the form of CycloneDX 1.6, as far as we have
// use for it.
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Scope      string     `json:"scope,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// read returns the bill of materials of the Go binary at path: the modules that
// were linked into it, with the hashes of go.sum, and the standard library. The
// same binary, release and date give the same bill.
func read(path, release, date string) (bom, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return bom{}, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return bom{}, fmt.Errorf("%s: %w", path, err)
	}
	sum := sha256.Sum256(text)
	main := component{
		Ref: purl(info.Main.Path, release), Type: "application", Name: info.Main.Path, Version: release,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}, Properties: settings(info),
	}
	b := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
		Format: "CycloneDX", SpecVersion: "1.6", SerialNumber: serial(sum), Version: 1,
		Metadata: metadata{Timestamp: date, Component: main},
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = append(b.Components, component{Ref: purl("std", version), Type: "library", Name: "std", Version: version, PURL: purl("std", version), Scope: "required"})
	for _, m := range info.Deps {
		c, err := library(m)
		if err != nil {
			return bom{}, err
		}
		b.Components = append(b.Components, c)
	}
	slices.SortFunc(b.Components, func(x, y component) int { return cmp.Compare(x.Ref, y.Ref) })
	all := make([]string, len(b.Components))
	for i, c := range b.Components {
		all[i] = c.Ref
	}
	b.Dependencies = []dependency{{main.Ref, all}}
	return b, nil
}

// library returns the entry of a module. The hash of go.sum is a SHA-256 over
// the hashes of the module's files.
func library(m *debug.Module) (component, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	c := component{Ref: purl(m.Path, m.Version), Type: "library", Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version), Scope: "required"}
	text, ok := strings.CutPrefix(m.Sum, "h1:")
	if !ok {
		return c, fmt.Errorf("the module %s has no hash", m.Path)
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return c, fmt.Errorf("the hash of %s: %w", m.Path, err)
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	return c, nil
}

// settings returns how the binary was built.
func settings(info *debug.BuildInfo) []property {
	all := []property{{"petstore:build:go", info.GoVersion}}
	for _, s := range info.Settings {
		if s.Key != "-ldflags" && !strings.HasPrefix(s.Key, "vcs") {
			all = append(all, property{"petstore:build:" + s.Key, s.Value})
		}
	}
	return all
}

// purl returns the package URL of a module.
func purl(module, version string) string {
	return "pkg:golang/" + module + "@" + url.QueryEscape(version)
}

// serial returns a URN that differs where the binary does: a UUID of version 8,
// whose bits are ours to choose (RFC 9562 §5.8).
func serial(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
