// Command manual writes the pages of the manual: manual DIR RELEASE DATE, the
// date in the form of RFC 3339.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra/doc"

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
	root := cli.Root()
	root.DisableAutoGenTag = true // the same release and date give the same pages
	return doc.GenManTree(root, &doc.GenManHeader{
		Title: "PETSTORE", Section: "1", Date: &date, Source: "Petstore " + args[1], Manual: "Petstore Manual",
	}, args[0])
}
