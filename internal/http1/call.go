package http1

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// A call is what one request needs. It serves another only if the handler says
// that nobody keeps anything of it.
type call struct {
	request
	ctx      callContext
	url      url.URL
	body     body
	response response
	handed   *http.Request // to the handler; nil before the first
}

var calls = sync.Pool{New: func() any { return &call{ctx: callContext{Context: context.Background()}} }}

// begin makes the call ready for the request that was read into it.
func (one *call) begin(body []byte) {
	one.body.mu.Lock()
	one.body.rest, one.body.over = body, false
	one.body.mu.Unlock()
	one.ctx.mu.Lock()
	one.ctx.done, one.ctx.err = nil, nil
	one.ctx.mu.Unlock()
}

// end ends what the handler had, after a panic too.
func (one *call) end() {
	one.body.end()
	one.ctx.end()
	if one.response.released {
		one.ctx.Context = context.Background() // the connection may end before the next use
		calls.Put(one)
	}
}

// describe returns the request of a peer, over TLS if secured is not nil, as a
// handler sees it.
func (one *call) describe(remote string, secured *tls.ConnectionState) *http.Request {
	r := &one.request
	path, query, _ := strings.Cut(r.target, "?")
	one.url = url.URL{Path: path, RawQuery: query}
	hr := &http.Request{
		Method: r.method, URL: &one.url, RequestURI: r.target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.header, Host: r.host, RemoteAddr: remote, TLS: secured, Body: http.NoBody, ContentLength: int64(r.length),
	}
	if r.length > 0 {
		hr.Body = &one.body
	}
	if r.preface {
		hr.Proto, hr.ProtoMajor, hr.ProtoMinor = "HTTP/2.0", 2, 0
	}
	if one.handed == nil {
		one.handed = new(http.Request)
	}
	*one.handed = *hr.WithContext(&one.ctx)
	return one.handed
}

// A body has come as a whole, into the buffer of its connection.
type body struct {
	mu   sync.Mutex
	rest []byte
	over bool // the buffer is another request's
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return 0, http.ErrBodyReadAfterClose
	}
	n := copy(p, b.rest)
	if b.rest = b.rest[n:]; len(b.rest) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.end()
	return nil
}

func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest, b.over = nil, true
}
