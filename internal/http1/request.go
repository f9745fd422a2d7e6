package http1

import (
	"bytes"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A request is a plain request as it was read.
type request struct {
	method  string
	target  string
	host    string
	length  int // of the body
	header  http.Header
	preface bool // it is the preface of HTTP/2 after a request of HTTP/1.1
}

// A readResult is what read found.
type readResult uint8

const (
	notPlain  readResult = iota
	headBegun            // the head is incomplete, and may become that of a plain request
	headPlain            // the head is plain, and the body is incomplete
	wholePlain
)

const (
	// maxFields is the most header fields that a plain request has.
	maxFields = 48

	// preface is the beginning of HTTP/2's connection preface.
	preface = "PRI * HTTP/2.0"
)

// mayBePreface reports whether b begins with the preface of HTTP/2, or is the beginning
// of it.
func mayBePreface(b []byte) bool {
	n := min(len(b), len(preface))
	return string(b[:n]) == preface[:n]
}

// read parses the request at the beginning of b. plain reports whether a path may be
// that of a plain request. size is the length of the whole request, 0 until the head is
// complete. The result is exactly what net/http would read, see
// FuzzPlainRequestIsNetHTTPs.
func (r *request) read(b []byte, plain func(path string) bool) (size int, _ readResult) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if r.begins(b, plain) {
			return 0, headBegun
		}
		return 0, notPlain
	}
	*r = request{}
	// The line is a string of its own, so that whoever keeps the path does not keep the
	// fields and their secrets in memory.
	first := bytes.Index(b, []byte("\r\n"))
	if !r.line(string(b[:first]), plain) || !r.fields(b[first+2:end+2]) {
		return 0, notPlain
	}
	size = end + 4 + r.length
	if size > len(b) {
		return size, headPlain
	}
	return size, wholePlain
}

// newRequest returns the request for the handler. shared is what all requests of the
// connection have in common. The body is copied.
func (r *request) newRequest(shared *http.Request, body []byte) *http.Request {
	one := &struct { // in one piece of memory
		request http.Request
		url     url.URL
	}{request: *shared}
	one.url.Path, one.url.RawQuery, _ = strings.Cut(r.target, "?")
	hr := &one.request
	hr.Method, hr.URL, hr.RequestURI = r.method, &one.url, r.target
	hr.Header, hr.Host, hr.ContentLength = r.header, r.host, int64(r.length)
	if len(body) > 0 {
		hr.Body = io.NopCloser(bytes.NewReader(bytes.Clone(body)))
	}
	if r.preface {
		hr.Proto, hr.ProtoMajor, hr.ProtoMinor = "HTTP/2.0", 2, 0
	}
	return hr
}

// begins reports whether b may be the beginning of a plain head. It may not if a line
// ends with LF alone: net/http accepts that, and would not wait for more after two of
// them.
func (r *request) begins(b []byte, plain func(path string) bool) bool {
	line, _, whole := bytes.Cut(b, []byte("\r\n"))
	if whole {
		return r.line(string(line), plain) && bytes.Count(b, []byte("\n")) == bytes.Count(b, []byte("\r\n"))
	}
	method, _, whole := bytes.Cut(line, []byte(" "))
	return !bytes.Contains(line, []byte("\n")) && slices.ContainsFunc(plainMethods, func(m string) bool {
		return m == string(method) || !whole && strings.HasPrefix(m, string(method))
	})
}

func (r *request) line(line string, plain func(path string) bool) bool {
	method, rest, ok := strings.Cut(line, " ")
	if !ok || !slices.Contains(plainMethods, method) {
		return false
	}
	target, version, ok := strings.Cut(rest, " ")
	r.method, r.target = method, target
	return ok && version == "HTTP/1.1" && plainTarget(target, plain)
}

var plainMethods = []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodHead}

// plainTarget reports whether the target is a path that plain accepts, without escapes,
// and perhaps a query.
func plainTarget(s string, plain func(path string) bool) bool {
	path, query, found := strings.Cut(s, "?")
	if found && query == "" || path == "" || path[0] != '/' || strings.HasPrefix(path, "//") {
		return false
	}
	return onlyOf(path, inPath) && onlyOf(query, inQuery) && plain != nil && plain(path)
}

// fields parses header fields, whose lines each end with CR LF.
func (r *request) fields(lines []byte) bool {
	count := bytes.Count(lines, []byte("\r\n"))
	if count > maxFields+1 {
		return false
	}
	r.header = make(http.Header, count)
	values := make([]string, 0, count) // of nearly all fields
	for text := string(lines); text != ""; {
		line, rest, _ := strings.Cut(text, "\r")
		name, value, ok := plainField(line)
		if !ok || rest[0] != '\n' {
			return false
		}
		text = rest[1:]
		key := textproto.CanonicalMIMEHeaderKey(name)
		if !r.understand(key, value) {
			return false
		}
		if key == "Host" {
			continue
		}
		if before, ok := r.header[key]; ok {
			r.header[key] = append(before, value)
			continue
		}
		values = append(values, value)
		r.header[key] = values[len(values)-1 : len(values) : len(values)]
	}
	return r.host != ""
}

// understand interprets the fields that matter here, such as Host and Content-Length.
// It reports false if a request with this field is not plain.
func (r *request) understand(key, value string) bool {
	switch key {
	case "Host":
		if r.host != "" || value == "" || !onlyOf(value, inHost) {
			return false
		}
		r.host = value
	case "Content-Length":
		return r.header[key] == nil && r.contentLength(value)
	case "Connection":
		return strings.EqualFold(value, "keep-alive")
	case "Transfer-Encoding", "Expect", "Upgrade", "Trailer", "Te", "Http2-Settings", "Pragma", "Proxy-Connection":
		return false
	}
	return true
}

// contentLength parses the length of the body. It reports false if the method usually
// has no body, and this one has.
func (r *request) contentLength(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return false
	}
	r.length = int(n)
	switch r.method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	}
	return r.length == 0
}

// plainField splits a line into name and value (RFC 9112 §5).
func plainField(line string) (name, value string, ok bool) {
	colon := strings.IndexByte(line, ':')
	if colon < 1 || !onlyOf(line[:colon], inToken) {
		return "", "", false
	}
	name, value = line[:colon], strings.Trim(line[colon+1:], " ")
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return "", "", false
		}
	}
	return name, value, true
}

// The classes of bytes.
const (
	inPath uint8 = 1 << iota
	inQuery
	inToken // RFC 9110 §5.6.2
	inHost
)

func onlyOf(s string, class uint8) bool {
	for i := range len(s) {
		if classes[s[i]]&class == 0 {
			return false
		}
	}
	return true
}

var classes = func() (c [256]uint8) {
	mark := func(chars string, class uint8) {
		for i := range len(chars) {
			c[chars[i]] |= class
		}
	}
	const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	mark(alphanumeric, inPath|inQuery|inToken|inHost)
	mark("/-._~", inPath|inQuery)
	mark("%&=+,:@!$'()*;?", inQuery)
	mark("!#$%&'*+-.^_`|~", inToken)
	mark(".:-_[]", inHost)
	return c
}()
