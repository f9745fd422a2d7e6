package console

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// What a download costs, and its bounds.
const (
	rowsARequest     = 100              // each further hundred counts as a request more
	downloadBuffer   = 16 << 10         // what is sent together; a refusal before it is a page
	downloadPatience = 30 * time.Second // for a client to take as much
)

// A download is a file that is made while it is sent. The request for it paid for its first hundred rows.
type download struct {
	v     *visit
	media string
	sent  bool
	rows  int
	to    *bufio.Writer
	csv   *csv.Writer // of a file of comma-separated values
}

// download sends a file, which fill makes, unless the workspace has another download. If fill fails or the client does not
// read once a part is sent, the response is broken off.
func (v *visit) download(media string, fill func(*download) error) error {
	leave, err := v.hold(v.shares.downloads, nil)
	if err != nil {
		return v.refuseShare(err, "Too many downloads", "Another download of this workspace is under way. Try again when it is over.")
	}
	defer leave()
	d := &download{v: v, media: media}
	d.to = bufio.NewWriterSize(d, downloadBuffer)
	if err = fill(d); err == nil {
		if !d.sent {
			d.begin()
		}
		err = d.to.Flush()
	}
	if err == nil || !d.sent {
		return err
	}
	if v.r.Context().Err() == nil {
		v.Log.Warn("a download was broken off", "path", v.r.URL.Path, "err", err)
	}
	panic(http.ErrAbortHandler) // so that nobody takes it for the whole
}

// begin begins the response.
func (d *download) begin() {
	d.sent = true
	d.v.w.Header().Set("Content-Type", d.media)
	d.v.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", path.Base(d.v.r.URL.Path)))
}

// Write sends a part. The first one begins the response.
func (d *download) Write(part []byte) (int, error) {
	if !d.sent {
		d.begin()
	}
	d.v.extend(downloadPatience)
	return d.v.w.Write(part)
}

// csv sends a file of comma-separated values.
func (v *visit) csv(head []string, fill func(*download) error) error {
	return v.download("text/csv; charset=utf-8; header=present", func(d *download) error {
		d.csv = csv.NewWriter(d.to)
		if err := d.csv.Write(head); err != nil {
			return err
		}
		if err := fill(d); err != nil {
			return err
		}
		d.csv.Flush()
		return d.csv.Error()
	})
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
	if d.v.gate == nil { // the operator's
		return nil
	}
	if !d.sent {
		return d.v.admitOne()
	}
	if !d.v.gate.Admit(d.v.who).Admitted() {
		return errors.New("the plan was spent before its end")
	}
	return nil
}

// pagesCSV sends a whole list, page by page: fetch returns a page of rowsARequest after the last row of the one before.
func pagesCSV[T any](v *visit, head []string, fetch func(last *T) ([]T, error), line func(T) []string) error {
	return v.csv(head, func(d *download) error {
		for last := (*T)(nil); ; {
			var rows []T
			err := v.gated(false, func() (err error) {
				rows, err = fetch(last)
				return err
			})
			if err != nil {
				return err
			}
			for i := range rows {
				if err := d.row(line(rows[i])); err != nil {
					return err
				}
			}
			if len(rows) < rowsARequest {
				return nil
			}
			last = &rows[len(rows)-1]
		}
	})
}

// csv sends the whole list.
func (s source[T]) csv(v *visit, head []string, line func(T) []string) error {
	return pagesCSV(v, head, func(last *T) ([]T, error) {
		page := petstore.Page{Limit: rowsARequest}
		if last != nil {
			page.After = s.id(*last)
		}
		return s.fetch(v.r.Context(), page)
	}, line)
}

// plain returns text that a spreadsheet does not take for a formula.
func plain(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
