package sqlite

import (
	"sync"
	"sync/atomic"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// mover is the way of who moves the log into the database file. SQLite leaves
// what it moved to the system until all of the log is moved, and syncs it then at
// once, which keeps the disk from the commits of that time. In this way it is
// synced as it is moved, a few pages at a time, while gentle is set.
var mover = vfs{name: "petstore-mover", open: openForMover}

const gentleStep = 64 // pages

var gentle atomic.Bool

// A databaseFile is one that the log is moved into. One goroutine at a time uses
// it.
type databaseFile struct {
	theirs   *sqlite3.Tsqlite3_io_methods
	unsynced int // pages
}

var databaseFiles sync.Map // *databaseFile by the address of the file

func databaseFileAt(file uintptr) *databaseFile {
	found, _ := databaseFiles.Load(file)
	return found.(*databaseFile) //nolint:forcetypeassert // every file with our methods has one
}

func openForMover(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	rc := openUsually(tls, name, file, flags, out)
	if rc == sqlite3.SQLITE_OK && flags&sqlite3.SQLITE_OPEN_MAIN_DB != 0 {
		databaseFiles.Store(file, &databaseFile{theirs: override(tls, file, sqlite3.SQLITE_OPEN_MAIN_DB, func(m *sqlite3.Tsqlite3_io_methods) {
			m.FxWrite, m.FxClose = function(writeDatabase), function(closeDatabase)
		})})
	}
	return rc
}

func writeDatabase(tls *libc.TLS, file, data uintptr, n int32, at int64) int32 {
	d := databaseFileAt(file)
	rc := method[transfer](d.theirs.FxWrite)(tls, file, data, n, at)
	d.unsynced++
	if rc != sqlite3.SQLITE_OK || d.unsynced < gentleStep || !gentle.Load() {
		return rc
	}
	d.unsynced = 0
	return method[syncing](d.theirs.FxSync)(tls, file, sqlite3.SQLITE_SYNC_NORMAL|sqlite3.SQLITE_SYNC_DATAONLY)
}

func closeDatabase(tls *libc.TLS, file uintptr) int32 {
	d := databaseFileAt(file)
	databaseFiles.Delete(file)
	return method[plainly](d.theirs.FxClose)(tls, file)
}
