package sqlite

import (
	"runtime"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// How many pages connections hold at most, but for unspilledPages.
const (
	cachePages  = 240 // 1 MiB: the upper levels of the trees of millions of rows, and what a search for one name reads
	writerPages = 200 // what most groups change

	// unspilledPages is how many pages the writer's cache grows to rather than have
	// changed ones written into the log before the transaction's end: more than
	// maxGroup changes of most kinds need. If a page that was written early changes
	// again, the commit reads the log back from there, to make the checksums of all
	// frames behind it anew. Some versions of SQLite take a multiple of 256 for "never".
	unspilledPages = 1000
)

var memory sync.Once

// arrangeMemory says how SQLite is to use memory in a process that holds so many
// pages and keeps its file open. It has to come before the first connection of
// the process, else it is refused and all works as it did.
//
// The allocator rounds sizes up to powers of two, and a page with what is noted
// of it to twice that of the page: so the pages are allocated in one piece
// (https://sqlite.org/malloc.html, section 3.4). And it gives memory back to the
// system with the last block of a size, to ask for it again in the next
// transaction: so one block of each size is kept.
func arrangeMemory(pages int) {
	memory.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		each := pageSize + notesOfPage(tls)
		if buffer := libc.Xmalloc(tls, libc.Tsize_t(each*pages)); buffer != 0 {
			configure(tls, sqlite3.SQLITE_CONFIG_PAGECACHE, buffer, int32(each), int32(pages)) //nolint:gosec // some thousands
		}
		for size := int32(32); size <= 16<<10; size *= 2 {
			sqlite3.Xsqlite3_malloc(tls, size-16)
		}
	})
}

// pageSize is SQLite's default.
const pageSize = 4096

// notesOfPage returns how many bytes SQLite notes of a page besides its contents.
func notesOfPage(tls *libc.TLS) int {
	size := new(int32) // on the heap, where nothing moves
	configure(tls, sqlite3.SQLITE_CONFIG_PCACHE_HDRSZ, uintptr(unsafe.Pointer(size)))
	notes := int(*size)
	runtime.KeepAlive(size)
	return notes
}

func configure(tls *libc.TLS, option int32, args ...any) {
	list := libc.NewVaList(args...)
	defer libc.Xfree(tls, list)
	sqlite3.Xsqlite3_config(tls, option, list)
}
