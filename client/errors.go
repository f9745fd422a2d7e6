package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ErrNotModified is returned by a read with IfNoneMatch if the resource still has that ETag.
var ErrNotModified = errors.New("petstore: not modified")

// An Error is a failure that the server answered. Get it with errors.As or errors.AsType, and decide by its Code.
type Error struct {
	Problem                   // the answer's body
	RetryAfter  time.Duration // how long the server asks to wait; 0 if it does not
	Response    Response      // what the answer carried besides
	Operation   string        // the operationId of the description
	method, url string
}

// Error names the request, the status, the code, the message and the members at fault.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "petstore: %s %s: %d", e.method, e.url, e.Status)
	if e.Code != "" {
		b.WriteString(" " + string(e.Code))
	}
	said := []string{e.Message}
	for _, f := range e.Errors {
		where := f.Parameter
		if where == "" {
			where = f.Pointer
		}
		said = append(said, where+": "+f.Message)
	}
	if len(e.Errors) == 1 && e.Errors[0].Message == e.Message { // the member says the same, and where
		said = said[1:]
	}
	b.WriteString(": " + strings.Join(said, "; "))
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

// CodeOf returns the code of err, or "" if err is not an Error or the answer had none, as one of a proxy.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// newError reads the body of an answer from 400 on. One that is not ours leaves the code empty.
func newError(r request, url string, body []byte, resp Response, now time.Time) *Error {
	e := &Error{Response: resp, Operation: r.operation, method: r.method, url: url}
	if err := json.Unmarshal(body, &e.Problem); err != nil || e.Code == "" {
		e.Problem = Problem{Message: "this is not a response of Petstore: " + http.StatusText(resp.Status)}
		if line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n"); line != "" {
			e.Message += fmt.Sprintf(": %.200q", line)
		}
	}
	e.Status = resp.Status
	if e.RequestID == "" {
		e.RequestID = resp.RequestID
	}
	e.RetryAfter = retryAfter(resp.Header, now)
	return e
}
