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

// The catalogues are files in the format of petstore import. They never change: tests of
// clients rely on every byte of the answers.
//
//go:embed catalogues
var files embed.FS

// Catalogues are the names of the catalogues with which a sandbox can begin.
var Catalogues = []string{"demo", "empty", "large"}

// filled is the instant at which the stock of every catalogue was counted.
var filled = petstore.At(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))

// catalogues has functions that return the rows of each catalogue. They read the file
// at the first call.
var catalogues = map[string]func() ([]petstore.Unit, error){
	"demo":  sync.OnceValues(func() ([]petstore.Unit, error) { return read("demo") }),
	"empty": func() ([]petstore.Unit, error) { return nil, nil },
	"large": sync.OnceValues(func() ([]petstore.Unit, error) { return read("large") }),
}

// Catalogue returns the rows of a catalogue: the categories, and then the pets with their
// orders. Callers must not change them.
func Catalogue(name string) ([]petstore.Unit, error) {
	rows, there := catalogues[name]
	if !there {
		return nil, fmt.Errorf("there is no catalogue %.40q; there are demo, empty and large", name)
	}
	return rows()
}

func read(name string) (units []petstore.Unit, err error) {
	file, err := files.ReadFile("catalogues/" + name + ".ndjson")
	if err != nil {
		return nil, err
	}
	r, err := interchange.NewReader(bytes.NewReader(file), interchange.NDJSON)
	for err == nil {
		var e interchange.Entry
		if e, err = r.Next(); err == nil {
			_, err = e.Check(filled)
			units = append(units, e.Unit)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the catalogue %s: %w", name, err)
	}
	return units, nil
}
