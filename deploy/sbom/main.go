// Command sbom prints the bill of materials of a Go binary in the form of
// CycloneDX: sbom BINARY RELEASE DATE, the date in the form of RFC 3339.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: sbom BINARY RELEASE DATE")
	}
	b, err := read(args[0], args[1], args[2])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(b)
}
