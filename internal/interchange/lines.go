package interchange

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lines reads a stream line by line, counting from 1.
type lines struct {
	r      *bufio.Reader
	number int // of the line that was read last
	long   []byte
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 1<<16)} }

// next returns the next line that is not blank, without its end: LF or CR LF.
// It is valid until the next call. A line that is too long is a Fault.
func (l *lines) next() ([]byte, error) {
	if l.number == 0 {
		if err := skipMark(l.r); err != nil {
			return nil, err
		}
	}
	for {
		l.number++
		line, err := l.one()
		if line = bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) > 0 || err != nil {
			return line, err
		}
	}
}

// one returns a line with its end. It returns io.EOF when there is none.
func (l *lines) one() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, l.end(len(line), err)
	}
	l.long = append(l.long[:0], line...)
	size := len(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.r.ReadSlice('\n')
		size += len(line)
		if size <= maxRecord {
			l.long = append(l.long, line...)
		}
	}
	if size > maxRecord {
		return nil, faultf(l.number, "the line has more than %d bytes", maxRecord)
	}
	return l.long, l.end(size, err)
}

// end returns the error for a line that was read with err. The last line need not end
// with a line break.
func (l *lines) end(length int, err error) error {
	switch {
	case err == nil || errors.Is(err, io.EOF) && length > 0:
		return nil
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return readFault(l.number, err)
}
