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
func (one *call) end() {
	if one.response.released {
		*one.httpRequest = http.Request{} // the connection may end before the next use
		calls.Put(one)
	}
}

// describe returns the request of a peer, over TLS if secured is not nil, as a
// handler sees it. It copies the body.
func (one *call) describe(ctx context.Context, body []byte, remote string, secured *tls.ConnectionState) *http.Request {
	r := &one.request
	path, query, _ := strings.Cut(r.target, "?")
	one.url = url.URL{Path: path, RawQuery: query}
	hr := &http.Request{
		Method: r.method, URL: &one.url, RequestURI: r.target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.header, Host: r.host, RemoteAddr: remote, TLS: secured, Body: http.NoBody, ContentLength: int64(r.length),
	}
	if len(body) > 0 {
		hr.Body = io.NopCloser(bytes.NewReader(bytes.Clone(body)))
	}
	if r.preface {
		hr.Proto, hr.ProtoMajor, hr.ProtoMinor = "HTTP/2.0", 2, 0
	}
	if one.httpRequest == nil {
		one.httpRequest = new(http.Request)
	}
	*one.httpRequest = *hr.WithContext(ctx)
	return one.httpRequest
}
