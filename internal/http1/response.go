package http1

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A response writes one answer of HTTP/1.1 into memory.
type response struct {
	buf     []byte      // the answer so far
	unsized []byte      // the body, if its length was not announced
	header  http.Header // as returned by Header; nil before
	begun   time.Time   // when the status was sent

	status   int
	bodiless bool // an answer to the method, or with the status, has no body
	measured bool // Content-Length was set
	bodied   bool // the end of the header is in buf
	last     bool // the connection ends after this answer
	closing  bool // the field Connection was set
	over     bool // the handler has returned

	draining *atomic.Bool // if set, the connection ends after this answer
	counted  *countedConn // nil if no Limit counts the connection
}

func (w *response) recognize(workspace int64, key string) {
	if w.counted != nil {
		w.counted.recognize(workspace, key)
	}
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	var f Fields
	for name, values := range w.header {
		for _, value := range values {
			f = append(f, field{name, value})
		}
	}
	w.WriteFields(status, f)
}

// WriteFields implements FieldWriter.
func (w *response) WriteFields(status int, f Fields) {
	if w.status != 0 || status < 200 || w.over {
		return
	}
	w.status, w.begun = status, time.Now()
	w.bodiless = w.bodiless || status == http.StatusNoContent || status == http.StatusNotModified
	w.buf = strconv.AppendInt(append(w.buf, "HTTP/1.1 "...), int64(status), 10)
	w.buf = append(append(w.buf, ' '), http.StatusText(status)...)
	w.buf = append(w.begun.UTC().AppendFormat(append(w.buf, "\r\nDate: "...), http.TimeFormat), "\r\n"...)
	for _, one := range f {
		w.buf = appendLine(w.buf, one.name, oneLine(one.value))
		switch one.name {
		case "Content-Length":
			w.measured = true
		case "Connection":
			w.last, w.closing = w.last || one.value == "close", true
		}
	}
}

// oneLine returns a value without line breaks, which would end its field.
func oneLine(value string) string {
	if strings.IndexByte(value, '\r') < 0 && strings.IndexByte(value, '\n') < 0 {
		return value
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(value)
}

func appendLine(dst []byte, name, value string) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(append(dst, value...), "\r\n"...)
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	if w.over {
		return 0, http.ErrHandlerTimeout
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.bodiless:
		return len(p), nil
	case !w.measured:
		w.unsized = append(w.unsized, p...)
	default:
		w.endHeader()
		w.buf = append(w.buf, p...)
	}
	return len(p), nil
}

func (w *response) endHeader() {
	if w.bodied {
		return
	}
	w.bodied = true
	w.last = w.last || w.draining.Load()
	if w.last && !w.closing {
		w.buf = appendLine(w.buf, "Connection", "close")
	}
	w.buf = append(w.buf, "\r\n"...)
}

// finish returns the whole answer. Nothing can be written after it.
func (w *response) finish() []byte {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.measured && !w.bodiless {
		w.buf = appendLine(w.buf, "Content-Length", strconv.Itoa(len(w.unsized)))
	}
	w.endHeader()
	w.buf = append(w.buf, w.unsized...)
	all := w.buf
	w.buf, w.unsized, w.over = nil, nil, true
	return all
}
