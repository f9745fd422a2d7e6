package petstore

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends p in its canonical form: the members in the order of the
// description, no white space, absent members omitted. Entity tags, stored
// answers, exports and response bodies are all this form.
func (p Pet) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, p.ID, 10)
	dst = append(dst, `,"name":`...)
	dst = AppendString(dst, p.Name)
	dst = append(dst, `,"categoryId":`...)
	dst = strconv.AppendInt(dst, p.CategoryID, 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, p.Status...)
	return append(dst, `"}`...)
}

// AppendJSON appends c in its canonical form, see [Pet.AppendJSON].
func (c Category) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, c.ID, 10)
	dst = append(dst, `,"name":`...)
	dst = AppendString(dst, c.Name)
	if c.Description != nil {
		dst = append(dst, `,"description":`...)
		dst = AppendString(dst, *c.Description)
	}
	return append(dst, '}')
}

// AppendJSON appends o in its canonical form, see [Pet.AppendJSON].
func (o Order) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, o.ID, 10)
	dst = append(dst, `,"petId":`...)
	dst = strconv.AppendInt(dst, o.PetID, 10)
	dst = append(dst, `,"quantity":`...)
	dst = strconv.AppendInt(dst, o.Quantity, 10)
	if o.ShipDate.Valid {
		dst = append(dst, `,"shipDate":"`...)
		dst = o.ShipDate.Append(dst)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"complete":`...)
	dst = strconv.AppendBool(dst, o.Complete)
	return append(dst, '}')
}

// AppendJSON appends i in its canonical form, see [Pet.AppendJSON].
func (i InventoryItem) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"petId":`...)
	dst = strconv.AppendInt(dst, i.PetID, 10)
	dst = append(dst, `,"quantity":`...)
	dst = strconv.AppendInt(dst, i.Quantity, 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, i.Status...)
	return append(dst, `"}`...)
}

// AppendJSON appends m in its canonical form, see [Pet.AppendJSON], without its pet.
func (m Movement) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"number":`...)
	dst = strconv.AppendInt(dst, m.Number, 10)
	dst = append(dst, `,"kind":"`...)
	dst = append(dst, m.Kind...)
	dst = append(dst, '"')
	if m.OrderID != 0 {
		dst = append(dst, `,"orderId":`...)
		dst = strconv.AppendInt(dst, m.OrderID, 10)
	}
	dst = append(dst, `,"delta":`...)
	dst = strconv.AppendInt(dst, m.Delta, 10)
	dst = append(dst, `,"quantity":`...)
	dst = strconv.AppendInt(dst, m.Quantity, 10)
	dst = append(dst, `,"at":"`...)
	dst = m.At.Append(dst)
	return append(dst, `"}`...)
}

// AppendInstant appends a member of an object that is an instant, with the comma before
// it.
func AppendInstant(dst []byte, name string, t time.Time) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	return append(At(t).Append(dst), '"')
}

// AppendString appends s as a JSON string (RFC 8259 §7), escaping only what must be. A
// byte that is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
