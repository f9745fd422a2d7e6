package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

const (
	largestPage   = 100
	largestAnswer = 16 << 20 // bytes, far more than a page can have
)

// A request is one operation with its values.
type request struct {
	operation    string // the operationId
	method, path string
	query        url.Values
	body         any // nil for none
	mediaType    string
}

// A Request is a call whose answer the caller decodes itself.
type Request struct {
	Operation string     // the operationId, for errors and reports
	Method    string     // of HTTP
	Path      string     // below the base URL; its segments are escaped
	Query     url.Values // nil for none
	Body      any        // is sent as JSON; nil for no body
	MediaType string     // of the body
}

// Do makes a request as the other methods do, with the same repetitions and errors, and returns the body of the answer
// unchanged. The body is empty if the answer has none.
func (c *Client) Do(ctx context.Context, r Request, opts ...CallOption) ([]byte, Response, error) {
	return c.send(ctx, request{r.Operation, r.Method, r.Path, r.Query, r.Body, r.MediaType}, newCall(r.Method, opts))
}

// none is the result of an operation without one.
type none struct{}

// A Page is a part of a list.
type Page[T any] struct {
	Items []T    // in ascending order of the id
	Next  string // the Cursor of the next page; "" on the last. Of events the After, which there always is
}

// do makes a request until it succeeds or is not to be repeated, and returns its result.
func do[T any](ctx context.Context, c *Client, r request, opts []CallOption) (T, error) {
	result, _, err := answer[T](ctx, c, r, opts)
	return result, err
}

func list[T any](ctx context.Context, c *Client, r request, opts []CallOption) (Page[T], error) {
	items, resp, err := answer[[]T](ctx, c, r, opts)
	if err != nil {
		return Page[T]{}, err
	}
	return Page[T]{Items: items, Next: resp.Next()}, nil
}

// place returns the Cursor, or of events the After, of the page that a link with a relation leads to; "" if there is none.
func place(h http.Header, relation string) string {
	page, err := url.Parse(link(h, relation))
	if err != nil {
		return ""
	}
	return cmp.Or(page.Query().Get("cursor"), page.Query().Get("after"))
}

// all returns the items of the page at cursor and of all after it.
func all[T any](cursor string, read func(cursor string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at, more := cursor, true; more; {
			page, err := read(at)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			at, more = page.Next, page.Next != ""
		}
	}
}

func answer[T any](ctx context.Context, c *Client, r request, opts []CallOption) (result T, resp Response, err error) {
	body, resp, err := c.send(ctx, r, newCall(r.method, opts))
	if err != nil || len(body) == 0 {
		return result, resp, err
	}
	if err := json.Unmarshal(body, &result); err != nil {
		return result, resp, fmt.Errorf("petstore: the answer to %s: %w", r.operation, err)
	}
	return result, resp, nil
}

// send makes the attempts and returns the body of the answer that succeeded.
func (c *Client) send(ctx context.Context, r request, call *call) (body []byte, resp Response, err error) {
	var sent []byte
	if r.body != nil {
		if sent, err = json.Marshal(r.body); err != nil {
			return nil, resp, fmt.Errorf("petstore: the body of %s: %w", r.operation, err)
		}
	}
	if call.into != nil {
		defer func() { *call.into = resp }()
	}
	for attempt := 1; ; attempt++ {
		if err := c.waitForOthers(ctx); err != nil {
			return nil, resp, err
		}
		body, resp, err = c.attempt(ctx, r, call, sent, attempt)
		if err == nil {
			return body, resp, nil
		}
		wait, again := c.retry.wait(r.method, err, attempt)
		if !again || ctx.Err() != nil {
			return nil, resp, err
		}
		if refusal, ok := errors.AsType[*Error](err); ok && refusal.Status == http.StatusTooManyRequests {
			c.hold(wait, refusal)
		}
		if c.onRetry != nil {
			c.onRetry(Attempt{Operation: r.operation, Number: attempt, Err: err, Wait: wait})
		}
		if !pause(ctx, wait) {
			return nil, resp, abandoned(ctx, err)
		}
	}
}

// attempt makes the request once. The response is zero if there was none.
func (c *Client) attempt(ctx context.Context, r request, call *call, body []byte, number int) ([]byte, Response, error) {
	req, err := c.build(ctx, r, call, body)
	if err != nil {
		return nil, Response{}, err
	}
	httpResp, err := c.patient(r).Do(req) //nolint:gosec // the URL is the caller's own
	if err != nil {
		return nil, Response{}, &transportError{err}
	}
	defer httpResp.Body.Close() // only read
	resp := newResponse(httpResp, number)
	c.note(r, resp)
	text, err := io.ReadAll(io.LimitReader(httpResp.Body, largestAnswer+1))
	switch {
	case err != nil:
		return nil, resp, &transportError{err}
	case len(text) > largestAnswer:
		return nil, resp, fmt.Errorf("petstore: the answer to %s is larger than %d bytes", r.operation, largestAnswer)
	case resp.Status == http.StatusNotModified:
		return nil, resp, ErrNotModified
	case resp.Status >= http.StatusBadRequest:
		return nil, resp, newError(r, req.URL.Path, text, resp, time.Now())
	case resp.Status >= http.StatusMultipleChoices:
		return nil, resp, fmt.Errorf("petstore: %s %s: %d leads to %q: is the URL of the server right?", r.method, req.URL.Path, resp.Status, resp.Header.Get("Location"))
	}
	return text, resp, nil
}

// patient returns the HTTP client for r: its timeout, if it has one, is longer by the time for which r asks the server to
// wait.
func (c *Client) patient(r request) *http.Client {
	seconds, err := strconv.ParseUint(r.query.Get("wait"), 10, 31)
	if err != nil || c.http.Timeout <= 0 {
		return c.http
	}
	longer := *c.http
	longer.Timeout += time.Duration(seconds) * time.Second
	return &longer
}

func (c *Client) build(ctx context.Context, r request, call *call, body []byte) (*http.Request, error) {
	target := c.base
	target.RawPath = target.EscapedPath() + r.path
	target.Path, _ = url.PathUnescape(target.RawPath) // it is escaped well
	target.RawQuery = r.query.Encode()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), reader)
	if err != nil {
		return nil, errors.Join(errors.New("petstore: the request cannot be made"), err)
	}
	for name, values := range call.header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	if body != nil {
		req.Header.Set("Content-Type", r.mediaType)
	}
	return req, nil
}

// note keeps and reports what an answer says besides its result.
func (c *Client) note(r request, resp Response) {
	if (resp.RateLimit != RateLimit{}) {
		c.mu.Lock()
		c.limit = resp.RateLimit
		c.mu.Unlock()
	}
	if c.onDeprecated == nil {
		return
	}
	if d, ok := deprecationOf(r.operation, resp.Header); ok {
		c.onDeprecated(d)
	}
}

// expand puts ids into the braces of a path, which is then escaped.
func expand(path string, ids ...any) string {
	for _, id := range ids {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + url.PathEscape(fmt.Sprint(id)) + after
	}
	return path
}

// addQuery adds a parameter, repeated for each element of a slice, unless its value is zero.
func addQuery(q url.Values, name string, value any) {
	v := reflect.ValueOf(value)
	if v.IsZero() {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice {
		q.Add(name, queryText(v.Interface()))
		return
	}
	for i := range v.Len() {
		q.Add(name, queryText(v.Index(i).Interface()))
	}
}

func queryText(value any) string {
	if t, ok := value.(time.Time); ok {
		return t.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}
