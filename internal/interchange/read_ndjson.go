package interchange

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"reflect"
	"slices"
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
		Type           string        `json:"type"`
		Version        int64         `json:"version"`
		Workspace      string        `json:"workspace"`
		ExportedAt     petstore.Time `json:"exportedAt"`
		LastCategoryID int64         `json:"lastCategoryId"`
		LastPetID      int64         `json:"lastPetId"`
		LastOrderID    int64         `json:"lastOrderId"`
	}
	categoryLine struct {
		Type string `json:"type"`
		petstore.Category
	}
	petLine struct {
		Type string `json:"type"`
		petstore.Pet
		Quantity int64 `json:"quantity"`
	}
	orderLine struct {
		Type string `json:"type"`
		petstore.Order
	}
	movementLine struct {
		Type  string `json:"type"`
		PetID int64  `json:"petId"`
		petstore.Movement
	}
	endLine struct {
		Type string `json:"type"`
		Counts
	}
)

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

// A row is a line of NDJSON.
type row struct {
	line     int
	kind     string // "" if it is not known
	petID    int64  // for a pet, an order or a movement; 0 if it could not be read
	fault    error  // what is wrong with the line
	category petstore.Category
	pet      petstore.StockedPet
	order    petstore.Order
	movement petstore.Movement
}

type ndjsonReader struct {
	lines    *bufio.Scanner
	utf16    bool // the file is UTF-16
	line     int  // the number of the last line that was read
	last     petstore.LastIDs
	needsEnd bool // the file must end with a line of the type end
	ended    bool
	ahead    *row  // was read, and belongs to the next entry
	leaves   bool  // a unit is left out, and its further lines are skipped
	left     int64 // the pet of that unit; 0 if its id could not be read yet
}

func newNDJSONReader(from io.Reader, utf16 bool) (Reader, error) {
	r := &ndjsonReader{lines: bufio.NewScanner(from), utf16: utf16}
	r.lines.Buffer(nil, maxLine)
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
		return nil, finalf(r.line, "the line has more than %d bytes", maxLine)
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
	r.needsEnd = head.ExportedAt.Valid
	r.last = petstore.LastIDs{Categories: head.LastCategoryID, Pets: head.LastPetID, Orders: head.LastOrderID}
	return err
}

// Next implements [Reader]. If a line of a pet, of its orders or of its movements cannot be read, the whole unit is left
// out, and each of its lines that cannot be read is a fault.
func (r *ndjsonReader) Next() (Entry, error) {
	first, err := r.row()
	for err == nil && r.leaves && first.belongsTo(r.left) {
		r.left = cmp.Or(r.left, first.petID)
		if first.fault != nil {
			return Entry{}, first.fault
		}
		first, err = r.row()
	}
	if r.leaves = false; err != nil {
		return Entry{}, err
	}
	e, unit := Entry{Line: first.line}, first.kind == "pet" || first.petID > 0
	if e.add(first); first.fault != nil {
		r.leaves, r.left = unit, e.PetID
		return Entry{}, first.fault
	}
	for unit {
		next, err := r.row()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Entry{}, err
		}
		if !next.belongsTo(e.PetID) {
			r.ahead = next
			break
		}
		if next.fault != nil {
			r.leaves, r.left = true, e.PetID
			return Entry{}, faultf(next.line, "%s (the pet %d, from line %d on, is left out with it)", petstore.Shorten(asFault(0, next.fault).Reason, petstore.MaxText/2), e.PetID, e.Line)
		}
		e.add(next)
	}
	return e, nil
}

// belongsTo reports whether the line is of an order or a movement of a pet, or cannot be told apart from one. An id that
// could not be read is 0.
func (r *row) belongsTo(pet int64) bool {
	return r.kind != "category" && r.kind != "pet" && (r.petID == pet || r.petID == 0 || pet == 0)
}

// add adds a line to the entry.
func (e *Entry) add(r *row) {
	e.PetID = cmp.Or(e.PetID, r.petID)
	switch r.kind {
	case "category":
		e.Category = &r.category
	case "pet":
		e.Pet = &r.pet
	case "order":
		e.Orders = append(e.Orders, r.order)
		e.orders = append(e.orders, r.line)
	case "movement":
		e.Movements = append(e.Movements, r.movement)
		e.movements = append(e.movements, r.line)
	}
}

// row returns the next line: first the one in ahead. Its error ends the file.
func (r *ndjsonReader) row() (*row, error) {
	if next := r.ahead; next != nil {
		r.ahead = nil
		return next, nil
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
	next := &row{line: r.line}
	if next.fault = next.parse(text); next.fault == nil && r.utf16 && bytes.ContainsRune(text, utf8.RuneError) {
		next.fault = damaged(r.line)
	}
	if next.fault == nil && next.kind == "end" {
		r.ended = true
		return r.row()
	}
	return next, nil
}

// types are the types of the lines after the first one.
var types = []string{"category", "pet", "order", "movement", "end"}

// typeOf returns the type of a line that begins with it, or "". The rest need not be valid JSON.
func typeOf(text []byte) string {
	rest, _ := bytes.CutPrefix(text, []byte(`{"type":"`))
	i := slices.IndexFunc(types, func(kind string) bool { return bytes.HasPrefix(rest, []byte(kind+`"`)) })
	if i < 0 {
		return ""
	}
	return types[i]
}

// parse reads the members of a line.
func (r *row) parse(text []byte) error {
	if r.kind = typeOf(text); r.kind == "" {
		l, err := decode[anyLine](r.line, text)
		if err != nil {
			return err
		}
		r.kind = l.Type
	}
	strict := json.RejectUnknownMembers(true)
	switch r.kind {
	case "category":
		l, err := decode[categoryLine](r.line, text, strict)
		r.category = l.Category
		return cmp.Or(err, r.checkID("id", l.ID))
	case "pet":
		l, err := decode[petLine](r.line, text, strict)
		r.petID, r.pet = l.ID, petstore.StockedPet{Pet: l.Pet, Quantity: l.Quantity}
		return cmp.Or(err, r.checkID("id", l.ID))
	case "order":
		l, err := decode[orderLine](r.line, text, strict)
		r.petID, r.order = l.PetID, l.Order
		return cmp.Or(err, r.checkID("petId", l.PetID))
	case "movement":
		l, err := decode[movementLine](r.line, text, strict)
		r.petID, r.movement = l.PetID, l.Movement
		r.movement.PetID = l.PetID
		return cmp.Or(err, r.checkID("petId", l.PetID))
	case "end":
		_, err := decode[endLine](r.line, text, strict)
		return err
	}
	return faultf(r.line, "there is no type %s; the types are category, pet, order, movement and end", quoted(r.kind))
}

// checkID checks an id that a line must have.
func (r *row) checkID(member string, id int64) error {
	if id < 1 || id > petstore.MaxID {
		return faultf(r.line, "%s must be between 1 and %d", member, int64(petstore.MaxID))
	}
	return nil
}
