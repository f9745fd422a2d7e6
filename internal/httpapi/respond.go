package httpapi

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/petstore"
)

// A resource has a canonical form.
type resource interface {
	AppendJSON(dst []byte) []byte
}

// sendResource answers a GET of one resource: 304 if the client has it already.
func sendResource[T resource](x *exchange, r T) error {
	x.scratch = r.AppendJSON(x.scratch[:0])
	return x.tagged("", petstore.TagOf(x.scratch), "application/json", x.scratch, nil)
}

// setTag sets the entity tag. weak is "W/" or "".
func (x *exchange) setTag(weak string, tag petstore.Tag) {
	from := len(x.text)
	x.text = append(append(append(append(x.text, weak...), '"'), tag...), '"')
	x.setText("ETag", from)
}

// tagged answers a GET with an entity tag: 304 if the client has the body
// already. weak is "W/" or ""; zipped returns the body compressed, for a client
// that takes that, and is nil if it is not worth it.
func (x *exchange) tagged(weak string, tag petstore.Tag, contentType string, body []byte, zipped func() []byte) error {
	have, err := parseTags("If-None-Match", x.r.Header["If-None-Match"], true)
	if err != nil {
		return err
	}
	x.setTag(weak, tag)
	if have != nil && have.Has(tag) {
		x.sendEmpty(http.StatusNotModified)
		return nil
	}
	if zipped != nil && accept.Gzip(x.r.Header["Accept-Encoding"]) {
		x.set("Content-Encoding", "gzip")
		body = zipped()
	}
	x.send(http.StatusOK, contentType, body)
	return nil
}

// changed answers a write with the resource as it is now.
func (x *exchange) changed(r resource) error {
	body := r.AppendJSON(make([]byte, 0, 256))
	x.setTag("", petstore.TagOf(body))
	x.send(http.StatusOK, "application/json", body)
	return nil
}

// created answers a POST that made a resource, now or before.
func (x *exchange) created(c petstore.Created) error {
	x.set("Location", x.api.BaseURL+x.path.pattern+"/"+strconv.FormatInt(c.ID, 10))
	x.setTag("", petstore.TagOf(c.Body))
	if c.Replayed {
		x.set("Idempotency-Replayed", "true")
	}
	x.send(http.StatusCreated, "application/json", c.Body)
	return nil
}

// deleted answers a DELETE.
func (x *exchange) deleted(err error) error {
	if err == nil {
		x.sendEmpty(http.StatusNoContent)
	}
	return err
}

// A listing is one page of a list while it is read.
type listing struct {
	x       *exchange
	query   *query
	filters string // the query in canonical form, without limit and cursor
	limit   int
}

// listing reads the parameters that every list has. The list's own are read
// from its query next, then page is called.
func (x *exchange) listing() (*listing, error) {
	q, err := parseQuery(x.r.URL.RawQuery, x.route.query)
	if err != nil {
		return nil, err
	}
	l := &listing{x: x, query: q, limit: q.limit()}
	if len(q.values) > 0 {
		filters := make(url.Values, len(q.values))
		for name, values := range q.values {
			if name != "limit" && name != "cursor" {
				filters[name] = values
			}
		}
		l.filters = filters.Encode()
	}
	return l, nil
}

// page returns the page to ask the store for, one entry longer than the
// client's to see whether there is more. It returns what was wrong with any
// parameter read so far.
func (l *listing) page() (petstore.Page, error) {
	p := petstore.Page{Limit: l.limit + 1}
	cursor, given := l.query.one("cursor")
	if err := l.query.err(); err != nil || !given {
		return p, err
	}
	after, err := l.x.api.cursors.open(l.x.entry.Workspace.ID, l.x.path.pattern, l.filters, cursor)
	p.After = after
	return p, err
}

// list answers with one page. entries may be one longer than the page. idOf
// returns the id that orders the list.
func list[T resource](l *listing, entries []T, idOf func(T) int64) error {
	x := l.x
	entries, link := cutPage(l, entries, idOf)
	body := appendList(slices.Grow(x.scratch[:0], listRoom(len(entries))), entries)
	x.scratch = body
	var zipped func() []byte
	if len(body) > zipFrom {
		zipped = func() []byte { return zip(body) }
	}
	return x.sendPage(link, petstore.TagOf(body), body, zipped)
}

// sendPage answers with a page of a list. link is to the next one, or "".
func (x *exchange) sendPage(link string, tag petstore.Tag, body []byte, zipped func() []byte) error {
	if link != "" {
		x.set("Link", link)
	}
	return x.tagged("W/", tag, "application/json", body, zipped)
}

// cutPage returns the entries of the page, and the link to the next one if
// there is more.
func cutPage[T resource](l *listing, entries []T, idOf func(T) int64) ([]T, string) {
	if len(entries) <= l.limit {
		return entries, ""
	}
	return entries[:l.limit], l.next(idOf(entries[l.limit-1]))
}

// listRoom is how many bytes most lists of n entries need at most.
func listRoom(n int) int { return 32 + 96*n }

func appendList[T resource](dst []byte, entries []T) []byte {
	dst = append(dst, '[')
	for i, e := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.AppendJSON(dst)
	}
	return append(dst, ']')
}

// next returns the link to the page after the id last.
func (l *listing) next(last int64) string {
	x := l.x
	link := "<" + x.api.BaseURL + x.path.pattern + "?"
	if l.filters != "" {
		link += l.filters + "&"
	}
	cursor := x.api.cursors.seal(x.entry.Workspace.ID, x.path.pattern, l.filters, last)
	return link + "limit=" + strconv.Itoa(l.limit) + "&cursor=" + cursor + `>; rel="next"`
}

// zipFrom is the length from which a list is worth compressing.
const zipFrom = 1 << 10

var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return z
}}

func zip(body []byte) []byte {
	var out bytes.Buffer
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(&out)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return out.Bytes()
}
