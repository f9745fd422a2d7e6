package http1

import "net/http"

// A FieldWriter is a ResponseWriter that can send Fields instead of its Header.
type FieldWriter interface {
	http.ResponseWriter

	// WriteFields sends the status and the fields. It does not keep f.
	WriteFields(status int, f Fields)
}

// Fields are the header fields of an answer. Names are sent as they are spelled.
type Fields []field

type field struct{ name, value string }

// Set sets a field, and replaces one of the same name.
func (f *Fields) Set(name, value string) {
	for i := range *f {
		if (*f)[i].name == name {
			(*f)[i].value = value
			return
		}
	}
	*f = append(*f, field{name, value})
}

// MoveTo sets the fields in h, and removes them from f.
func (f *Fields) MoveTo(h http.Header) {
	for _, one := range *f {
		h[one.name] = []string{one.value}
	}
	*f = nil
}
