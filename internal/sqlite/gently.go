package sqlite

import (
	"net/url"
	"strconv"
	"sync/atomic"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// mover is the way of who moves the log into the database file. SQLite leaves
// what it moved to the system until all of the log is moved, and syncs it then at
// once, which keeps the disk from the commits of that time. In this way it is
// synced as it is moved, a few pages at a time, if that is to be gentle.
var mover = vfs{name: "petstore-mover", open: openForMover}

const gentleStep = 64 // pages

// A databaseFile is one that the log is moved into. One goroutine at a time uses
// it.
type databaseFile struct {
	gentle   atomic.Bool
	unsynced int // pages
}

var (
	databases files[databaseFile] // by the address of the file
	expected  files[databaseFile] // by the number in its name
	numbers   atomic.Int64
)

const expectedParameter = "file"

// openMover opens a connection that moves the log, and returns its file, too.
func openMover(path string) (*conn, *databaseFile, error) {
	d, number := new(databaseFile), uintptr(numbers.Add(1)) //nolint:gosec // not negative
	expected.keep(number, d)
	defer expected.forget(number)
	c, err := openNamed(mover.uri(path, url.Values{expectedParameter: {strconv.FormatUint(uint64(number), 10)}}), sqlite.OpenReadWrite|sqlite.OpenURI)
	return c, d, err
}

func openForMover(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	rc := openUsually(tls, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_MAIN_DB == 0 {
		return rc
	}
	if d := expected.at(numberIn(tls, name)); d != nil {
		databases.keep(file, d)
		override(tls, file, "database", func(m *sqlite3.Tsqlite3_io_methods) {
			m.FxWrite, m.FxClose = function(writeDatabase), function(closeDatabase)
		})
	}
	return rc
}

// numberIn returns the number that the name of a file was opened with.
func numberIn(tls *libc.TLS, name uintptr) uintptr {
	parameter, err := libc.CString(expectedParameter)
	if err != nil {
		return 0
	}
	defer libc.Xfree(tls, parameter)
	return uintptr(sqlite3.Xsqlite3_uri_int64(tls, name, parameter, 0)) //nolint:gosec // not negative
}

func writeDatabase(tls *libc.TLS, file, data uintptr, n int32, at int64) int32 {
	d := databases.at(file)
	rc := method[transfer](theirs(file).FxWrite)(tls, file, data, n, at)
	d.unsynced++
	if rc != sqlite3.SQLITE_OK || d.unsynced < gentleStep || !d.gentle.Load() {
		return rc
	}
	d.unsynced = 0
	return method[syncing](theirs(file).FxSync)(tls, file, sqlite3.SQLITE_SYNC_NORMAL|sqlite3.SQLITE_SYNC_DATAONLY)
}

func closeDatabase(tls *libc.TLS, file uintptr) int32 {
	databases.forget(file)
	return method[plainly](theirs(file).FxClose)(tls, file)
}
