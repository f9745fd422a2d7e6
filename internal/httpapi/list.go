package httpapi

import (
	"maps"
	"strconv"

	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/petstore"
)

// A listRequest is a request for one page of a list.
type listRequest struct {
	x       *exchange
	query   *query
	filters string // the query in canonical form, without limit and cursor
	limit   int
	one     bool // one entry is asked for by its id
}

// pageOnly are the parameters of a list without filters.
var pageOnly = []string{"limit", "cursor"}

// newListRequest reads the parameters that every list has. The caller then reads the
// list's own parameters from query, and calls pageQuery.
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

// pageQuery returns the page to ask the store for, of a list whose ids are numbers. It
// is one entry longer than the client's page, to see whether there are more. Its errors
// are those of position.
func (l *listRequest) pageQuery() (petstore.Page, error) {
	p := petstore.Page{Limit: l.limit + 1}
	p.Newest = l.query.choice("sort", "id", "-id") == "-id"
	after, err := l.position()
	if err == nil {
		p.After, err = after.number()
	}
	return p, err
}

// position returns where the page begins. Its error includes the faults of all
// parameters that were read before.
func (l *listRequest) position() (position, error) {
	cursor, given := l.query.one("cursor")
	if err := l.query.err(); err != nil || !given {
		return "", err
	}
	return l.x.env.cursors.open(l.x.workspace(), l.x.address(), l.filters, cursor)
}

// sendList answers with one page. entries may be one longer than the page. positionOf
// returns the position after an entry. A page of one entry that was asked for by its id has
// the entry's own entity tag, so that clients can use that in If-Match.
func sendList[T any](l *listRequest, entries []T, positionOf func(T) position) error {
	link := ""
	if len(entries) > l.limit {
		entries = entries[:l.limit]
		link = l.next(positionOf(entries[l.limit-1]))
	}
	page := pageOf(appendList(entries), link, link != "")
	if l.one && len(entries) == 1 {
		page.etag = strong(petstore.TagOf(page.body[1 : len(page.body)-1]))
	}
	return l.x.represent(page)
}

// pageOf returns the representation of a page with the body.
func pageOf(body []byte, link string, more bool) *representation {
	page := &representation{etag: weak(petstore.TagOf(body)), body: body, link: link, more: strconv.FormatBool(more)}
	if len(body) > minGzipLength {
		page.compressed = func() []byte { return accept.Compress(body, accept.Fast) }
	}
	return page
}

func appendList[T any](entries []T) []byte {
	dst := append(make([]byte, 0, 32+96*len(entries)), '[') // enough for most
	for i := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = petstore.AppendJSON(dst, &entries[i])
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
