package sqlite

import (
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// How many pages connections hold at most.
const (
	cachePages  = 200 // 0.9 MiB: the upper levels of the trees of millions of rows
	writerPages = 300 // what a group of eighty orders changes
)

// arrangeMemory says, before the first connection is opened, how SQLite is to use
// memory. Its allocator rounds sizes up to powers of two, and a page with what
// is noted of it to twice that of the page: so the pages of a connection are
// allocated in one piece (https://sqlite.org/malloc.html, section 4.1). And it
// gives memory back to the system with the last block of a size, to ask for it
// again in the next transaction: so one block of each size is kept.
var arrangeMemory = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	defer tls.Close()
	args := libc.NewVaList(uintptr(0), int32(0), int32(cachePages))
	defer libc.Xfree(tls, args)
	sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_PAGECACHE, args) // refused, and not needed, once SQLite is in use
	for size := int32(16); size <= 16<<10; size *= 2 {
		sqlite3.Xsqlite3_malloc(tls, size-16)
	}
})
