// Command manual writes the pages of the manual: manual DIR RELEASE DATE, the
// date in the form of RFC 3339.
package main

import (
	"fmt"
	"os"
	"time"

	"example.com/petstore/internal/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: manual DIR RELEASE DATE")
	}
	date, err := time.Parse(time.RFC3339, args[2])
	if err != nil {
		return err
	}
	return cli.WriteManual(args[0], args[1], date)
}
