package sqlite

import (
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// writer is the way of who writes into the log: what SQLite writes in two pieces
// a page, the frame's header and the page, goes to the file as one for a whole
// transaction, or as much of it as the buffer holds.
var writer = vfs{name: "petstore-writer", open: openForWriter}

const (
	mostGathered = 0x1ffff // bytes of the log: SQLite hands no more to the system at once
	headerSize   = 24      // of a frame
)

// A logFile gathers frames. The connection that opened the file uses it.
type logFile struct {
	theirs *sqlite3.Tsqlite3_io_methods
	buffer uintptr
	start  int64 // of the buffer, in the file
	n      int32 // bytes in the buffer
	last   bool  // the last frame of a transaction has begun
}

var logFiles sync.Map // *logFile by the address of the file

func logFileAt(file uintptr) *logFile {
	found, _ := logFiles.Load(file)
	return found.(*logFile) //nolint:forcetypeassert // every file with our methods has one
}

func openForWriter(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	rc := openUsually(tls, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_WAL == 0 {
		return rc
	}
	if buffer := libc.Xmalloc(tls, mostGathered); buffer != 0 {
		logFiles.Store(file, &logFile{buffer: buffer, theirs: override(tls, file, sqlite3.SQLITE_OPEN_WAL, func(m *sqlite3.Tsqlite3_io_methods) {
			m.FxClose, m.FxRead, m.FxWrite = function(closeLog), function(readLog), function(writeLog)
			m.FxTruncate, m.FxSync, m.FxFileSize = function(truncateLog), function(syncLog), function(sizeOfLog)
		})})
	}
	return rc
}

func writeLog(tls *libc.TLS, file, data uintptr, n int32, at int64) int32 {
	l := logFileAt(file)
	if at != l.start+int64(l.n) || n > mostGathered-l.n {
		if rc := l.flush(tls, file); rc != sqlite3.SQLITE_OK {
			return rc
		}
		l.start = at
	}
	if n > mostGathered {
		return method[transfer](l.theirs.FxWrite)(tls, file, data, n, at)
	}
	libc.Xmemcpy(tls, l.buffer+uintptr(l.n), data, libc.Tsize_t(n)) //nolint:gosec // sizes are not negative
	l.n += n
	switch {
	case n == headerSize:
		// The last frame names the size of the database:
		// https://sqlite.org/fileformat2.html, section 4.1.
		l.last = *in[uint32](data + 4) != 0
	case l.last:
		return l.flush(tls, file)
	}
	return sqlite3.SQLITE_OK
}

// flush writes what was gathered. What cannot be written is forgotten: SQLite
// gives the transaction up.
func (l *logFile) flush(tls *libc.TLS, file uintptr) int32 {
	n, at := l.n, l.start
	l.start, l.n, l.last = at+int64(n), 0, false
	if n == 0 {
		return sqlite3.SQLITE_OK
	}
	return method[transfer](l.theirs.FxWrite)(tls, file, l.buffer, n, at)
}

// The methods below find the file as SQLite means it to be.

func readLog(tls *libc.TLS, file, data uintptr, n int32, at int64) int32 {
	l := logFileAt(file)
	if rc := l.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[transfer](l.theirs.FxRead)(tls, file, data, n, at)
}

func truncateLog(tls *libc.TLS, file uintptr, size int64) int32 {
	l := logFileAt(file)
	if rc := l.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[resize](l.theirs.FxTruncate)(tls, file, size)
}

func syncLog(tls *libc.TLS, file uintptr, flags int32) int32 {
	l := logFileAt(file)
	if rc := l.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[syncing](l.theirs.FxSync)(tls, file, flags)
}

func sizeOfLog(tls *libc.TLS, file, size uintptr) int32 {
	l := logFileAt(file)
	if rc := l.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[sizing](l.theirs.FxFileSize)(tls, file, size)
}

func closeLog(tls *libc.TLS, file uintptr) int32 {
	l := logFileAt(file)
	rc := l.flush(tls, file)
	logFiles.Delete(file)
	libc.Xfree(tls, l.buffer)
	if end := method[plainly](l.theirs.FxClose)(tls, file); end != sqlite3.SQLITE_OK {
		return end
	}
	return rc
}
