package httpapi

import (
	"maps"
	"strconv"
	"sync"

	"example.com/petstore/internal/petstore"
)

// A listRequest is a request for one page of a list.
type listRequest struct {
	x       *exchange
	query   *query
	filters string // the query in canonical form, without limit and cursor
	limit   int
}

// newListRequest reads the parameters that every list has. The list's own are read
// from its query next, then pageQuery is called.
func newListRequest(x *exchange) (*listRequest, error) {
	q, err := parseQuery(x.r.URL.RawQuery, x.route.query)
	if err != nil {
		return nil, err
	}
	filters := maps.Clone(q.values)
	delete(filters, "limit")
	delete(filters, "cursor")
	return &listRequest{x: x, query: q, filters: filters.Encode(), limit: q.limit()}, nil
}

// newListRequestAt is newListRequest and position, of a list without filters.
func newListRequestAt(x *exchange) (l *listRequest, at position, err error) {
	if l, err = newListRequest(x); err == nil {
		at, err = l.position()
	}
	return l, at, err
}

// newListRequestPage is newListRequest and pageQuery, of a list without filters.
func newListRequestPage(x *exchange) (l *listRequest, p petstore.Page, err error) {
	if l, err = newListRequest(x); err == nil {
		p, err = l.pageQuery()
	}
	return l, p, err
}

// pageQuery returns the page to ask the store for, of a list whose ids are numbers, one
// entry longer than the client's to see whether there is more. Its errors are
// those of position.
func (l *listRequest) pageQuery() (petstore.Page, error) {
	p := petstore.Page{Limit: l.limit + 1}
	p.Newest = l.query.choice("sort", "id", "-id") == "-id"
	after, err := l.position()
	if err == nil {
		p.After, err = after.number()
	}
	return p, err
}

// position returns where the page begins. It returns what was wrong with any
// parameter read so far.
func (l *listRequest) position() (position, error) {
	cursor, given := l.query.one("cursor")
	if err := l.query.err(); err != nil || !given {
		return "", err
	}
	return l.x.env.cursors.open(l.x.workspace(), l.x.address(), l.filters, cursor)
}

// sendList answers with one page. entries may be one longer than the page.
// positionOf returns the position behind an entry.
func sendList[T resource](l *listRequest, entries []T, positionOf func(T) position) error {
	entries, link := trimPage(l, entries, positionOf)
	return sendEntries(l.x, entries, link, link != "")
}

// sendEntries answers with a page of a list. link is to the next one, or ""; more
// says whether that has something already.
func sendEntries[T resource](x *exchange, entries []T, link string, more bool) error {
	body := appendList(make([]byte, 0, listRoom(len(entries))), entries)
	return x.represent(pageOf(body, link, more))
}

// pageOf returns the page of a list with a body.
func pageOf(body []byte, link string, more bool) *representation {
	page := &representation{weak: "W/", tag: petstore.TagOf(body), body: body, link: link, more: strconv.FormatBool(more)}
	if len(body) > zipFrom {
		page.zipped = sync.OnceValue(func() []byte { return zip(body) })
	}
	return page
}

// trimPage returns the entries of the page, and the link to the next one if
// there is more.
func trimPage[T any](l *listRequest, entries []T, positionOf func(T) position) ([]T, string) {
	if len(entries) <= l.limit {
		return entries, ""
	}
	return entries[:l.limit], l.next(positionOf(entries[l.limit-1]))
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

// next returns the link to the page that begins at a position.
func (l *listRequest) next(at position) string {
	query := "limit=" + strconv.Itoa(l.limit) + "&cursor=" + l.x.env.cursors.seal(l.x.workspace(), l.x.address(), l.filters, at)
	if l.filters != "" {
		query = l.filters + "&" + query
	}
	return l.x.link(query, "next")
}
