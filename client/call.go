package client

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"time"
)

// A CallOption changes one request, or reads more of its answer.
type CallOption func(*call)

// A call is what the caller chose for one request.
type call struct {
	header http.Header
	into   *Response
}

// IfMatch makes a change only if the resource still has this ETag: else the error has CodePreconditionFailed.
func IfMatch(etag string) CallOption { return header("If-Match", etag) }

// IfNoneMatch makes a read answer ErrNotModified if the resource still has this ETag.
func IfNoneMatch(etag string) CallOption { return header("If-None-Match", etag) }

// IdempotencyKey sends key, 1 to 255 visible ASCII characters, instead of a random one: the server answers the same key
// and body with the first answer for 24 hours, also to another process. It is of use with POST only.
func IdempotencyKey(key string) CallOption { return header("Idempotency-Key", key) }

// RequestID sends id, which the server then logs and answers: 1 to 128 characters of A-Z a-z 0-9 . _ -
func RequestID(id string) CallOption { return header("X-Request-Id", id) }

// Into stores what the last answer carried besides its body, also if the call returns an error.
func Into(r *Response) CallOption { return func(c *call) { c.into = r } }

func header(name, value string) CallOption {
	return func(c *call) { c.header.Set(name, value) }
}

// newCall returns the choices of opts for one request by method. Every POST has an Idempotency-Key, the same for all of
// its attempts.
func newCall(method string, opts []CallOption) *call {
	c := &call{header: http.Header{}}
	for _, o := range opts {
		o(c)
	}
	if method == http.MethodPost && c.header.Get("Idempotency-Key") == "" {
		c.header.Set("Idempotency-Key", rand.Text())
	}
	return c
}

// A Response is what an answer carries besides its body.
type Response struct {
	Status    int         // the HTTP status code
	Header    http.Header // all of it
	ETag      string      // the version, for IfMatch and IfNoneMatch; "" if there is none
	RequestID string      // to be quoted in questions
	Replayed  bool        // whether this is the answer of an earlier request with the same Idempotency-Key
	RateLimit RateLimit   // as of this answer
	Attempts  int         // how many requests it took, at least 1
}

// Next returns the Cursor of the next page of a list, or of events the After; "" if there is none.
func (r Response) Next() string { return place(r.Header, "next") }

func newResponse(resp *http.Response, attempts int) Response {
	return Response{
		Status:    resp.StatusCode,
		Header:    resp.Header,
		ETag:      resp.Header.Get("ETag"),
		RequestID: resp.Header.Get("X-Request-Id"),
		Replayed:  resp.Header.Get("Idempotency-Replayed") == "true",
		RateLimit: rateLimitOf(resp.Header),
		Attempts:  attempts,
	}
}

// A RateLimit is the state of the fuller of the plan's two windows.
type RateLimit struct {
	Limit     int64     // requests that the window admits
	Remaining int64     // requests left in it
	Reset     time.Time // when it starts anew
}

// rateLimitOf returns the state that an answer carries; the zero value if it is not whole.
func rateLimitOf(h http.Header) RateLimit {
	limit, err := strconv.ParseInt(h.Get("X-RateLimit-Limit"), 10, 64)
	remaining, err2 := strconv.ParseInt(h.Get("X-RateLimit-Remaining"), 10, 64)
	reset, err3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || err2 != nil || err3 != nil {
		return RateLimit{}
	}
	return RateLimit{limit, remaining, time.Unix(reset, 0)}
}
