package sqlite

import (
	"net/url"
	"strconv"
	"sync"
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

// SQLite hands on no more than a name and the address of a file.
var (
	databaseFiles sync.Map // *databaseFile by the address of the file
	expectedFiles sync.Map // *databaseFile by the number in the name
	expected      atomic.Int64
)

const expectedParameter = "file"

// openMover opens a connection that moves the log, and returns its file, too.
func openMover(path string) (*conn, *databaseFile, error) {
	d, number := new(databaseFile), expected.Add(1)
	expectedFiles.Store(number, d)
	defer expectedFiles.Delete(number)
	c, err := openNamed(mover.uri(path, url.Values{expectedParameter: {strconv.FormatInt(number, 10)}}), sqlite.OpenReadWrite|sqlite.OpenURI)
	return c, d, err
}

func databaseFileAt(file uintptr) *databaseFile {
	found, _ := databaseFiles.Load(file)
	return found.(*databaseFile) //nolint:forcetypeassert // every file with our methods has one
}

func openForMover(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	rc := openUsually(tls, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_MAIN_DB == 0 {
		return rc
	}
	if found, ok := expectedFiles.Load(numberIn(tls, name)); ok {
		databaseFiles.Store(file, found)
		override(tls, file, "database", func(m *sqlite3.Tsqlite3_io_methods) {
			m.FxWrite, m.FxClose = function(writeDatabase), function(closeDatabase)
		})
	}
	return rc
}

// numberIn returns the number that the name of a file was opened with.
func numberIn(tls *libc.TLS, name uintptr) int64 {
	parameter, err := libc.CString(expectedParameter)
	if err != nil {
		return 0
	}
	defer libc.Xfree(tls, parameter)
	return sqlite3.Xsqlite3_uri_int64(tls, name, parameter, 0)
}

func writeDatabase(tls *libc.TLS, file, data uintptr, n int32, at int64) int32 {
	d := databaseFileAt(file)
	rc := method[transfer](theirs(file).FxWrite)(tls, file, data, n, at)
	d.unsynced++
	if rc != sqlite3.SQLITE_OK || d.unsynced < gentleStep || !d.gentle.Load() {
		return rc
	}
	d.unsynced = 0
	return method[syncing](theirs(file).FxSync)(tls, file, sqlite3.SQLITE_SYNC_NORMAL|sqlite3.SQLITE_SYNC_DATAONLY)
}

func closeDatabase(tls *libc.TLS, file uintptr) int32 {
	databaseFiles.Delete(file)
	return method[plainly](theirs(file).FxClose)(tls, file)
}
