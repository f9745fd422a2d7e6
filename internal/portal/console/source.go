package console

import (
	"context"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// A source is what a list is read from: the rows T that a query Q finds.
type source[T, Q any] struct {
	filters   page.Filters
	newest    bool   // the page shows the newest first; a download begins with the oldest
	one, many string // what its rows are called
	query     *Q
	page      *petstore.Page // of the query
	fetch     func(ctx context.Context, workspace int64, query Q) ([]T, error)
	total     func(ctx context.Context, workspace int64, query Q) (int64, error)
	id        func(T) int64
}

// count returns how many rows there are, as far as a list says that.
func (s source[T, Q]) count(v *visit) (int64, error) {
	*s.page = petstore.Page{Limit: maxCounted + 1}
	return s.total(v.R.Context(), v.shop(), *s.query)
}

// maxCounted is up to how many rows a list says exactly how many there are.
const maxCounted = 1000

// read reads the page that the query asks for, and fills in its filters, how many rows there are, which it returns too, and
// where the list goes on.
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
	what := s.many
	if n == 1 {
		what = s.one
	}
	l.Lead = counted(n) + " " + what + ". " + l.Lead
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

// pages returns what reads a page of rowsTogether after the last row of the one before, the oldest first.
func (s source[T, Q]) pages(v *visit) func(last *T) ([]T, error) {
	return func(last *T) ([]T, error) {
		*s.page = petstore.Page{Limit: rowsTogether}
		if last != nil {
			s.page.After = s.id(*last)
		}
		return s.fetch(v.R.Context(), v.shop(), *s.query)
	}
}

// rowsTogether is how many rows of a download are read at a time.
const rowsTogether = 100

// pagesCSV sends a whole list, page by page: fetch returns a page of rowsTogether after the last row of the one before.
func pagesCSV[T any](v *visit, head []string, fetch func(last *T) ([]T, error), line func(T) []string) error {
	return v.CSV(head, func(row func([]string) error) error {
		return eachPage(v, fetch, func(r *T) error { return row(line(*r)) })
	})
}

// eachPage gives away the rows of a whole list. Each page takes its turn among the reads, and nothing is held for it while its
// rows are sent.
func eachPage[T any](v *visit, fetch func(last *T) ([]T, error), give func(*T) error) error {
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
			if err := give(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < rowsTogether {
			return nil
		}
		last = &rows[len(rows)-1]
	}
}
