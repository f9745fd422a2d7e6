package httpapi

import (
	"net/url"
	"slices"
	"strconv"

	"example.com/petstore/internal/petstore"
)

// A listing is one page of a list while it is read.
type listing struct {
	x       *exchange
	query   *query
	filters string // the query in canonical form, without limit and cursor
	limit   int
}

// newListing reads the parameters that every list has. The list's own are read
// from its query next, then page is called.
func newListing(x *exchange) (*listing, error) {
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
	after, err := l.x.env.cursors.open(l.x.workspace(), l.x.path.pattern, l.filters, cursor)
	p.After = after
	return p, err
}

// place is page for a list whose ids are texts: it returns the last one before the
// page, or "".
func (l *listing) place() (string, error) {
	cursor, given := l.query.one("cursor")
	if err := l.query.err(); err != nil || !given {
		return "", err
	}
	place, err := l.x.env.cursors.openPlace(l.x.workspace(), l.x.path.pattern, l.filters, cursor)
	return string(place), err
}

// sendList answers with one page. entries may be one longer than the page. idOf
// returns the id that orders the list.
func sendList[T resource](l *listing, entries []T, idOf func(T) int64) error {
	entries, link := cutPage(l, entries, idOf)
	return sendEntries(l.x, entries, link)
}

// sendTexts is sendList for a list whose ids are texts.
func sendTexts[T resource](l *listing, entries []T, idOf func(T) string) error {
	entries, link := cutTexts(l, entries, idOf)
	return sendEntries(l.x, entries, link)
}

func sendEntries[T resource](x *exchange, entries []T, link string) error {
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
	x.set("X-Has-More", strconv.FormatBool(link != ""))
	return x.sendTagged("W/", tag, "application/json", body, zipped)
}

// cutPage returns the entries of the page, and the link to the next one if
// there is more.
func cutPage[T any](l *listing, entries []T, idOf func(T) int64) ([]T, string) {
	if len(entries) <= l.limit {
		return entries, ""
	}
	return entries[:l.limit], l.next(idOf(entries[l.limit-1]))
}

// cutTexts is cutPage for a list whose ids are texts.
func cutTexts[T any](l *listing, entries []T, idOf func(T) string) ([]T, string) {
	if len(entries) <= l.limit {
		return entries, ""
	}
	x, last := l.x, idOf(entries[l.limit-1])
	return entries[:l.limit], l.link(x.env.cursors.sealPlace(x.workspace(), x.path.pattern, l.filters, []byte(last)))
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
	return l.link(x.env.cursors.seal(x.workspace(), x.path.pattern, l.filters, last))
}

func (l *listing) link(cursor string) string {
	link := "<" + l.x.env.baseURL + l.x.address() + "?"
	if l.filters != "" {
		link += l.filters + "&"
	}
	return link + "limit=" + strconv.Itoa(l.limit) + "&cursor=" + cursor + `>; rel="next"`
}
