package console

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// What a download costs, and its bounds.
const (
	rowsARequest     = 100              // each further hundred counts as a request more
	downloadBuffer   = 256 << 10        // what is sent together; a refusal before it is a page
	downloadPatience = 30 * time.Second // for a client to take as much
)

// A download is a file of comma-separated values. The request for it paid for its first hundred rows.
type download struct {
	v    *visit
	path string // of the page
	sent bool
	rows int
	csv  *csv.Writer
}

// download begins a file, which makes it once there is a place.
func (v *visit) download(path string, head []string, fill func(*download) error) error {
	leave, err := v.place(v.downloads, "Too many downloads")
	if err != nil {
		return err
	}
	defer leave()
	d := &download{v: v, path: path}
	d.csv = csv.NewWriter(bufio.NewWriterSize(d, downloadBuffer))
	if err = d.csv.Write(head); err == nil {
		err = fill(d)
	}
	if err == nil {
		d.csv.Flush()
		err = d.csv.Error()
	}
	if err == nil || !d.sent {
		return err
	}
	if v.r.Context().Err() == nil {
		v.Log.Warn("a download was broken off", "path", v.r.URL.Path, "err", err)
	}
	panic(http.ErrAbortHandler) // so that nobody takes it for the whole
}

// Write sends a part. The first one begins the response.
func (d *download) Write(part []byte) (int, error) {
	if !d.sent {
		name := strings.TrimPrefix(d.path, "/console/")
		d.v.w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
		d.v.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.csv"`, name))
		d.sent = true
	}
	d.v.extend(downloadPatience)
	return d.v.w.Write(part)
}

// row adds a row, and counts a request before each further hundred.
func (d *download) row(cells []string) error {
	if d.rows > 0 && d.rows%rowsARequest == 0 {
		if err := d.count(); err != nil {
			return err
		}
	}
	d.rows++
	return d.csv.Write(cells)
}

func (d *download) count() error {
	if !d.sent {
		return d.v.admitOne()
	}
	if !d.v.gate.Admit(d.v.who).Admitted() {
		return errors.New("the plan was spent before its end")
	}
	return nil
}

// csv sends the whole list, page by page.
func (s source[T]) csv(v *visit, head []string, line func(T) []string) error {
	return v.download(s.path, head, func(d *download) error {
		for page := (petstore.Page{Limit: rowsARequest}); ; {
			rows, err := s.gated(v, page)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := d.row(line(row)); err != nil {
					return err
				}
			}
			if len(rows) < page.Limit {
				return nil
			}
			page.After = s.id(rows[len(rows)-1])
		}
	})
}

func (s source[T]) gated(v *visit, page petstore.Page) (rows []T, err error) {
	err = v.gated(false, func() (err error) {
		rows, err = s.fetch(v.r.Context(), page)
		return err
	})
	return rows, err
}

// lines sends rows that are there already.
func lines[T any](v *visit, path string, head []string, rows []T, line func(*T) []string) error {
	return v.download(path, head, func(d *download) error {
		for i := range rows {
			if err := d.row(line(&rows[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// plain returns text that a spreadsheet does not take for a formula.
func plain(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
