// Package interchange exports and imports workspaces as NDJSON, which contains
// everything, and as CSV of the pets, for spreadsheets. It reads and writes streams in
// bounded memory, except for the ids and categories of a CSV, and stores units in
// batches. It opens neither files nor databases: package cli does.
package interchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"example.com/petstore/internal/petstore"
)

// A Format is a format of files.
type Format string

// The formats.
const (
	NDJSON Format = "ndjson" // a JSON text on each line: everything in a workspace
	CSV    Format = "csv"    // RFC 4180: id, name, category, status and stock of the pets, and the version of each
)

// FormatOf returns the format of a file by the extension of its name: .ndjson or
// .jsonl, .csv, .tsv or .txt.
func FormatOf(name string) (Format, error) {
	switch strings.ToLower(path.Ext(name)) {
	case ".ndjson", ".jsonl":
		return NDJSON, nil
	case ".csv", ".tsv", ".txt":
		return CSV, nil
	}
	return "", fmt.Errorf("the name %q does not end in .ndjson or .csv; say --format ndjson or csv", name)
}

// Version is the version of the NDJSON format that this package writes, and the
// newest that it reads.
const Version = 1

// Bounds of what is read.
const (
	maxLine    = 1 << 20 // bytes of a line of NDJSON
	maxRecord  = 1 << 17 // bytes of a record of CSV, whose cells take much more memory
	maxColumns = 1000    // of CSV
)

// A Reader reads the units of a stream. Names are not normalized and rules are not
// checked yet: see [petstore.Unit.Check].
type Reader interface {
	// Next returns the next unit. It returns io.EOF at the end, and a *Fault for
	// anything that is not a unit; unless the fault is final, the next call continues
	// after it.
	Next() (Entry, error)

	// Last returns the greatest ids that were issued, according to the stream. It is
	// valid after the first call of Next.
	Last() petstore.LastIDs
}

// NewReader returns a reader of the format. It returns a *Fault if the stream does not
// begin like a file of the format. The text is UTF-8, or UTF-16 if it begins with a byte
// order mark that says so. The columns of CSV in ignore are left out.
func NewReader(from io.Reader, f Format, ignore ...string) (Reader, error) {
	buffered := bufio.NewReader(from)
	mark, _ := buffered.Peek(2) // the next read returns the error too
	utf16 := string(mark) == "\xfe\xff" || string(mark) == "\xff\xfe"
	text := transform.NewReader(buffered, unicode.BOMOverride(transform.Nop))
	if f == CSV {
		return newCSVReader(text, utf16, ignore)
	}
	return newNDJSONReader(text, utf16)
}

// An Entry is a unit with the lines that it was read from, or, in CSV, an edit of an
// existing pet.
type Entry struct {
	petstore.Unit
	Edit      *Edit  // if set, the unit is the change that carries it out
	Line      int    // the first one
	category  string // the name of a new pet's category, in CSV
	orders    []int
	movements []int
}

// lineOf returns the line of a row of the unit.
func (e *Entry) lineOf(p petstore.Place) int {
	switch {
	case p.Order > 0 && p.Order <= len(e.orders):
		return e.orders[p.Order-1]
	case p.Movement > 0 && p.Movement <= len(e.movements):
		return e.movements[p.Movement-1]
	}
	return e.Line
}

// through returns the last line of the entry.
func (e *Entry) through() int {
	return max(e.Line, slices.Max(append(e.orders, 0)), slices.Max(append(e.movements, 0)))
}

// rows returns how many rows the unit has in the store.
func (e *Entry) rows() int { return 1 + len(e.Orders) + len(e.Movements) }

// A Fault is a mistake in a stream.
type Fault struct {
	Line   int    `json:"line"`
	Reason string `json:"message"` // at most petstore.MaxText bytes
	Final  bool   `json:"-"`       // nothing after it can be read
}

// Error returns the line and the reason.
func (f *Fault) Error() string { return fmt.Sprintf("%d: %s", f.Line, f.Reason) }

// faultf returns a fault whose reason has at most petstore.MaxText bytes, whatever it quotes.
func faultf(line int, format string, args ...any) *Fault {
	return &Fault{Line: line, Reason: petstore.Shorten(fmt.Sprintf(format, args...), petstore.MaxText)}
}

// quoted returns text of a file in quotation marks. It cuts long text, so that it does not
// fill a reason.
func quoted(text string) string {
	const most = 40
	return petstore.Shorten(strconv.Quote(petstore.Shorten(text, most)), most+len(`""`))
}

func finalf(line int, format string, args ...any) *Fault {
	f := faultf(line, format, args...)
	f.Final = true
	return f
}

// final makes a fault final.
func final(err error) error {
	if f, ok := errors.AsType[*Fault](err); ok {
		f.Final = true
	}
	return err
}

// damaged returns the fault for a line that was UTF-16 and has U+FFFD, which its decoder writes for what it cannot read.
func damaged(line int) *Fault {
	return faultf(line, "a character is damaged: it is U+FFFD, or half of one in UTF-16")
}

// asFault returns err as a fault of a line, in the words for a client.
func asFault(line int, err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if e, ok := errors.AsType[*petstore.Error](err); ok {
		return faultf(line, "%s", e.Message)
	}
	return faultf(line, "%v", err)
}

// readFault returns the error of a stream that cannot be read further.
func readFault(line int, err error) error {
	return fmt.Errorf("line %d: reading failed: %w", line, err)
}
