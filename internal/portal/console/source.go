package console

import (
	"context"

	"github.com/dustin/go-humanize/english"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// A source reads the rows of a list: the rows T that a query Q selects.
type source[T, Q any] struct {
	filters   page.Filters
	newest    bool   // the page shows the newest first; a download begins with the oldest
	one, many string // what its rows are called
	query     *Q
	page      *petstore.Page // of the query
	fetch     func(ctx context.Context, workspace int64, query Q) ([]T, error)
	id        func(T) int64
}

// count returns the number of rows, up to one more than a list shows exactly.
func (s source[T, Q]) count(v *visit) (int64, error) {
	*s.page = petstore.Page{Limit: maxCounted + 1}
	rows, err := s.fetch(v.R.Context(), v.shop(), *s.query)
	return int64(len(rows)), err
}

// maxCounted is the greatest number of rows that a list shows exactly.
const maxCounted = 1000

// read reads the page that the query selects, and sets the filters, the number of rows, which it also returns, and
// the address of the next page.
func (s source[T, Q]) read(v *visit, l *page.List) (rows []T, n int64, err error) {
	if l.Filters = s.filters; s.filters.Wrong() != nil {
		return nil, 0, nil //nolint:nilerr // the list says it
	}
	query := v.R.URL.Query()
	after := page.PlaceIn(query, "after")
	*s.page = petstore.Page{After: after, Limit: page.PageSize + 1, Newest: s.newest}
	if rows, err = s.fetch(v.R.Context(), v.shop(), *s.query); err != nil {
		return nil, 0, err
	}
	if n = int64(len(rows)); after > 0 || n > page.PageSize { // there may be more
		if n, err = s.count(v); err != nil {
			return nil, 0, err
		}
	}
	l.Lead = counted(n) + " " + english.PluralWord(int(n), s.one, s.many) + ". " + l.Lead
	query.Del("after")
	l.CSV = page.Address(v.R.URL.Path+".csv", query)
	return page.Cut(l, v.R.URL, rows, "after", func(last *T) string { return page.Text(s.id(*last)) }), n, nil
}

// counted returns a number as far as it was counted.
func counted(n int64) string {
	if n > maxCounted {
		return page.Number(maxCounted) + "+"
	}
	return page.Number(n)
}

func (s source[T, Q]) csv(v *visit, head []string, line func(T) []string) error {
	if err := s.filters.Wrong(); err != nil {
		return err
	}
	return pagesCSV(v, head, s.pages(v), line)
}

// pages returns a function that reads a page of downloadPage rows after the last row of the page before,
// the oldest first.
func (s source[T, Q]) pages(v *visit) func(last *T) ([]T, error) {
	return func(last *T) ([]T, error) {
		*s.page = petstore.Page{Limit: downloadPage}
		if last != nil {
			s.page.After = s.id(*last)
		}
		return s.fetch(v.R.Context(), v.shop(), *s.query)
	}
}

// downloadPage is how many rows of a download are read at a time.
const downloadPage = 100

// pagesCSV sends a whole list as CSV. fetch returns a page of downloadPage rows after the last row of the page
// before.
func pagesCSV[T any](v *visit, head []string, fetch func(last *T) ([]T, error), line func(T) []string) error {
	return v.CSV(head, func(row func([]string) error) error {
		return eachPage(v, fetch, func(r *T) error { return row(line(*r)) })
	})
}

// eachPage calls send with each row of a list, which it reads page by page. It holds a share of the reads while it
// reads a page, but not while the rows are sent.
func eachPage[T any](v *visit, fetch func(last *T) ([]T, error), send func(*T) error) error {
	for last := (*T)(nil); ; {
		var rows []T
		err := v.Gated(false, func() (err error) {
			rows, err = fetch(last)
			return err
		})
		if err != nil {
			return err
		}
		for i := range rows {
			if err := send(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < downloadPage {
			return nil
		}
		last = &rows[len(rows)-1]
	}
}
