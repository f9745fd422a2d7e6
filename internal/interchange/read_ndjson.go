package interchange

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/petstore"
)

// The lines of NDJSON by their types. Members that are absent have their zero values.
type (
	anyLine struct {
		Type string `json:"type"`
	}
	headLine struct {
		Type           string  `json:"type"`
		Version        int64   `json:"version"`
		Workspace      string  `json:"workspace"`
		ExportedAt     instant `json:"exportedAt"`
		LastCategoryID int64   `json:"lastCategoryId"`
		LastPetID      int64   `json:"lastPetId"`
		LastOrderID    int64   `json:"lastOrderId"`
	}
	categoryLine struct {
		Type        string  `json:"type"`
		ID          int64   `json:"id"`
		Name        string  `json:"name"`
		Description *string `json:"description"`
	}
	petLine struct {
		Type       string          `json:"type"`
		ID         int64           `json:"id"`
		Name       string          `json:"name"`
		CategoryID int64           `json:"categoryId"`
		Status     petstore.Status `json:"status"`
		Quantity   int64           `json:"quantity"`
	}
	orderLine struct {
		Type     string  `json:"type"`
		ID       int64   `json:"id"`
		PetID    int64   `json:"petId"`
		Quantity int64   `json:"quantity"`
		ShipDate instant `json:"shipDate"`
		Complete bool    `json:"complete"`
	}
	movementLine struct {
		Type     string                `json:"type"`
		PetID    int64                 `json:"petId"`
		Number   int64                 `json:"number"`
		Kind     petstore.MovementKind `json:"kind"`
		OrderID  int64                 `json:"orderId"`
		Delta    int64                 `json:"delta"`
		Quantity int64                 `json:"quantity"`
		At       instant               `json:"at"`
	}
	endLine struct {
		Type string `json:"type"`
		Counts
	}
)

// An instant is a [petstore.Time] in JSON.
type instant petstore.Time

// UnmarshalText implements [encoding.TextUnmarshaler].
func (i *instant) UnmarshalText(text []byte) error {
	t, ok := petstore.ParseTime(string(text))
	if *i = instant(t); !ok {
		return errors.New("no date-time")
	}
	return nil
}

// decode reads a line, which must be an object. Its error is a *Fault.
func decode[T any](line int, text []byte, o ...json.Options) (v T, err error) {
	if !utf8.Valid(text) {
		return v, faultf(line, "the text is not UTF-8; save the file in UTF-8")
	}
	if err := json.Unmarshal(text, &v, o...); err != nil {
		return v, malformed(line, err)
	}
	return v, nil
}

// malformed returns the fault for an error of the decoder.
func malformed(line int, err error) *Fault {
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		member := wrong.JSONPointer.LastToken()
		switch {
		case wrong.JSONPointer == "":
			return faultf(line, "the line is not a JSON object")
		case errors.Is(err, json.ErrUnknownName):
			return faultf(line, "a line of this type has no member %s", quoted(member))
		}
		must := map[reflect.Kind]string{reflect.Int64: "a whole number", reflect.String: "a string", reflect.Bool: "true or false"}
		return faultf(line, "%s must be %s", member, cmp.Or(must[wrong.GoType.Kind()], "a date-time of RFC 3339 with an offset, such as 2026-01-31T12:00:00Z"))
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return faultf(line, "a member occurs twice in the line")
	case errors.Is(err, io.ErrUnexpectedEOF) || !ok:
		return faultf(line, "the line is not JSON: it ends too early")
	}
	return faultf(line, "the line is not JSON at byte %d: %v", syntax.ByteOffset+1, syntax.Err)
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
	lines    *bufio.Scanner
	line     int // the number of the last line that was read
	last     petstore.LastIDs
	needsEnd bool // the file must end with a line of the type end
	ended    bool

	ahead    *record // was read, and belongs to the next entry
	aheadErr error
}

func newNDJSONReader(from io.Reader) (Reader, error) {
	buffered := bufio.NewReader(from)
	if err := skipMark(buffered); err != nil {
		return nil, err
	}
	r := &ndjsonReader{lines: bufio.NewScanner(buffered)}
	r.lines.Buffer(nil, maxRecord)
	return r, final(r.readHead())
}

func (r *ndjsonReader) Last() petstore.LastIDs { return r.last }

// text returns the next line that is not blank, until the next call.
func (r *ndjsonReader) text() ([]byte, error) {
	for r.lines.Scan() {
		r.line++
		if text := r.lines.Bytes(); len(bytes.TrimSpace(text)) > 0 {
			return text, nil
		}
	}
	r.line++
	switch err := r.lines.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, finalf(r.line, "the line has more than %d bytes", maxRecord)
	default:
		return nil, readFault(r.line, err)
	}
}

// readHead reads the first line.
func (r *ndjsonReader) readHead() error {
	text, err := r.text()
	if errors.Is(err, io.EOF) {
		return finalf(1, "the file is empty")
	}
	if err != nil {
		return err
	}
	kind, err := decode[anyLine](r.line, text)
	if err != nil {
		return err
	}
	if kind.Type != "petstore" {
		return faultf(r.line, `the file does not begin with a line of the type petstore, such as {"type":"petstore","version":1}`)
	}
	head, err := decode[headLine](r.line, text, json.RejectUnknownMembers(true))
	if err == nil && head.Version != Version {
		return faultf(r.line, "the file has the version %d; this program reads version %d", head.Version, Version)
	}
	r.needsEnd = petstore.Time(head.ExportedAt).Valid
	r.last = petstore.LastIDs{Categories: head.LastCategoryID, Pets: head.LastPetID, Orders: head.LastOrderID}
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
	e.PetID = first.petID
	switch first.kind {
	case "category":
		e.Category = &first.category
		return e, nil
	case "pet":
		e.Pet = &first.pet
	default:
		e.add(first)
	}
	return e, r.rest(&e)
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
		case isFault && !f.Final && !next.belongs():
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

// record returns the next line: first the one in ahead. With a fault that is not final it returns what is
// known of the line.
func (r *ndjsonReader) record() (*record, error) {
	if r.ahead != nil || r.aheadErr != nil {
		next, err := r.ahead, r.aheadErr
		r.ahead, r.aheadErr = nil, nil
		return next, err
	}
	text, err := r.text()
	switch {
	case errors.Is(err, io.EOF) && r.needsEnd && !r.ended:
		return nil, finalf(r.line, "the file is cut off: an export ends with a line of the type end")
	case err != nil:
		return nil, err
	case r.ended:
		return nil, finalf(r.line, "the file continues after its end")
	}
	next := &record{line: r.line, kind: kindOf(text)}
	kind, err := decode[anyLine](r.line, text)
	if err != nil {
		return next, err
	}
	next.kind = kind.Type
	if err := next.parse(text); err != nil || next.kind != "end" {
		return next, err
	}
	r.ended = true
	return r.record()
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

// parse reads the members of a line whose type is known.
func (r *record) parse(text []byte) error {
	strict := json.RejectUnknownMembers(true)
	switch r.kind {
	case "category":
		l, err := decode[categoryLine](r.line, text, strict)
		r.category = petstore.Category{ID: l.ID, Name: l.Name, Description: l.Description}
		return cmp.Or(err, r.checkID("id", l.ID))
	case "pet":
		l, err := decode[petLine](r.line, text, strict)
		r.petID = l.ID
		r.pet = petstore.StockedPet{Pet: petstore.Pet{ID: l.ID, Name: l.Name, CategoryID: l.CategoryID, Status: l.Status}, Quantity: l.Quantity}
		return cmp.Or(err, r.checkID("id", l.ID))
	case "order":
		l, err := decode[orderLine](r.line, text, strict)
		r.petID = l.PetID
		r.order = petstore.Order{ID: l.ID, PetID: l.PetID, Quantity: l.Quantity, ShipDate: petstore.Time(l.ShipDate), Complete: l.Complete}
		return cmp.Or(err, r.checkID("petId", l.PetID))
	case "movement":
		l, err := decode[movementLine](r.line, text, strict)
		r.petID = l.PetID
		r.movement = petstore.Movement{PetID: l.PetID, Number: l.Number, Kind: l.Kind, OrderID: l.OrderID, Delta: l.Delta, Quantity: l.Quantity, At: petstore.Time(l.At)}
		return cmp.Or(err, r.checkID("petId", l.PetID))
	case "end":
		_, err := decode[endLine](r.line, text, strict)
		return err
	}
	return faultf(r.line, "there is no type %s; the types are category, pet, order, movement and end", quoted(r.kind))
}

// checkID checks an id that a line must have.
func (r *record) checkID(member string, id int64) error {
	if id < 1 || id > petstore.MaxID {
		return faultf(r.line, "%s must be between 1 and %d", member, int64(petstore.MaxID))
	}
	return nil
}
