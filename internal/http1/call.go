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

// A call is what one request needs. It serves another only if the handler says
// that nobody keeps anything of it.
type call struct {
	request
	url          url.URL
	response     response
	httpRequest  *http.Request // to the handler; nil before the first
	answerBuffer []byte        // for the answer
}

var calls = sync.Pool{New: func() any { return new(call) }}

// end gives the call to others if nobody keeps anything of it.
func (c *call) end() {
	if c.response.released {
		*c.httpRequest = http.Request{} // the connection may end before the next use
		calls.Put(c)
	}
}

// describe returns the request of a peer, over TLS if secured is not nil, as a
// handler sees it. It copies the body.
func (c *call) describe(ctx context.Context, body []byte, remote string, secured *tls.ConnectionState) *http.Request {
	r := &c.request
	path, query, _ := strings.Cut(r.target, "?")
	c.url = url.URL{Path: path, RawQuery: query}
	hr := &http.Request{
		Method: r.method, URL: &c.url, RequestURI: r.target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.header, Host: r.host, RemoteAddr: remote, TLS: secured, Body: http.NoBody, ContentLength: int64(r.length),
	}
	if len(body) > 0 {
		hr.Body = io.NopCloser(bytes.NewReader(bytes.Clone(body)))
	}
	if r.preface {
		hr.Proto, hr.ProtoMajor, hr.ProtoMinor = "HTTP/2.0", 2, 0
	}
	if c.httpRequest == nil {
		c.httpRequest = new(http.Request)
	}
	*c.httpRequest = *hr.WithContext(ctx)
	return c.httpRequest
}
