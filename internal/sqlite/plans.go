package sqlite

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

var plansKept sync.Once

// keepPlans has SQLite plan each statement once, on every connection that this
// process opens from now on. Left to itself it looks at what is bound, and plans a
// list anew nearly each time it is asked for, which takes as long as to read it
// (https://sqlite.org/queryplanner-ng.html#qpsg). Our indexes are named or follow
// from the query, whatever is bound.
func keepPlans() {
	plansKept.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		call := keepPlansOf
		sqlite3.Xsqlite3_auto_extension(tls, *(*uintptr)(unsafe.Pointer(&call))) // the address by which the engine calls a function
	})
}

// keepPlansOf is what SQLite calls of each connection, as it does of an extension
// (https://sqlite.org/c3ref/auto_extension.html).
func keepPlansOf(tls *libc.TLS, db, _, _ uintptr) int32 {
	list := libc.NewVaList(int32(1), uintptr(0))
	defer libc.Xfree(tls, list)
	return sqlite3.Xsqlite3_db_config(tls, db, sqlite3.SQLITE_DBCONFIG_ENABLE_QPSG, list)
}
