package http1

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// An exchange is the memory for one request and its answer. It is used again only if
// the handler has called Release.
type exchange struct {
	request
	url          url.URL
	response     response
	httpRequest  *http.Request // for the handler; nil before the first use
	answerBuffer []byte        // for the next answer
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// end lets the exchange be used again if the handler has called Release.
func (e *exchange) end() {
	if e.response.released {
		*e.httpRequest = http.Request{} // the connection may end before the next use
		exchanges.Put(e)
	}
}

// newRequest returns the request for the handler. secured is nil without TLS. The body
// is copied.
func (e *exchange) newRequest(ctx context.Context, body []byte, remote string, secured *tls.ConnectionState) *http.Request {
	r := &e.request
	path, query, _ := strings.Cut(r.target, "?")
	e.url = url.URL{Path: path, RawQuery: query}
	hr := &http.Request{
		Method: r.method, URL: &e.url, RequestURI: r.target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.header, Host: r.host, RemoteAddr: remote, TLS: secured, Body: http.NoBody, ContentLength: int64(r.length),
	}
	if len(body) > 0 {
		hr.Body = io.NopCloser(bytes.NewReader(bytes.Clone(body)))
	}
	if r.preface {
		hr.Proto, hr.ProtoMajor, hr.ProtoMinor = "HTTP/2.0", 2, 0
	}
	if e.httpRequest == nil {
		e.httpRequest = new(http.Request)
	}
	*e.httpRequest = *hr.WithContext(ctx)
	return e.httpRequest
}
