// Package http1 answers plain requests of HTTP/1.1 on their connection, before
// net/http reads them, and gives everything else to net/http, the connection
// included. It knows nothing of what is served: it has a handler, a function
// that says which paths it may answer, and a field of requests that it may not.
//
// # Plain requests
//
// A plain request leaves nothing to interpret. It is HTTP/1.1; it has 4 KiB at
// most with its body, in as many parts as they come; its method is GET, HEAD,
// POST, PUT, PATCH or DELETE; its target is a path without escapes, perhaps with
// a query; it has one Host, fields in visible ASCII, at most one Content-Length,
// and none of the fields that change how a message is framed or how a connection
// goes on (RFC 9112 §6, §9). It is read exactly as net/http would read it.
//
// At the first request that is not plain the connection becomes net/http's for
// good, so that two readers never have to agree on where a request ends.
//
// # What a handler may keep
//
// The request, its URL, its header, its body, its context and every string in
// them are made for one request and are the handler's: it may keep and change
// them. The context ends with the answer; a client that closes its side of the
// connection is not noticed before. After the handler has returned, what is
// written to the ResponseWriter goes nowhere. A handler that keeps nothing may
// say so, by FieldWriter's Release.
package http1
