package httpapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A field is a line of a header. Its value may be a part of a text that it comes
// with.
type field struct {
	name, value string
	from, to    int // where in the text the value is; to is 0 if it is not there
}

// in returns the value. text is what the field comes with.
func (f *field) in(text []byte) string {
	if f.to > 0 {
		return string(text[f.from:f.to])
	}
	return f.value
}

// A reply writes one response of HTTP/1.1 into memory, as an
// http.ResponseWriter: the answer to a plain request.
type reply struct {
	buf    []byte      // the response so far
	late   []byte      // the body, if its length was not announced
	header http.Header // of handlers that set it themselves; nil before

	status   int
	bodiless bool // the method or the status has no body
	measured bool // Content-Length was announced
	bodied   bool // the header has ended
	last     bool // the connection ends with it
	told     bool // and the header says so

	draining *atomic.Bool // every answer is its connection's last
}

// reset makes the reply ready for the answer to a request.
func (w *reply) reset(method string, draining *atomic.Bool) {
	*w = reply{buf: w.buf[:0], bodiless: method == http.MethodHead, draining: draining}
}

// Header implements http.ResponseWriter.
func (w *reply) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *reply) WriteHeader(status int) {
	fields := make([]field, 0, len(w.header))
	for name, values := range w.header {
		for _, value := range values {
			fields = append(fields, field{name: name, value: value})
		}
	}
	w.begin(status, fields, nil, time.Now().Unix())
}

// begin writes the status line and the header, but not its end. text is what
// the fields come with; date is in seconds since 1970.
func (w *reply) begin(status int, fields []field, text []byte, date int64) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status = status
	w.bodiless = w.bodiless || status == http.StatusNoContent || status == http.StatusNotModified
	w.buf = strconv.AppendInt(append(w.buf, "HTTP/1.1 "...), int64(status), 10)
	w.buf = append(append(append(w.buf, ' '), http.StatusText(status)...), "\r\nDate: "...)
	w.buf = append(append(w.buf, dateOf(date)...), "\r\n"...)
	from := len(w.buf)
	for i := range fields {
		f := &fields[i]
		w.field(f, text)
		switch f.name {
		case "Content-Length":
			w.measured = true
		case "Connection":
			w.last, w.told = w.last || f.value == "close", true
		}
	}
	if b := w.buf[from:]; bytes.Count(b, []byte("\n")) != len(fields) || bytes.Count(b, []byte("\r")) != len(fields) { // a value would end its line
		w.buf = w.buf[:from]
		for i := range fields {
			w.line(fields[i].name, oneLine.Replace(fields[i].in(text)))
		}
	}
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

func (w *reply) field(f *field, text []byte) {
	if f.to == 0 {
		w.line(f.name, f.value)
		return
	}
	w.buf = append(append(w.buf, f.name...), ": "...)
	w.buf = append(append(w.buf, text[f.from:f.to]...), "\r\n"...)
}

func (w *reply) line(name, value string) {
	w.buf = append(append(w.buf, name...), ": "...)
	w.buf = append(append(w.buf, value...), "\r\n"...)
}

// Write implements http.ResponseWriter.
func (w *reply) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.bodiless:
		return len(p), nil
	case !w.measured:
		w.late = append(w.late, p...)
	default:
		w.endHeader()
		w.buf = append(w.buf, p...)
	}
	return len(p), nil
}

func (w *reply) endHeader() {
	if w.bodied {
		return
	}
	w.bodied = true
	w.last = w.last || w.draining.Load()
	if w.last && !w.told {
		w.line("Connection", "close")
	}
	w.buf = append(w.buf, "\r\n"...)
}

// finish returns the whole response.
func (w *reply) finish() []byte {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.measured && !w.bodiless {
		w.line("Content-Length", strconv.Itoa(len(w.late)))
	}
	w.endHeader()
	return append(w.buf, w.late...)
}

// A dateLine is the value of Date in one second.
type dateLine struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[dateLine]

func dateOf(second int64) string {
	if last := lastDate.Load(); last != nil && last.second == second {
		return last.text
	}
	line := &dateLine{second, time.Unix(second, 0).UTC().Format(http.TimeFormat)}
	lastDate.Store(line)
	return line.text
}
