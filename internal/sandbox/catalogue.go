package sandbox

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
)

// The catalogues are files that petstore import takes. They never change: tests of others
// rely on each byte of what they lead to.
//
//go:embed catalogues
var files embed.FS

// Catalogues are the names of the states in which a sandbox can begin.
var Catalogues = []string{"demo", "empty", "large"}

// filled is the instant at which the stock of every catalogue was counted.
var filled = petstore.At(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))

var catalogues = sync.OnceValues(func() (map[string][]petstore.Unit, error) {
	all := map[string][]petstore.Unit{"empty": nil}
	for _, name := range []string{"demo", "large"} {
		file, err := files.ReadFile("catalogues/" + name + ".ndjson")
		if err == nil {
			all[name], err = read(file)
		}
		if err != nil {
			return nil, fmt.Errorf("the catalogue %s: %w", name, err)
		}
	}
	return all, nil
})

// Catalogue returns the rows of a catalogue, which nobody changes: the categories, and then
// the pets with their orders.
func Catalogue(name string) ([]petstore.Unit, error) {
	all, err := catalogues()
	if err != nil {
		return nil, err
	}
	rows, there := all[name]
	if !there {
		return nil, fmt.Errorf("there is no catalogue %.40q; there are demo, empty and large", name)
	}
	return rows, nil
}

func read(file []byte) (units []petstore.Unit, err error) {
	r, err := interchange.NewReader(bytes.NewReader(file), interchange.NDJSON, interchange.Options{})
	for err == nil {
		var e interchange.Entry
		if e, err = r.Next(); err == nil {
			_, err = e.Check(filled)
			units = append(units, e.Unit)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return units, err
}
