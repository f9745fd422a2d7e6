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
	most    int // categories, or 0
	in      *csv.Reader
	guard   *guard
	columns layout
	known   map[string]*petstore.Category // by the folded name
	names   map[string]*petstore.Category // by the name as it was written
	edited  map[int64]int                 // ids of pets, and the line of each
	ahead   *Entry                        // a pet whose new category was given first
	line    int                           // of the record that was read last
}

func newCSVReader(from io.Reader, o Options) (Reader, error) {
	buffered := bufio.NewReaderSize(from, 1<<16)
	if err := skipMark(buffered); err != nil {
		return nil, err
	}
	start, _ := buffered.Peek(4096) // an error comes again when it is read
	if at := bytes.IndexByte(start, '\r'); at >= 0 && at+1 < len(start) && !bytes.Contains(start, []byte("\n")) {
		return nil, finalf(1, "the lines end with CR alone; save the file with LF or CR LF at the end of each line")
	}
	comma := separatorOf(start)
	r := &csvReader{
		from: o.FromLine, most: o.MaxCategories, guard: &guard{from: buffered, comma: []byte(string(comma))},
		known: map[string]*petstore.Category{}, names: map[string]*petstore.Category{}, edited: map[int64]int{},
	}
	r.in = csv.NewReader(r.guard)
	r.in.Comma = comma
	r.in.FieldsPerRecord = -1
	r.in.ReuseRecord = true
	header, err := r.record()
	if errors.Is(err, io.EOF) {
		return nil, finalf(1, "the file is empty")
	}
	if err != nil {
		return nil, final(err)
	}
	if r.columns, err = layoutOf(header, r.line, o.Ignore); err != nil {
		return nil, err
	}
	for _, c := range o.Categories {
		if folded := petstore.Fold(c.Name); r.known[folded] == nil {
			r.known[folded] = &c
		}
	}
	return r, nil
}

// Last implements [Reader]; CSV has no ids.
func (r *csvReader) Last() petstore.LastIDs { return petstore.LastIDs{} }

// Next implements [Reader].
func (r *csvReader) Next() (Entry, error) {
	if r.ahead != nil {
		e := *r.ahead
		r.ahead = nil
		return e, nil
	}
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

// blank reports whether a spreadsheet had nothing in the row.
func blank(cells []string) bool {
	for _, cell := range cells {
		if cell != "" {
			return false
		}
	}
	return true
}

func valid(cells []string, line int) error {
	for _, cell := range cells {
		if !utf8.ValidString(cell) {
			return notText(line)
		}
	}
	return nil
}

// fault puts what encoding/csv found in words.
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

// entry makes a pet of a record. If its category is new, that comes first.
func (r *csvReader) entry(cells []string) (Entry, error) {
	if len(cells) != r.columns.width {
		return Entry{}, faultf(r.line, "the record has %d cells, and there are %d columns", len(cells), r.columns.width)
	}
	cell := func(i int) string {
		if i < 0 {
			return ""
		}
		return strings.TrimSpace(cells[i])
	}
	if id := cell(r.columns.id); id != "" {
		return r.edit(id, cell)
	}
	if r.columns.name < 0 || r.columns.category < 0 {
		return Entry{}, faultf(r.line, "a row without an id is a new pet, which needs the columns name and category")
	}
	pet, err := r.pet(cell(r.columns.status), cell(r.columns.stock))
	if err != nil {
		return Entry{}, err
	}
	pet.Name = strings.Clone(cell(r.columns.name))
	category, fresh, err := r.category(cell(r.columns.category))
	if err != nil {
		return Entry{}, err
	}
	return r.after(category, fresh, Entry{Line: r.line, Unit: petstore.Unit{Pet: pet, In: category}}), nil
}

// after returns the entry, or its category first if that is new.
func (r *csvReader) after(category *petstore.Category, fresh bool, e Entry) Entry {
	if !fresh {
		return e
	}
	r.ahead = &e
	return Entry{Line: r.line, more: true, Unit: petstore.Unit{Category: category}}
}

// edit reads a record that names a pet by its id.
func (r *csvReader) edit(id string, cell func(int) string) (Entry, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 || n > petstore.MaxID {
		return Entry{}, faultf(r.line, "id: %s is not the id of a pet; leave the cell empty for a new one", quoted(id))
	}
	if before := r.edited[n]; before > 0 {
		return Entry{}, faultf(r.line, "id: the pet %d is already in line %d; give it one row", n, before)
	}
	r.edited[n] = r.line
	e := Entry{Line: r.line, Edit: &Edit{ID: n, Name: strings.Clone(cell(r.columns.name))}}
	if stock := cell(r.columns.stock); stock != "" {
		quantity, err := r.quantity(stock)
		if err != nil {
			return Entry{}, err
		}
		e.Edit.Stock = &quantity
	}
	if status := cell(r.columns.status); status != "" {
		if e.Edit.Status = petstore.Status(strings.ToLower(status)); !e.Edit.Status.Valid() {
			return Entry{}, r.noStatus(status)
		}
	}
	name := cell(r.columns.category)
	if name == "" {
		return e, nil
	}
	category, fresh, err := r.category(name)
	if err != nil {
		return Entry{}, err
	}
	e.In = category
	return r.after(category, fresh, e), nil
}

func (r *csvReader) noStatus(status string) error {
	return faultf(r.line, "status: %s is none of available, pending and sold", quoted(status))
}

// pet reads the status and the stock. Without a stock it is that of a pet
// that was just created; without a status, the stock decides.
func (r *csvReader) pet(status, stock string) (*petstore.StockedPet, error) {
	p := &petstore.StockedPet{Pet: petstore.Pet{Status: petstore.Status(strings.ToLower(status))}}
	for _, known := range petstore.Statuses() {
		if p.Status == known {
			p.Status = known // and not a part of the record
		}
	}
	if stock != "" {
		n, err := r.quantity(stock)
		if err != nil {
			return nil, err
		}
		p.Quantity = n
	}
	switch {
	case status == "" && (stock == "" || p.Quantity > 0):
		p.Status = petstore.Available
	case status == "":
		p.Status = petstore.Sold
	}
	if stock == "" && p.Status == petstore.Available {
		p.Quantity = 1
	}
	if !p.Status.Valid() {
		return nil, r.noStatus(status)
	}
	return p, nil
}

// quantity reads a stock that is given.
func (r *csvReader) quantity(stock string) (int64, error) {
	n, err := strconv.ParseInt(stock, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (n < 0 || n > petstore.MaxQuantity):
		return 0, faultf(r.line, "stock: must be between 0 and %d", petstore.MaxQuantity)
	case err != nil:
		return 0, faultf(r.line, "stock: %s is not a whole number", quoted(stock))
	}
	return n, nil
}

// mostNames is how many spellings of categories are remembered.
const mostNames = 4096

// category returns the category of the name, and whether it is new.
func (r *csvReader) category(name string) (c *petstore.Category, fresh bool, err error) {
	if c = r.names[name]; c != nil {
		return c, false, nil
	}
	name = strings.Clone(name)
	c = &petstore.Category{Name: name}
	check := petstore.Unit{Category: c}
	if _, err := check.Check(petstore.Time{}); err != nil {
		return nil, false, faultf(r.line, "category: %s", reason(err))
	}
	folded := petstore.Fold(c.Name)
	if known := r.known[folded]; known != nil {
		c = known
	} else {
		if r.most > 0 && len(r.known) >= r.most {
			return nil, false, finalf(r.line, "with this line there are more than %d categories", r.most)
		}
		r.known[folded], fresh = c, true
	}
	if len(r.names) >= mostNames {
		clear(r.names)
	}
	r.names[name] = c
	return c, fresh, nil
}

// reason returns what a client may see of err.
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

// A guard stops a reader that gathers a record without end, or of cells without end, each of which takes much more memory
// than the byte in the file. It gives no more than a line at once, so that the CSV reader reads nothing of the next record.
type guard struct {
	from   *bufio.Reader
	comma  []byte
	given  int  // bytes of the record that is being read
	commas int  // of them, outside quotation marks
	quoted bool // what comes next is inside quotation marks
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

// count counts the commas of a piece. Behind a quotation mark that stands where none may, it may be wrong, but the CSV reader
// reads no cell there.
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
