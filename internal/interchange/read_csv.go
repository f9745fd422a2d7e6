package interchange

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
)

type csvReader struct {
	in      *csv.Reader
	bound   *bound
	utf16   bool // the file is UTF-16
	columns layout
	edited  map[int64]int // the line of each edit, by the pet's id
	line    int           // of the record that was read last
}

func newCSVReader(from io.Reader, utf16 bool, ignore []string) (Reader, error) {
	buffered := bufio.NewReader(from)
	start, _ := buffered.Peek(4096) // the next read returns the error too
	if bytes.IndexByte(start, 0) >= 0 {
		return nil, finalf(1, "the file is UTF-16 without a byte order mark, or UTF-32; save it in UTF-8 (in a spreadsheet: CSV UTF-8)")
	}
	if at := bytes.IndexByte(start, '\r'); at >= 0 && at+1 < len(start) && !bytes.Contains(start, []byte("\n")) {
		buffered = bufio.NewReader(crReader{buffered})
		start, _ = buffered.Peek(4096)
	}
	comma, said := separatorOf(start)
	r := &csvReader{bound: &bound{from: buffered}, utf16: utf16, edited: map[int64]int{}}
	r.in = csv.NewReader(r.bound)
	r.in.Comma = comma
	r.in.FieldsPerRecord = -1
	r.in.ReuseRecord = true
	header, err := r.record()
	if said && err == nil { // it was the declaration of the separator
		header, err = r.record()
	}
	if errors.Is(err, io.EOF) {
		return nil, finalf(1, "the file is empty")
	}
	if err != nil {
		return nil, final(err)
	}
	r.columns, err = layoutOf(header, r.line, ignore)
	return r, err
}

// A crReader reads a file whose lines end with CR alone, and replaces CR with LF.
type crReader struct{ from io.Reader }

// Read implements io.Reader.
func (r crReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// Last implements [Reader]; CSV has no ids.
func (r *csvReader) Last() petstore.LastIDs { return petstore.LastIDs{} }

// Next implements [Reader].
func (r *csvReader) Next() (Entry, error) {
	record, err := r.record()
	if err != nil {
		return Entry{}, err
	}
	return r.entry(record)
}

// record reads a record that is not blank.
func (r *csvReader) record() ([]string, error) {
	for {
		r.bound.left = maxRecord
		cells, err := r.in.Read()
		if err != nil {
			return nil, r.fault(err)
		}
		r.line, _ = r.in.FieldPos(0)
		switch {
		case len(cells) > maxColumns:
			return nil, finalf(r.line, "the line has more than %d columns", maxColumns)
		case !blank(cells):
			return cells, r.valid(cells)
		}
	}
}

// blank reports whether all cells of a row are empty.
func blank(cells []string) bool {
	for _, cell := range cells {
		if strings.TrimSpace(cell) != "" {
			return false
		}
	}
	return true
}

// valid returns a fault if the text of the last record could not be read.
func (r *csvReader) valid(cells []string) error {
	for _, cell := range cells {
		if r.utf16 && strings.ContainsRune(cell, utf8.RuneError) {
			return damaged(r.line)
		}
		if !utf8.ValidString(cell) {
			return finalf(r.line, "the text is not UTF-8, but Windows-1252 or the like; save the file in UTF-8 (in a spreadsheet: CSV UTF-8)")
		}
	}
	return nil
}

// fault returns the fault for an error of encoding/csv.
func (r *csvReader) fault(err error) error {
	if errors.Is(err, errLong) {
		return finalf(r.line+1, "the record that begins here has more than %d bytes; is a quotation mark missing?", maxRecord)
	}
	parse, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case errors.Is(err, io.EOF) && !ok:
		return io.EOF
	case !ok:
		return readFault(r.line+1, err)
	case errors.Is(err, csv.ErrBareQuote):
		return faultf(parse.Line, `column %d: a quotation mark within a cell must be doubled, and the cell quoted: "say ""hi"""`, parse.Column)
	case parse.StartLine != parse.Line || errors.Is(err, csv.ErrQuote):
		return faultf(parse.StartLine, "a quoted cell is not closed properly (found out at line %d)", parse.Line)
	}
	return faultf(parse.Line, "%v", parse.Err)
}

// entry returns the new pet, or the edit, of a record.
func (r *csvReader) entry(record []string) (Entry, error) {
	if column, found := r.columns.stray(record); found {
		return Entry{}, faultf(r.line, "column %d: %s stands in a column without a name; are there too many separators?", column, quoted(record[column-1]))
	}
	cell := func(column string) string { return strings.TrimSpace(r.columns.text(record, column)) }
	name := func(column string) string {
		text := r.columns.text(record, column)
		if trimmed := strings.TrimSpace(text); r.columns.spaced || trimmed == "" {
			text = trimmed
		}
		return strings.Clone(text)
	}
	e := &Edit{Name: name("name"), Category: name("category")}
	var add *int64
	if err := cmp.Or(
		r.id(cell("id"), &e.ID), r.version(cell("version"), e), r.units("stock", cell("stock"), 0, &e.Stock),
		r.units("add", cell("add"), -petstore.MaxQuantity, &add), r.status(cell("status"), &e.Status),
	); err != nil {
		return Entry{}, err
	}
	if add != nil && e.setsStock() {
		return Entry{}, faultf(r.line, "stock and add are both given; stock says how many there are, and add how many came or went")
	}
	if e.ID == 0 {
		return r.newPet(e, add)
	}
	if add != nil {
		e.Add = *add
	}
	if before := r.edited[e.ID]; before > 0 {
		return Entry{}, faultf(r.line, "id: the pet %d is already in line %d; give it one row", e.ID, before)
	}
	r.edited[e.ID] = r.line
	return Entry{Line: r.line, Edit: e}, nil
}

// unnamed stands for the category of a new pet until Import.next finds it.
var unnamed = new(petstore.Category)

// newPet returns the entry of a row without an id. add is what it adds to the stock, of which there is none yet, or nil.
func (r *csvReader) newPet(e *Edit, add *int64) (Entry, error) {
	switch {
	case !r.columns.has("name") || !r.columns.has("category"):
		return Entry{}, faultf(r.line, "a row without an id is a new pet, which needs the columns name and category")
	case e.Category == "":
		return Entry{}, faultf(r.line, "category: a new pet needs one")
	case add != nil && *add < 0:
		return Entry{}, faultf(r.line, "add: %+d to a pet that has no stock yet", *add)
	case add != nil:
		e.Stock = add
	}
	p := &petstore.StockedPet{Pet: petstore.Pet{Name: e.Name, Status: e.Status}}
	stock, err := p.Begin(e.Stock)
	if err != nil {
		return Entry{}, asFault(r.line, err)
	}
	p.Quantity = stock
	return Entry{Line: r.line, category: e.Category, Unit: petstore.Unit{Pet: p, In: unnamed}}, nil
}

// id reads the id of a pet, unless the cell is empty.
func (r *csvReader) id(cell string, id *int64) (err error) {
	if cell == "" {
		return nil
	}
	if *id, err = strconv.ParseInt(cell, 10, 64); err != nil || *id < 1 || *id > petstore.MaxID {
		return faultf(r.line, "id: %s is not the id of a pet; leave the cell empty for a new one", quoted(cell))
	}
	return nil
}

// version reads the version of a pet's row, unless the cell is empty or the pet is new.
func (r *csvReader) version(cell string, e *Edit) error {
	if cell == "" || e.ID == 0 {
		return nil
	}
	var ok bool
	if e.was, ok = parseVersion(cell, e.ID); !ok {
		return faultf(r.line, "version: %s is not that of the pet %d; leave it as it was exported, or empty", quoted(cell), e.ID)
	}
	return nil
}

// status reads the cell status, unless it is empty. The result does not share memory with the cell.
func (r *csvReader) status(cell string, status *petstore.Status) error {
	for _, known := range petstore.Statuses() {
		if strings.EqualFold(cell, string(known)) {
			*status = known
			return nil
		}
	}
	if cell != "" {
		return faultf(r.line, "status: %s is none of available, pending and sold", quoted(cell))
	}
	return nil
}

// units reads a number of units of at least least, such as 5, or +5 and -2 if it may be negative, unless the cell is empty.
func (r *csvReader) units(column, cell string, least int64, units **int64) error {
	if cell == "" {
		return nil
	}
	n, err := strconv.ParseInt(cell, 10, 64)
	switch {
	case least == 0 && strings.ContainsAny(cell[:1], "+-"):
		return faultf(r.line, "%s: %s has a sign; stock says how many there are, and the column add how many came or went", column, quoted(cell))
	case errors.Is(err, strconv.ErrRange), err == nil && (n < least || n > petstore.MaxQuantity):
		return faultf(r.line, "%s: must be between %d and %d", column, least, petstore.MaxQuantity)
	case err != nil:
		return faultf(r.line, "%s: %s is not a whole number", column, quoted(cell))
	}
	*units = &n
	return nil
}

var errLong = errors.New("the record is too long")

// A bound limits the bytes that are read for a record and the blank lines before it, since
// encoding/csv does not.
type bound struct {
	from io.Reader
	left int
}

// Read implements io.Reader.
func (b *bound) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.from.Read(p)
	b.left -= n
	return n, err
}
