package sqlite

import (
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

func TestPagesAreAllocatedInOnePiece(t *testing.T) {
	db := openTest(t, Options{})
	if _, err := db.Secret(t.Context()); err != nil {
		t.Fatal(err)
	}
	tls := libc.NewTLS()
	defer tls.Close()
	used, most := new(int32), new(int32)
	if code := sqlite3.Xsqlite3_status(tls, sqlite3.SQLITE_STATUS_PAGECACHE_USED,
		uintptr(unsafe.Pointer(used)), uintptr(unsafe.Pointer(most)), 0); code != sqlite3.SQLITE_OK {
		t.Fatal(code)
	}
	if *used == 0 {
		t.Error("no page is in the memory that was set aside")
	}
}
