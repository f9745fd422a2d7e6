package interchange

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
)

type csvReader struct {
	from    int
	in      *csv.Reader
	guard   *guard
	columns layout
	edited  map[int64]int // the line of each edit, by the pet's id
	line    int           // of the record that was read last
}

func newCSVReader(from io.Reader, o Options) (Reader, error) {
	buffered := bufio.NewReaderSize(from, 1<<16)
	if err := skipMark(buffered); err != nil {
		return nil, err
	}
	start, _ := buffered.Peek(4096) // the next read returns the error too
	if bytes.IndexByte(start, 0) >= 0 {
		return nil, notUTF16()
	}
	if at := bytes.IndexByte(start, '\r'); at >= 0 && at+1 < len(start) && !bytes.Contains(start, []byte("\n")) {
		buffered = bufio.NewReaderSize(crReader{buffered}, 1<<16)
		start, _ = buffered.Peek(4096)
	}
	comma, said := separatorOf(start)
	r := &csvReader{from: o.FromLine, guard: &guard{from: buffered, comma: []byte(string(comma))}, edited: map[int64]int{}}
	r.in = csv.NewReader(r.guard)
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
	r.columns, err = layoutOf(header, r.line, o.Ignore)
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
	for {
		cells, err := r.record()
		if f, ok := errors.AsType[*Fault](err); ok && !f.Final && f.Line < r.from {
			continue
		}
		if err != nil {
			return Entry{}, err
		}
		if r.line >= r.from {
			return r.entry(cells)
		}
	}
}

// record reads a record that is not blank.
func (r *csvReader) record() ([]string, error) {
	for {
		r.guard.next()
		cells, err := r.in.Read()
		if err != nil {
			return nil, r.fault(err)
		}
		r.line, _ = r.in.FieldPos(0)
		if !blank(cells) {
			return cells, valid(cells, r.line)
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

func valid(cells []string, line int) error {
	for _, cell := range cells {
		if !utf8.ValidString(cell) {
			return finalf(line, "the text is not UTF-8, but Windows-1252 or the like; save the file in UTF-8 (in a spreadsheet: CSV UTF-8)")
		}
	}
	return nil
}

// fault returns the fault for an error of encoding/csv.
func (r *csvReader) fault(err error) error {
	if errors.Is(err, errLong) {
		return finalf(r.line+1, "the record that begins here has more than %d bytes; is a quotation mark missing?", maxRecord)
	}
	if errors.Is(err, errWide) {
		return tooWide(r.line + 1)
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

func tooWide(line int) *Fault { return finalf(line, "the line has more than %d columns", maxColumns) }

// entry returns the new pet, or the edit, of a record. Cells that are missing at its end are empty.
func (r *csvReader) entry(cells []string) (Entry, error) {
	if column, found := r.columns.stray(cells); found {
		return Entry{}, faultf(r.line, "column %d: %s stands in a column without a name; are there too many separators?", column, quoted(cells[column-1]))
	}
	text := func(i int) string {
		if i < 0 || i >= len(cells) {
			return ""
		}
		return cells[i]
	}
	cell := func(i int) string { return strings.TrimSpace(Unescape(text(i))) }
	name := func(i int) string {
		if trimmed := cell(i); r.columns.spaced || trimmed == "" {
			return strings.Clone(trimmed)
		}
		return strings.Clone(Unescape(text(i)))
	}
	if id := cell(r.columns.id); id != "" {
		return r.edit(id, cell, name)
	}
	if r.columns.name < 0 || r.columns.category < 0 {
		return Entry{}, faultf(r.line, "a row without an id is a new pet, which needs the columns name and category")
	}
	stock, add := cell(r.columns.stock), cell(r.columns.add)
	if stock != "" && add != "" {
		return Entry{}, r.both()
	}
	pet, err := r.pet(cell(r.columns.status), stock, add)
	if err != nil {
		return Entry{}, err
	}
	pet.Name = name(r.columns.name)
	category := name(r.columns.category)
	if category == "" {
		return Entry{}, faultf(r.line, "category: a new pet needs one")
	}
	return Entry{Line: r.line, category: category, Unit: petstore.Unit{Pet: pet, In: unnamed}}, nil
}

// unnamed stands for the category of a new pet until findCategories finds it.
var unnamed = new(petstore.Category)

// both returns the fault of a row that sets the stock and adds to it.
func (r *csvReader) both() error {
	return faultf(r.line, "stock and add are both given; stock says how many there are, and add how many came or went")
}

// edit reads a record with the id of a pet.
func (r *csvReader) edit(id string, cell, name func(int) string) (Entry, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 || n > petstore.MaxID {
		return Entry{}, faultf(r.line, "id: %s is not the id of a pet; leave the cell empty for a new one", quoted(id))
	}
	if before := r.edited[n]; before > 0 {
		return Entry{}, faultf(r.line, "id: the pet %d is already in line %d; give it one row", n, before)
	}
	r.edited[n] = r.line
	e := &Edit{ID: n, Name: name(r.columns.name), Category: name(r.columns.category)}
	if text := cell(r.columns.version); text != "" {
		was, ok := parseVersion(text, n)
		if !ok {
			return Entry{}, faultf(r.line, "version: %s is not that of the pet %d; leave it as it was exported, or empty", quoted(text), n)
		}
		e.was = was
	}
	if stock := cell(r.columns.stock); stock != "" {
		quantity, err := r.quantity(stock)
		if err != nil {
			return Entry{}, err
		}
		e.Stock = &quantity
	}
	if e.Add, err = r.addition(cell(r.columns.add)); err != nil {
		return Entry{}, err
	}
	if cell(r.columns.add) != "" && e.setsStock() {
		return Entry{}, r.both()
	}
	if status := cell(r.columns.status); status != "" {
		if e.Status = statusIn(status); !e.Status.Valid() {
			return Entry{}, r.noStatus(status)
		}
	}
	return Entry{Line: r.line, Edit: e}, nil
}

// statusIn returns the status that a cell names, or an invalid one. The result does not
// share memory with the cell.
func statusIn(cell string) petstore.Status {
	for _, known := range petstore.Statuses() {
		if strings.EqualFold(cell, string(known)) {
			return known
		}
	}
	return "?"
}

func (r *csvReader) noStatus(status string) error {
	return faultf(r.line, "status: %s is none of available, pending and sold", quoted(status))
}

// pet reads the status and the stock of a new pet. The stock is in one of the two cells stock and add; if both are
// empty, it is that of a newly created pet. If the status is empty, it follows from the stock.
func (r *csvReader) pet(status, stock, add string) (*petstore.StockedPet, error) {
	p, err := &petstore.StockedPet{}, error(nil)
	switch {
	case stock != "":
		p.Quantity, err = r.quantity(stock)
	case add != "":
		if p.Quantity, err = r.addition(add); err == nil && p.Quantity < 0 {
			err = faultf(r.line, "add: %s to a pet that has no stock yet", add)
		}
	}
	if err != nil {
		return nil, err
	}
	counted := stock != "" || add != ""
	switch {
	case status != "":
		p.Status = statusIn(status)
	case !counted || p.Quantity > 0:
		p.Status = petstore.Available
	default:
		p.Status = petstore.Sold
	}
	if !counted && p.Status == petstore.Available {
		p.Quantity = 1
	}
	if !p.Status.Valid() {
		return nil, r.noStatus(status)
	}
	return p, nil
}

// quantity reads the cell stock, which is not empty.
func (r *csvReader) quantity(stock string) (int64, error) {
	n, err := strconv.ParseInt(stock, 10, 64)
	switch {
	case err == nil && strings.ContainsAny(stock[:1], "+-"):
		return 0, faultf(r.line, "stock: %s has a sign; stock says how many there are, and the column add how many came or went", quoted(stock))
	case errors.Is(err, strconv.ErrRange), err == nil && n > petstore.MaxQuantity:
		return 0, faultf(r.line, "stock: must be between 0 and %d", petstore.MaxQuantity)
	case err != nil:
		return 0, faultf(r.line, "stock: %s is not a whole number", quoted(stock))
	}
	return n, nil
}

// addition reads the cell add, such as +5 and -2. It returns 0 if the cell is empty.
func (r *csvReader) addition(add string) (int64, error) {
	if add == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(add, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (n < -petstore.MaxQuantity || n > petstore.MaxQuantity):
		return 0, faultf(r.line, "add: must be between -%d and %d", petstore.MaxQuantity, petstore.MaxQuantity)
	case err != nil:
		return 0, faultf(r.line, "add: %s is not a whole number, such as +5 or -2", quoted(add))
	}
	return n, nil
}

// reason returns the text of err for a client.
func reason(err error) string {
	if e, ok := errors.AsType[*petstore.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

var (
	errLong = errors.New("the record is too long")
	errWide = errors.New("the record has too many cells")
)

// A guard limits the bytes and the cells of a record, since encoding/csv does not: a cell takes much more memory than
// its byte in the file. It returns at most a line at a time, so that the CSV reader reads nothing of the next record.
type guard struct {
	from   *bufio.Reader
	comma  []byte
	given  int  // bytes of the present record so far
	commas int  // commas in them, outside of quotation marks
	quoted bool // the next byte is inside quotation marks
}

// next begins a record.
func (g *guard) next() { g.given, g.commas, g.quoted = 0, 0, false }

// Read implements io.Reader.
func (g *guard) Read(p []byte) (int, error) {
	if g.given > maxRecord {
		return 0, errLong
	}
	if g.commas >= maxColumns {
		return 0, errWide
	}
	if _, err := g.from.Peek(1); err != nil {
		return 0, err
	}
	piece, _ := g.from.Peek(min(len(p), g.from.Buffered()))
	if end := bytes.IndexByte(piece, '\n'); end >= 0 {
		piece = piece[:end+1]
	}
	g.count(piece)
	return g.from.Read(p[:len(piece)])
}

// count counts the commas of a piece. It may be wrong after a misplaced quotation mark, but there the CSV reader
// stops with an error.
func (g *guard) count(piece []byte) {
	g.given += len(piece)
	for {
		mark := bytes.IndexByte(piece, '"')
		part := piece
		if mark >= 0 {
			part = piece[:mark]
		}
		if !g.quoted {
			g.commas += bytes.Count(part, g.comma)
		}
		if mark < 0 {
			return
		}
		g.quoted, piece = !g.quoted, piece[mark+1:]
	}
}
