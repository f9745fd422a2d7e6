package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/petstore"
)

// send sets the whole response, which flush writes after all steps of the request.
// Every answer with a body is set here, apart from pages and streams.
func (x *exchange) send(status int, contentType string, body []byte) {
	x.set("Content-Type", contentType)
	x.setInt("Content-Length", int64(len(body)))
	x.ready, x.answer = status, body
}

// sendEmpty sets a response without a body.
func (x *exchange) sendEmpty(status int) { x.ready, x.answer = status, nil }

// sendDone answers a write of which nothing is left to show.
func (x *exchange) sendDone(err error) error {
	if err == nil {
		x.sendEmpty(http.StatusNoContent)
	}
	return err
}

// flush writes the response that was set, if there is one.
func (x *exchange) flush() {
	if x.breaks != "" {
		x.breakOff()
	}
	if x.ready == 0 {
		return
	}
	x.WriteHeader(x.ready)
	if x.r.Method == http.MethodHead {
		return
	}
	body := x.answer
	for x.shared && len(body) > http1.Covered { // http1 would count longer parts as memory of this request
		if _, err := x.Write(body[:http1.Covered]); err != nil {
			return
		}
		body = body[http1.Covered:]
	}
	if len(body) > 0 {
		if _, err := x.Write(body); err != nil { // the client has disconnected
			x.held = nil // HTTP/2 may read it still
		}
	}
}

// run calls steps, writes the response, and reports the request. An error of steps is the
// response. After a panic, the response is a 500 that does not reveal the cause. If a
// response was begun or set before the panic, the connection is closed instead, as it
// is after http.ErrAbortHandler, which is not logged.
func (x *exchange) run(steps func(*exchange) error) {
	defer func() {
		cause := recover()
		aborts := cause == http.ErrAbortHandler || cause != nil && (x.status != 0 || x.ready != 0)
		if cause != nil && cause != http.ErrAbortHandler {
			x.env.log.ErrorContext(x.ctx, "panic", "request_id", x.id, "panic", cause, "stack", string(debug.Stack()))
		}
		if cause != nil && !aborts {
			x.fail(errInternal)
		}
		func() {
			defer x.report() // also if the connection is broken off while the answer is written
			if !aborts {
				x.flush()
			}
		}()
		if aborts {
			panic(http.ErrAbortHandler)
		}
		x.release()
	}()
	if err := steps(x); err != nil {
		x.fail(err)
	}
}

// fail writes err as the response: every error is written here. What is not an
// Error of ours, or has a code that the table does not know, is logged once and
// becomes internal_error.
func (x *exchange) fail(err error) {
	statuses := x.env.statuses()
	e, ok := errors.AsType[*petstore.Error](err)
	if ok && e.Code == access.CodeWorkspaceNotFound && statuses[e.Code] == 0 { // it was reset or removed since the key was checked
		e = access.Resetting()
	}
	switch {
	case !ok || statuses[e.Code] == 0:
		x.logFailure(err)
		e = errInternal
	case e.Err != nil:
		x.logFailure(err)
	}
	status := statuses[e.Code]
	switch {
	case e.RetryAfter > 0:
		x.setInt("Retry-After", int64((e.RetryAfter+time.Second-1)/time.Second))
	case status == http.StatusServiceUnavailable:
		x.set("Retry-After", "1")
	case status == http.StatusUnauthorized:
		x.set("WWW-Authenticate", challenge(e.Code))
	}
	x.set("Cache-Control", "no-store")
	x.code = e.Code
	x.send(status, "application/json", petstore.JSON(&errorBody{e.Code, e.Message, status, x.id, e.Fields}))
}

// sendFound answers a GET without an entity tag.
func (x *exchange) sendFound(v any, err error) error {
	if err != nil {
		return err
	}
	return x.sendJSON(http.StatusOK, v)
}

// sendJSON answers with v.
func (x *exchange) sendJSON(status int, v any) error {
	x.send(status, "application/json", petstore.JSON(v))
	return nil
}

// sendResource answers a GET of one resource: 304 if the client has it already.
func (x *exchange) sendResource(v any, err error) error {
	if err != nil {
		return err
	}
	body := petstore.JSON(v)
	return x.represent(&representation{etag: strong(petstore.TagOf(body)), body: body})
}

// strong and weak return an entity tag as a field has it (RFC 9110 §8.8.3).
func strong(tag petstore.Tag) string { return `"` + string(tag) + `"` }
func weak(tag petstore.Tag) string   { return "W/" + strong(tag) }

// A representation is the answer to a GET. Several requests may share that of a document.
type representation struct {
	contentType string // "" means JSON
	encoding    string // of the body: "" or "gzip"
	etag        string // from strong or weak
	body        []byte
	compressed  func() []byte // returns body compressed by gzip; nil if body is short or compressed
	link        string        // of a list: the link to the next page, or ""
	more        string        // of a list: "true" if there are more entries now, else "false"
}

// represent answers a GET: 304 if the client has the representation already.
func (x *exchange) represent(r *representation) error {
	x.shown = r
	if r.link != "" {
		x.set("Link", r.link)
	}
	if r.more != "" {
		x.set("X-Has-More", r.more)
	}
	have, err := parseTags("If-None-Match", x.r.Header["If-None-Match"], true)
	if err != nil {
		return err
	}
	x.set("ETag", r.etag)
	if have != nil && have.Has(petstore.Tag(strings.Trim(strings.TrimPrefix(r.etag, "W/"), `"`))) {
		x.sendEmpty(http.StatusNotModified)
		return nil
	}
	x.shown = r.compressedFor(x)
	if x.shown.encoding != "" {
		x.set("Content-Encoding", x.shown.encoding)
	}
	x.send(http.StatusOK, cmp.Or(r.contentType, "application/json"), x.shown.body)
	return nil
}

// compressedFor returns r with a compressed body, if that is long and the client accepts it.
func (r *representation) compressedFor(x *exchange) *representation {
	if r.compressed == nil || !acceptsGzip(x) {
		return r
	}
	return &representation{contentType: r.contentType, encoding: "gzip", etag: r.etag, body: r.compressed(), link: r.link, more: r.more}
}

func acceptsGzip(x *exchange) bool { return accept.Gzip(x.r.Header["Accept-Encoding"]) }

// sendChanged answers a write with the resource as it is now.
func (x *exchange) sendChanged(v any, err error) error {
	if err != nil {
		return err
	}
	body := petstore.JSON(v)
	x.set("ETag", strong(petstore.TagOf(body)))
	x.send(http.StatusOK, "application/json", body)
	return nil
}

// sendOnce answers a POST that may have an Idempotency-Key. The body is the answer of
// now, or that of the earlier request if replayed is set. tag is the entity tag of a
// GET of the resource, whose body has no secret.
func (x *exchange) sendOnce(status int, tag petstore.Tag, body []byte, replayed bool) error {
	x.set("ETag", strong(tag))
	x.setReplayed(replayed)
	x.send(status, "application/json", body)
	return nil
}

// setReplayed says whether the answer is that of an earlier request.
func (x *exchange) setReplayed(replayed bool) {
	if replayed {
		x.set("Idempotency-Replayed", "true")
	}
}

// minGzipLength is the length above which a list is compressed.
const minGzipLength = 1 << 10
