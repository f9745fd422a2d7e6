package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// A plain request is one that leaves nothing to interpret: HTTP/1.1, one of the
// methods of this interface on a path of it, one Host, header fields in visible
// ASCII, at most one Content-Length and none of the fields that change how a
// message is framed or a connection goes on (RFC 9112 §6, §9). Whatever is not
// plain is net/http's to read.
type plainRequest struct {
	method string
	target string
	host   string
	length int // of the body

	header http.Header // nobody may change it, it may serve the next request too
	values []string    // what header's values are slices of

	// The lines that host, length and header are of, and the method that they
	// came with. Most clients send the same fields with each request of a
	// connection: then they are read once.
	lines, with string
}

// A verdict is what readPlain found.
type verdict uint8

const (
	notPlain  verdict = iota
	headPlain         // but the body is not complete
	wholePlain
)

// maxFields is the most header fields that a plain request has.
const maxFields = 48

// readPlain reads the request that b begins with. size is its length with the
// body if the verdict is not notPlain. What it reads is exactly what net/http
// would: see FuzzPlainRequestIsNetHTTPs.
func (p *plainRequest) readPlain(b []byte) (size int, _ verdict) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, notPlain
	}
	// The line is a string of its own: its path is kept for a while by who
	// observes, and must not keep the fields with the key.
	from := bytes.Index(b, []byte("\r\n"))
	if !p.requestLine(string(b[:from])) || !p.known(b[from+2:end+2]) && !p.fields(string(b[from+2:end+2])) {
		return 0, notPlain
	}
	size = end + 4 + p.length
	if size > len(b) {
		return size, headPlain
	}
	return size, wholePlain
}

func (p *plainRequest) requestLine(line string) bool {
	method, rest, ok := strings.Cut(line, " ")
	if !ok || !plainMethod(method) {
		return false
	}
	target, version, ok := strings.Cut(rest, " ")
	p.method, p.target = method, target
	return ok && version == "HTTP/1.1" && plainTarget(target)
}

// mayBePlain reports whether a plain request may begin with b.
func mayBePlain(b []byte) bool {
	method, _, _ := bytes.Cut(b, []byte(" /"))
	return plainMethod(string(method))
}

func plainMethod(s string) bool {
	switch s {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}

// plainTarget reports whether the target is a path of the interface's JSON
// operations, with nothing in it to decode, and perhaps a query.
func plainTarget(s string) bool {
	path, query, found := strings.Cut(s, "?")
	if found && query == "" || !forOperations(path) {
		return false
	}
	for i := range len(path) {
		if classes[path[i]]&inPath == 0 {
			return false
		}
	}
	for i := range len(query) {
		if classes[query[i]]&inQuery == 0 {
			return false
		}
	}
	return true
}

// forOperations reports whether a path is in the part that has operations, and
// not pages, whose answers may go on for long.
func forOperations(path string) bool {
	for _, root := range [...]string{"/pets", "/store/", "/inventory", "/categories", "/account"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return false
}

// known reports whether p has been read from the same lines, with this method.
func (p *plainRequest) known(lines []byte) bool {
	return p.with == p.method && p.lines == string(lines)
}

// fields reads lines that each end with CR LF.
func (p *plainRequest) fields(lines string) bool {
	all := lines
	p.host, p.length, p.lines, p.with = "", 0, "", ""
	p.values = p.values[:0]
	clear(p.header)
	measured := false
	for lines != "" {
		line, rest, _ := strings.Cut(lines, "\r\n")
		lines = rest
		name, value, ok := plainField(line)
		if !ok || len(p.values) == maxFields {
			return false
		}
		key := canonical(name)
		switch key {
		case "Host":
			if p.host != "" || !plainHost(value) {
				return false
			}
			p.host = value
			continue
		case "Content-Length":
			if measured || !p.contentLength(value) {
				return false
			}
			measured = true
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Transfer-Encoding", "Expect", "Upgrade", "Trailer", "Te", "Http2-Settings", "Pragma", "Proxy-Connection":
			return false
		}
		p.add(key, value)
	}
	if p.host == "" {
		return false
	}
	p.lines, p.with = all, p.method
	return true
}

func (p *plainRequest) add(key, value string) {
	n := len(p.values)
	p.values = append(p.values, value)
	if before, ok := p.header[key]; ok {
		p.header[key] = append(before, value)
		return
	}
	p.header[key] = p.values[n : n+1 : n+1]
}

// contentLength reads a length that a connection's buffer may hold. A method
// that has no body in this interface is not plain with one.
func (p *plainRequest) contentLength(s string) bool {
	if len(s) < 1 || len(s) > 5 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		p.length = p.length*10 + int(s[i]-'0')
	}
	switch p.method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	}
	return p.length == 0
}

// plainField splits a line into name and value (RFC 9112 §5).
func plainField(line string) (name, value string, ok bool) {
	colon := strings.IndexByte(line, ':')
	if colon < 1 {
		return "", "", false
	}
	name, value = line[:colon], strings.Trim(line[colon+1:], " ")
	for i := range len(name) {
		if classes[name[i]]&inToken == 0 {
			return "", "", false
		}
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return "", "", false
		}
	}
	return name, value, true
}

func plainHost(s string) bool {
	for i := range len(s) {
		if classes[s[i]]&inHost == 0 {
			return false
		}
	}
	return s != ""
}

// The classes of bytes.
const (
	inPath uint8 = 1 << iota
	inQuery
	inToken // RFC 9110 §5.6.2
	inHost
)

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

// canonical returns the key that net/http has for a name.
func canonical(name string) string {
	if key, ok := canonicals[name]; ok {
		return key
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

// canonicals are the names that most clients send, in their two spellings.
var canonicals = func() map[string]string {
	all := make(map[string]string)
	for _, name := range [...]string{
		"Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Connection", "Content-Type",
		"Content-Length", "Idempotency-Key", "If-Match", "If-None-Match", "Origin", "Referer", "X-Api-Key", "X-Request-Id",
		"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Cookie", "Cache-Control",
		"Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-Dest", "Traceparent",
	} {
		all[name], all[strings.ToLower(name)] = name, name
	}
	all["X-API-Key"] = "X-Api-Key"
	return all
}()

// describe makes r the request as a handler sees it; r is new, or was described
// before. The body is not copied.
func (p *plainRequest) describe(r *http.Request, c *conn, body *wholeBody) {
	path, query, _ := strings.Cut(p.target, "?")
	*body = wholeBody{url: url.URL{Path: path, RawQuery: query}, rest: body.rest}
	r.Method, r.URL, r.RequestURI = p.method, &body.url, p.target
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	r.Header, r.Host, r.RemoteAddr = p.header, p.host, c.remote
	r.TLS = c.secured
	r.Body, r.ContentLength = http.NoBody, int64(p.length)
	if p.length > 0 {
		r.Body = body
	}
}

// A wholeBody is a body that has come as a whole, and what else a request
// consists of.
type wholeBody struct {
	url  url.URL
	rest []byte
}

// Read implements io.Reader.
func (b *wholeBody) Read(p []byte) (int, error) {
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	if len(b.rest) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (b *wholeBody) Close() error { return nil }
