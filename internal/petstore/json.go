package petstore

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON returns v in its canonical form: the members in the order of the description, no
// white space, absent members omitted. Entity tags, stored answers, events, exports and
// response bodies are all this form. What is encoded most often has a method AppendJSON.
func JSON(v any) []byte {
	if often, ok := v.(appender); ok {
		return often.AppendJSON(make([]byte, 0, 128))
	}
	text, err := json.Marshal(v, canonical)
	if err != nil {
		panic(err) // no type of ours has a value without a form in JSON
	}
	return text
}

// AppendJSON appends v in its canonical form.
func AppendJSON(dst []byte, v any) []byte {
	if often, ok := v.(appender); ok {
		return often.AppendJSON(dst)
	}
	return append(dst, JSON(v)...)
}

type appender interface {
	AppendJSON(dst []byte) []byte
}

// canonical has a byte that is not UTF-8 become U+FFFD, and times written as [Time] is.
var canonical = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.WithMarshalers(
	json.MarshalToFunc(func(to *jsontext.Encoder, t time.Time) error { return At(t).MarshalJSONTo(to) })))

// AppendJSON appends p in its canonical form.
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

// AppendJSON appends o in its canonical form.
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

// AppendJSON appends i in its canonical form.
func (i InventoryItem) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"petId":`...)
	dst = strconv.AppendInt(dst, i.PetID, 10)
	dst = append(dst, `,"quantity":`...)
	dst = strconv.AppendInt(dst, i.Quantity, 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, i.Status...)
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
