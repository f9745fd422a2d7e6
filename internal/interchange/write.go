package interchange

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/dustin/go-humanize/english"

	"example.com/petstore/internal/petstore"
)

// A Head has the members of the first line of NDJSON apart from the ids.
type Head struct {
	Workspace  string
	ExportedAt petstore.Time
}

// Counts are numbers of rows.
type Counts struct {
	Categories int64 `json:"categories"`
	Pets       int64 `json:"pets"`
	Orders     int64 `json:"orders"`
	Movements  int64 `json:"movements"`
}

// String returns the numbers in words.
func (c Counts) String() string {
	return fmt.Sprintf("%s, %s, %s and %s", english.Plural(int(c.Pets), "pet", ""), english.Plural(int(c.Categories), "category", ""),
		english.Plural(int(c.Orders), "order", ""), english.Plural(int(c.Movements), "movement", ""))
}

// A Writer is a [petstore.Sink] that writes a stream. Close writes the end of the
// stream; it does not close the file.
type Writer interface {
	petstore.Sink
	Close() error
	Written() Counts
}

// NewWriter returns a writer of the format.
func NewWriter(to io.Writer, f Format, h Head) Writer {
	buffered := bufio.NewWriterSize(to, 1<<16)
	if f == CSV {
		names := map[int64]string{}
		w := NewSheet(buffered, func(id int64) string { return names[id] }) // csv.Writer uses the buffer itself
		w.names = names
		return w
	}
	return &ndjsonWriter{to: buffered, head: h}
}

type ndjsonWriter struct {
	to   *bufio.Writer
	head Head
	line []byte
	n    Counts
}

func (w *ndjsonWriter) Written() Counts { return w.n }

// row writes a line with the members of a row's canonical form, between others.
func (w *ndjsonWriter) row(before string, row any, after string) error {
	w.line = append(append(w.line[:0], before...), ',')
	at := len(w.line)
	w.line = petstore.AppendJSON(w.line, row)
	w.line = append(w.line[:at], w.line[at+1:len(w.line)-1]...) // without the braces
	w.line = append(append(w.line, after...), "}\n"...)
	_, err := w.to.Write(w.line)
	return err
}

// Begin implements [petstore.Sink].
func (w *ndjsonWriter) Begin(last petstore.LastIDs) error {
	_, err := fmt.Fprintf(w.to, `{"type":"petstore","version":%d,"workspace":%s,"exportedAt":"%v","lastCategoryId":%d,"lastPetId":%d,"lastOrderId":%d}`+"\n",
		Version, petstore.JSON(w.head.Workspace), w.head.ExportedAt, last.Categories, last.Pets, last.Orders)
	return err
}

// Category implements [petstore.Sink].
func (w *ndjsonWriter) Category(c petstore.Category) error {
	w.n.Categories++
	return w.row(`{"type":"category"`, c, "")
}

// Pet implements [petstore.Sink].
func (w *ndjsonWriter) Pet(p petstore.StockedPet) error {
	w.n.Pets++
	return w.row(`{"type":"pet"`, p.Pet, `,"quantity":`+strconv.FormatInt(p.Quantity, 10))
}

// Order implements [petstore.Sink].
func (w *ndjsonWriter) Order(o petstore.Order) error {
	w.n.Orders++
	return w.row(`{"type":"order"`, o, "")
}

// Movement implements [petstore.Sink].
func (w *ndjsonWriter) Movement(m petstore.Movement) error {
	w.n.Movements++
	return w.row(`{"type":"movement","petId":`+strconv.FormatInt(m.PetID, 10), m, "")
}

// Close writes the last line, which shows that the file is complete.
func (w *ndjsonWriter) Close() error {
	_, err := fmt.Fprintf(w.to, `{"type":"end","categories":%d,"pets":%d,"orders":%d,"movements":%d}`+"\n", w.n.Categories, w.n.Pets, w.n.Orders, w.n.Movements)
	return cmp.Or(err, w.to.Flush())
}

// columns returns the columns of CSV, and writtenColumns those that are written, in order.
func columns() []string {
	return []string{"id", "name", "category", "status", "stock", "add", "version"}
}

func writtenColumns() []string {
	return []string{"id", "name", "category", "status", "stock", "version"}
}

// A Sheet is a [Writer] of CSV.
type Sheet struct {
	to     *csv.Writer
	file   io.Writer
	nameOf func(category int64) string
	names  map[int64]string // filled by Category; or nil
	row    []string
	n      Counts
}

// NewSheet returns a writer of CSV. nameOf returns the names of categories, so that Category need not be
// called.
func NewSheet(to io.Writer, nameOf func(category int64) string) *Sheet {
	return &Sheet{to: csv.NewWriter(to), file: to, nameOf: nameOf}
}

// Written implements [Writer].
func (w *Sheet) Written() Counts { return w.n }

// Begin implements [petstore.Sink].
func (w *Sheet) Begin(petstore.LastIDs) error {
	if _, err := io.WriteString(w.file, ByteOrderMark); err != nil {
		return err
	}
	return w.to.Write(writtenColumns())
}

// Category implements [petstore.Sink].
func (w *Sheet) Category(c petstore.Category) error {
	if w.names != nil {
		w.names[c.ID] = c.Name
	}
	return nil
}

// Pet implements [petstore.Sink].
func (w *Sheet) Pet(p petstore.StockedPet) error {
	w.n.Pets++
	category := w.nameOf(p.CategoryID)
	w.row = append(w.row[:0], numeral(p.ID), Escape(p.Name), Escape(category), string(p.Status), numeral(p.Quantity), textOfVersion(&p, category))
	return w.to.Write(w.row)
}

// Order implements [petstore.Sink]; CSV has none.
func (*Sheet) Order(petstore.Order) error { return nil }

// Movement implements [petstore.Sink]; CSV has none.
func (*Sheet) Movement(petstore.Movement) error { return nil }

// Close implements [Writer].
func (w *Sheet) Close() error {
	w.to.Flush()
	return w.to.Error()
}
