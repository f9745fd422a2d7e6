package interchange

import (
	"bytes"
	"errors"
	"io"

	"example.com/petstore/internal/petstore"
)

// Options say where reading begins.
type Options struct {
	// FromLine is the first line to read after the head of the file; 0 means all. A
	// unit must begin there.
	FromLine int

	// Ignore has the names of the columns of CSV that are ignored.
	Ignore []string
}

// NewReader returns a reader of the format. It returns a *Fault if the stream does not
// begin like a file of the format.
func NewReader(from io.Reader, f Format, o Options) (Reader, error) {
	if f == CSV {
		return newCSVReader(from, o)
	}
	r := &ndjsonReader{lines: newLines(from), from: o.FromLine}
	if err := r.readHead(); err != nil {
		return nil, err
	}
	return r, nil
}

// A record is a line of NDJSON.
type record struct {
	kind     string // "" if it is not known
	line     int
	petID    int64 // for a pet, an order or a movement
	category petstore.Category
	pet      petstore.StockedPet
	order    petstore.Order
	movement petstore.Movement
}

type ndjsonReader struct {
	lines   *lines
	members members
	from    int

	last     petstore.LastIDs
	needsEnd bool   // the file must end with a line of the type end
	counted  Counts // what was read, to compare with the last line
	skipped  record // the last pet before FromLine

	ahead     *record // was read, and belongs to the next entry
	aheadErr  error
	ended     bool
	uncounted bool // the type of a line is not known, so that counted is wrong
}

func (r *ndjsonReader) Last() petstore.LastIDs { return r.last }

// readHead reads the first line.
func (r *ndjsonReader) readHead() error {
	text, err := r.lines.next()
	if errors.Is(err, io.EOF) {
		return finalf(1, "the file is empty")
	}
	if err != nil {
		return final(err)
	}
	m := &r.members
	m.read(r.lines.number, text)
	if m.err != nil {
		return final(m.err)
	}
	if kind := m.text("type", false); kind != "petstore" {
		return finalf(r.lines.number, `the file does not begin with a line of the type petstore, such as {"type":"petstore","version":1}`)
	}
	if v := m.int("version", true); m.err == nil && v != Version {
		return finalf(r.lines.number, "the file has the version %d; this program reads version %d", v, Version)
	}
	m.text("workspace", false)
	r.needsEnd = m.time("exportedAt", false).Valid
	r.last = petstore.LastIDs{Categories: m.int("lastCategoryId", false), Pets: m.int("lastPetId", false), Orders: m.int("lastOrderId", false)}
	for _, n := range []int64{r.last.Categories, r.last.Pets, r.last.Orders} {
		if n < 0 || n > petstore.MaxID {
			m.refuse("the last ids must be between 0 and %d", int64(petstore.MaxID))
		}
	}
	m.end("petstore")
	if m.err != nil {
		return final(m.err)
	}
	return nil
}

// final makes a fault final.
func final(err error) error {
	if f, ok := errors.AsType[*Fault](err); ok {
		return finalf(f.Line, "%s", f.Reason)
	}
	return err
}

// Next implements [Reader].
func (r *ndjsonReader) Next() (Entry, error) {
	first, err := r.record()
	if err != nil {
		if first != nil && first.kind == "pet" {
			r.skipRest(first.petID)
		}
		return Entry{}, err
	}
	e := Entry{Line: first.line}
	switch first.kind {
	case "category":
		e.Category = &first.category
		return e, nil
	case "pet":
		e.PetID = first.petID
		e.Pet = &first.pet
	default:
		if err := r.checkStart(first); err != nil {
			return Entry{}, err
		}
		e.PetID = first.petID
		e.add(first)
	}
	return e, r.rest(&e)
}

// checkStart returns a fault if FromLine is within the lines of a pet.
func (r *ndjsonReader) checkStart(first *record) error {
	if first.petID == r.skipped.petID && r.skipped.line > 0 {
		return finalf(first.line, "the line belongs to the pet %d, which begins at line %d: begin there", first.petID, r.skipped.line)
	}
	return nil
}

// rest reads the orders and movements of a pet. If one of these lines cannot be read,
// the whole unit is left out.
func (r *ndjsonReader) rest(e *Entry) error {
	for {
		next, err := r.record()
		f, isFault := errors.AsType[*Fault](err)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case isFault && !f.Final && next != nil && !next.belongs():
			r.ahead, r.aheadErr = next, err
			return nil
		case isFault && !f.Final:
			r.skipRest(e.PetID)
			return faultf(f.Line, "%s (the pet %d, from line %d on, is left out with it)", petstore.Shorten(f.Reason, petstore.MaxText/2), e.PetID, e.Line)
		case err != nil:
			return err
		case !next.belongs() || next.petID != e.PetID:
			r.ahead = next
			return nil
		}
		e.add(next)
	}
}

// skipRest skips the remaining lines of a pet that is left out. petID is 0 if its id
// could not be read.
func (r *ndjsonReader) skipRest(petID int64) {
	for {
		next, err := r.record()
		if err == nil && petID == 0 && next.belongs() {
			petID = next.petID
		}
		if err != nil || !next.belongs() || next.petID != petID {
			r.ahead, r.aheadErr = next, err
			return
		}
	}
}

// belongs reports whether the line belongs to the unit of an earlier line.
func (r *record) belongs() bool { return r.kind != "category" && r.kind != "pet" }

func (e *Entry) add(r *record) {
	if r.kind == "order" {
		e.Orders = append(e.Orders, r.order)
		e.orders = append(e.orders, r.line)
		return
	}
	e.Movements = append(e.Movements, r.movement)
	e.movements = append(e.movements, r.line)
}

// record returns the next line: first the one in ahead. With a fault it returns what is
// known of the line.
func (r *ndjsonReader) record() (*record, error) {
	if r.ahead != nil || r.aheadErr != nil {
		next, err := r.ahead, r.aheadErr
		r.ahead, r.aheadErr = nil, nil
		return next, err
	}
	for {
		next, err := r.read()
		if err != nil || next.line >= r.from {
			return next, err
		}
		if next.kind == "pet" {
			r.skipped = *next
		}
	}
}

// read reads a line.
func (r *ndjsonReader) read() (*record, error) {
	text, err := r.lines.next()
	if errors.Is(err, io.EOF) {
		return nil, r.atEnd()
	}
	if err != nil {
		return &record{line: r.lines.number}, r.noteFault(err)
	}
	if r.ended {
		return nil, finalf(r.lines.number, "the file continues after its end")
	}
	m := &r.members
	m.read(r.lines.number, text)
	next := &record{line: r.lines.number, kind: kindOf(text)}
	if m.err == nil {
		next.kind = m.text("type", true)
		r.parse(next)
	}
	if next.kind == "end" && m.err == nil {
		return r.read()
	}
	return next, r.noteFault(m.err)
}

// noteFault notes that counted is wrong if there is a fault. It returns no fault for
// lines before FromLine.
func (r *ndjsonReader) noteFault(err error) error {
	r.uncounted = r.uncounted || err != nil
	if f, ok := errors.AsType[*Fault](err); ok && !f.Final && f.Line < r.from {
		return nil
	}
	return err
}

// kindOf guesses the type of a line, which need not be valid JSON.
func kindOf(text []byte) string {
	for _, kind := range []string{"category", "pet"} {
		if bytes.HasPrefix(text, []byte(`{"type":"`+kind+`"`)) {
			return kind
		}
	}
	return ""
}

// parse reads the members of the line into to.
func (r *ndjsonReader) parse(to *record) {
	m := &r.members
	switch to.kind {
	case "category":
		r.counted.Categories++
		to.category = petstore.Category{ID: m.id("id", true), Name: m.text("name", true)}
		if m.take("description", false) != nil {
			description := m.text("description", true)
			to.category.Description = &description
		}
	case "pet":
		r.counted.Pets++
		to.parsePet(m)
	case "order":
		r.counted.Orders++
		to.petID = m.id("petId", true)
		to.order = petstore.Order{ID: m.id("id", true), PetID: to.petID, Quantity: m.int("quantity", true),
			ShipDate: m.time("shipDate", false), Complete: m.bool("complete")}
	case "movement":
		r.counted.Movements++
		to.petID = m.id("petId", true)
		to.movement = petstore.Movement{PetID: to.petID, Number: m.int("number", true), Kind: petstore.MovementKind(m.text("kind", true)),
			OrderID: m.id("orderId", false), Delta: m.int("delta", true), Quantity: m.int("quantity", true), At: m.time("at", true)}
	case "end":
		r.checkEnd()
	default:
		m.refuse("there is no type %s; the types are category, pet, order, movement and end", quoted(to.kind))
		return
	}
	m.end(to.kind)
}

func (r *record) parsePet(m *members) {
	r.petID = m.id("id", true)
	r.pet = petstore.StockedPet{
		Pet: petstore.Pet{ID: r.petID, Name: m.text("name", true), CategoryID: m.id("categoryId", true),
			Status: petstore.Status(m.text("status", true))},
		Quantity: m.int("quantity", true),
	}
}

// checkEnd compares the counts in the last line with what was read.
func (r *ndjsonReader) checkEnd() {
	m := &r.members
	want := Counts{m.int("categories", true), m.int("pets", true), m.int("orders", true), m.int("movements", true)}
	m.end("end")
	r.ended = true
	if m.err == nil && !r.uncounted && want != r.counted {
		m.err = finalf(m.line, "the file is not whole: it was written with %v, and has %v", want, r.counted)
	}
}

// atEnd returns io.EOF, or a fault if the file is incomplete.
func (r *ndjsonReader) atEnd() error {
	if r.needsEnd && !r.ended {
		return finalf(r.lines.number, "the file is cut off: an export ends with a line of the type end")
	}
	return io.EOF
}
