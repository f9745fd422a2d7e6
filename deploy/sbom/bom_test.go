package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestRead reads the bill of this test's own binary.
func TestRead(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := read(self, "v1.2.3", "2026-11-21T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.SpecVersion != "1.6" || b.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("read(self) = %+v, want CycloneDX 1.6 of v1.2.3", b)
	}
	urn := regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if !urn.MatchString(b.SerialNumber) {
		t.Errorf("the serial number is %s, want a UUID of version 8", b.SerialNumber)
	}
	if len(b.Components) == 0 || !strings.HasPrefix(b.Components[0].PURL, "pkg:golang/std@1.") {
		t.Errorf("the components are %+v, want the standard library among them", b.Components)
	}
	again, err := read(self, "v1.2.3", "2026-11-21T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(b, again) {
		t.Error("two readings of the same binary differ")
	}
}

func TestReadOfNoBinary(t *testing.T) {
	t.Parallel()
	if _, err := read("bom.go", "v1", ""); err == nil || !strings.Contains(err.Error(), "bom.go") {
		t.Errorf("read(bom.go) = %v, want an error that names the file", err)
	}
}
