package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra/doc"

	"example.com/petstore/internal/config"
)

// WriteManual writes a page of the manual, section 1, into dir for each command.
// The same release and date give the same pages.
func WriteManual(dir, release string, date time.Time) error {
	a := &app{in: nil, out: io.Discard, err: io.Discard, getenv: func(string) string { return "" }, now: time.Now, config: config.New()}
	root := a.root()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{
		Title: "PETSTORE", Section: "1", Date: &date, Source: "Petstore " + release, Manual: "Petstore Manual",
	}, dir)
}
