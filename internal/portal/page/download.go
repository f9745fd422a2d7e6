package page

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	"example.com/petstore/internal/interchange"
)

// Bounds of a download.
const (
	downloadBuffer  = 16 << 10         // what is sent together; a refusal before it is a page
	DownloadTimeout = 30 * time.Second // for a client to take as much
)

// A download is a file that is written while it is sent.
type download struct {
	v     *Visit
	media string
	sent  bool
}

// Download sends a file, which fill writes, unless the workspace has another download. For HEAD it does not call
// fill. If fill fails, the session or its key ends, the key is banned, or the client does not read, after a part was
// sent, the response is broken off.
func (v *Visit) Download(media string, fill func(io.Writer) error) error {
	leave, err := v.Hold(v.downloads, "Too many downloads", "Another download of this workspace is under way. Try again when it is over.")
	if err != nil {
		return err
	}
	defer leave()
	d := &download{v: v, media: media}
	if v.R.Method == http.MethodHead {
		d.begin()
		return nil
	}
	to := bufio.NewWriterSize(d, downloadBuffer)
	if err = fill(to); err == nil {
		err = to.Flush()
	}
	if err == nil && !d.sent { // it is empty
		d.begin()
	}
	if err == nil || !d.sent {
		return err
	}
	if v.R.Context().Err() == nil {
		v.Log.Warn("a download was broken off", "path", v.R.URL.Path, "err", err)
	}
	panic(http.ErrAbortHandler) // so that the client notices that the file is incomplete
}

func (d *download) begin() {
	d.sent = true
	d.v.W.Header().Set("Content-Type", d.media)
	d.v.W.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", path.Base(d.v.R.URL.Path)))
}

// Write sends a part, after it has checked the session. The first part begins the response.
func (d *download) Write(part []byte) (int, error) {
	if err := d.v.IdentifyAgain(); err != nil {
		return 0, err
	}
	if !d.sent {
		d.begin()
	}
	Extend(d.v.W, DownloadTimeout)
	return d.v.W.Write(part)
}

// MediaCSV is the media type of comma-separated values whose first line names the columns.
const MediaCSV = "text/csv; charset=utf-8; header=present"

// CSV sends a file of comma-separated values, to which fill adds rows.
func (v *Visit) CSV(head []string, fill func(row func([]string) error) error) error {
	return v.Download(MediaCSV, func(to io.Writer) error {
		if _, err := io.WriteString(to, interchange.ByteOrderMark); err != nil {
			return err
		}
		file := csv.NewWriter(to)
		if err := file.Write(head); err != nil {
			return err
		}
		if err := fill(file.Write); err != nil {
			return err
		}
		file.Flush()
		return file.Error()
	})
}

// CSVText returns text that a spreadsheet does not take for a formula.
func CSVText(text string) string { return interchange.Escape(text) }
