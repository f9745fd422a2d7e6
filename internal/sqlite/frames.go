package sqlite

import (
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// writer is the way of who writes into the log: what SQLite writes in two pieces
// a page, the frame's header and the page, goes to the file as one for a whole
// transaction, or as much of it as the buffer holds. When the lock of the writer
// is given back nothing is left in the buffer.
var writer = vfs{name: "petstore-writer", open: openForWriter}

const (
	mostGathered = 0x1ffff // bytes of the log: SQLite hands no more to the system at once
	headerSize   = 24      // of a frame
)

// A logFile gathers frames. The connection that opened the file uses it.
type logFile struct {
	file, database uintptr
	buffer         uintptr
	start          int64 // of the buffer, in the file
	n              int32 // bytes in the buffer
	last           bool  // the last frame of a transaction has begun
}

var (
	logs   files[logFile] // by the address of the log
	locked files[logFile] // by that of its database, whose lock is the log's
)

func openForWriter(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	rc := openUsually(tls, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_WAL == 0 {
		return rc
	}
	l := &logFile{file: file, database: sqlite3.Xsqlite3_database_file_object(tls, name), buffer: libc.Xmalloc(tls, mostGathered)}
	if l.buffer == 0 {
		return rc // then as SQLite does it
	}
	logs.keep(file, l)
	locked.keep(l.database, l)
	override(tls, file, "log", func(m *sqlite3.Tsqlite3_io_methods) {
		m.FxClose, m.FxRead, m.FxWrite = function(closeLog), function(readLog), function(writeLog)
		m.FxTruncate, m.FxSync, m.FxFileSize = function(truncateLog), function(syncLog), function(sizeOfLog)
	})
	override(tls, l.database, "lock", func(m *sqlite3.Tsqlite3_io_methods) { m.FxShmLock = function(lockIndex) })
	return rc
}

// lockIndex is called for the locks of the log's index. The first is the
// writer's (https://sqlite.org/walformat.html, section 2.3.1): who takes it next
// writes where a transaction that was given up has gathered frames.
func lockIndex(tls *libc.TLS, file uintptr, first, n, flags int32) int32 {
	if l := locked.at(file); l != nil && first == 0 && flags&sqlite3.SQLITE_SHM_UNLOCK != 0 {
		_ = l.flush(tls) // these frames count for nobody
	}
	return method[locking](theirs(file).FxShmLock)(tls, file, first, n, flags)
}

func writeLog(tls *libc.TLS, file, data uintptr, n int32, at int64) int32 {
	l := logs.at(file)
	last := l.last
	if at != l.start+int64(l.n) || n > mostGathered-l.n {
		if rc := l.flush(tls); rc != sqlite3.SQLITE_OK {
			return rc
		}
		l.start = at
	}
	if n > mostGathered {
		return method[transfer](theirs(file).FxWrite)(tls, file, data, n, at)
	}
	libc.Xmemcpy(tls, l.buffer+uintptr(l.n), data, libc.Tsize_t(n)) //nolint:gosec // sizes are not negative
	l.n += n
	switch {
	case n == headerSize:
		// The last frame names the size of the database:
		// https://sqlite.org/fileformat2.html, section 4.1.
		l.last = *in[uint32](data + 4) != 0
	case last:
		return l.flush(tls)
	}
	return sqlite3.SQLITE_OK
}

// flush writes what was gathered. What cannot be written is forgotten: SQLite
// gives the transaction up.
func (l *logFile) flush(tls *libc.TLS) int32 {
	n, at := l.n, l.start
	l.start, l.n, l.last = at+int64(n), 0, false
	if n == 0 {
		return sqlite3.SQLITE_OK
	}
	return method[transfer](theirs(l.file).FxWrite)(tls, l.file, l.buffer, n, at)
}

// The methods below find the file as SQLite means it to be.

func readLog(tls *libc.TLS, file, data uintptr, n int32, at int64) int32 {
	if rc := logs.at(file).flush(tls); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[transfer](theirs(file).FxRead)(tls, file, data, n, at)
}

func truncateLog(tls *libc.TLS, file uintptr, size int64) int32 {
	if rc := logs.at(file).flush(tls); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[resize](theirs(file).FxTruncate)(tls, file, size)
}

func syncLog(tls *libc.TLS, file uintptr, flags int32) int32 {
	if rc := logs.at(file).flush(tls); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[syncing](theirs(file).FxSync)(tls, file, flags)
}

func sizeOfLog(tls *libc.TLS, file, size uintptr) int32 {
	if rc := logs.at(file).flush(tls); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return method[sizing](theirs(file).FxFileSize)(tls, file, size)
}

func closeLog(tls *libc.TLS, file uintptr) int32 {
	l := logs.at(file)
	rc := l.flush(tls)
	logs.forget(file)
	locked.forget(l.database)
	libc.Xfree(tls, l.buffer)
	end := method[plainly](theirs(file).FxClose)(tls, file)
	if end != sqlite3.SQLITE_OK {
		return end
	}
	return rc
}
