package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
)

// headerSize is how much of a database file says what it is
// (https://sqlite.org/fileformat.html, section 1.3).
const headerSize = 100

// A header is what the beginning of a database file says.
type header struct {
	size     int64
	inode    uint64
	rollback bool   // there is no write-ahead log of it
	changes  uint32 // the change counter
}

func readHeader(path string) (header, error) {
	f, err := os.Open(path) //nolint:gosec // the database
	if err != nil {
		return header{}, err
	}
	h, err := headerOf(f)
	return h, errors.Join(err, f.Close())
}

func headerOf(f *os.File) (h header, err error) {
	info, err := f.Stat()
	if err != nil {
		return h, err
	}
	var b [headerSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	return header{info.Size(), inodeOf(info), b[18] != 2, binary.BigEndian.Uint32(b[24:])}, nil
}

// A logHeader is what the beginning of a write-ahead log says
// (https://sqlite.org/fileformat2.html, section 4.1).
type logHeader struct{ resets, salt uint32 }

// lineage tells logs apart: it stays when a log begins anew, as then both numbers
// grow by one.
func (h *logHeader) lineage() uint32 { return h.salt - h.resets }

// readLogHeader returns nil if there is no log, or nothing in it.
func readLogHeader(path string) (*logHeader, error) {
	f, err := os.Open(path) //nolint:gosec // beside the database
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	var b [32]byte
	if _, err := io.ReadFull(f, b[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &logHeader{binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint32(b[16:])}, nil
}
