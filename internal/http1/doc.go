// Package http1 answers plain requests of HTTP/1.1 on their connection, before net/http
// reads them. At the first request that is not plain it hands the connection over to
// net/http. It also limits the connections and the memory of clients, see [Limit].
//
// # Plain requests
//
// A plain request can be read in one way only. It is HTTP/1.1, and has at most 4 KiB
// with its body. Its method is GET, HEAD, POST, PUT, PATCH or DELETE. Its target is a
// path without escapes, perhaps with a query. It has one Host, fields in visible ASCII,
// at most one Content-Length, and none of the fields that change the framing or the use
// of the connection (RFC 9112 §6, §9). It is read exactly as net/http would read it.
//
// After the first request that is not plain, net/http keeps the connection for good, so
// that two parsers never have to agree on where a request ends.
//
// # What a handler may keep
//
// A handler may keep and change the request, its URL, its header, its body, its context
// and every string in them. The context never ends: it is not noticed that the client
// disconnects. After the handler has returned, writes to the ResponseWriter have no
// effect.
package http1
