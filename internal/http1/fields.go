package http1

import (
	"net/http"
	"strconv"
)

// A FieldWriter is a ResponseWriter that can send Fields instead of its Header.
type FieldWriter interface {
	http.ResponseWriter

	// WriteFields sends the status and the fields. It does not keep f.
	WriteFields(status int, f *Fields)

	// Release allows the request, its URL, its header, its context and the
	// ResponseWriter to be used again for another request, which saves most
	// allocations. A handler may call it only if nothing keeps any of them, as the last
	// thing that it does.
	Release()
}

// Fields are the header fields of an answer. Names are sent as they are spelled.
type Fields struct {
	list []field
	text []byte // holds the values of some fields
}

// A field has its value in value, or in Fields.text[from:to].
type field struct {
	name, value string
	from, to    int // to is 0 if the value is not in the text
}

func (f *Fields) value(of *field) string {
	if of.to > 0 {
		return string(f.text[of.from:of.to])
	}
	return of.value
}

// Set sets a field, and replaces one of the same name.
func (f *Fields) Set(name, value string) { f.put(field{name: name, value: value}) }

// SetInt sets a field to a decimal number.
func (f *Fields) SetInt(name string, n int64) {
	from := f.Text()
	f.text = strconv.AppendInt(f.text, n, 10)
	f.SetText(name, from)
}

// Text returns the present length of the text, which is where the next Append begins.
// It is the argument of SetText.
func (f *Fields) Text() int { return len(f.text) }

// Append appends to the text. It returns f, for the next part.
func (f *Fields) Append(part string) *Fields {
	f.text = append(f.text, part...)
	return f
}

// AppendInt appends a number in decimal.
func (f *Fields) AppendInt(n int64) *Fields {
	f.text = strconv.AppendInt(f.text, n, 10)
	return f
}

// SetText sets a field to the text that was appended since Text returned from. It must
// not be empty.
func (f *Fields) SetText(name string, from int) {
	f.put(field{name: name, from: from, to: len(f.text)})
}

func (f *Fields) put(one field) {
	for i := range f.list {
		if f.list[i].name == one.name {
			f.list[i] = one
			return
		}
	}
	f.list = append(f.list, one)
}

// MoveTo sets the fields in h, and removes them from f.
func (f *Fields) MoveTo(h http.Header) {
	if len(f.list) == 0 {
		return
	}
	text, values := string(f.text), make([]string, len(f.list))
	for i := range f.list {
		one := &f.list[i]
		if values[i] = one.value; one.to > 0 {
			values[i] = text[one.from:one.to]
		}
		h[one.name] = values[i : i+1 : i+1]
	}
	f.Reset()
}

// Reset removes all fields. It keeps the memory for the next ones, unless that is much.
func (f *Fields) Reset() {
	clear(f.list)
	f.list, f.text = f.list[:0], f.text[:0]
	if cap(f.text) > 16<<10 {
		f.text = nil
	}
}
