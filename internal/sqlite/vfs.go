package sqlite

import (
	"maps"
	"net/url"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A vfs is a way of writing, by the name under which SQLite knows it: its own for
// the system, but for some methods of one kind of file
// (https://sqlite.org/vfs.html).
type vfs struct {
	name string
	open func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
}

// The addresses of SQLite's own way, and of the methods of files.
var usual struct {
	once   sync.Once
	way    uintptr
	ours   sync.Map                           // by SQLite's own, and by what they are for
	theirs files[sqlite3.Tsqlite3_io_methods] // by ours
}

// uri returns the name of a file for a connection that writes in this way, with
// parameters of ours. The first one tells SQLite of the way, for good.
func (v *vfs) uri(path string, more url.Values) string {
	usual.once.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		usual.way = sqlite3.Xsqlite3_vfs_find(tls, 0)
		writer.register(tls)
		mover.register(tls)
	})
	query := url.Values{"vfs": {v.name}}
	maps.Copy(query, more)
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

func (v *vfs) register(tls *libc.TLS) {
	own := newCopy(tls, in[sqlite3.Tsqlite3_vfs](usual.way))
	in[sqlite3.Tsqlite3_vfs](own).FxOpen = function(v.open)
	in[sqlite3.Tsqlite3_vfs](own).FzName, _ = libc.CString(v.name) // fails as malloc does
	sqlite3.Xsqlite3_vfs_register(tls, own, 0)
}

// openUsually opens a file in SQLite's own way.
func openUsually(tls *libc.TLS, name, file uintptr, flags int32, out uintptr) int32 {
	way := in[sqlite3.Tsqlite3_vfs](usual.way)
	return method[func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32](way.FxOpen)(tls, usual.way, name, file, flags, out)
}

// override gives an open file methods of ours in place of some of SQLite's. Files
// that are overridden for the same purpose share them.
func override(tls *libc.TLS, file uintptr, purpose string, change func(*sqlite3.Tsqlite3_io_methods)) {
	type key struct {
		methods uintptr
		purpose string
	}
	f := in[sqlite3.Tsqlite3_file](file)
	if usual.theirs.at(f.FpMethods) != nil {
		return // they are ours
	}
	ours, ok := usual.ours.Load(key{f.FpMethods, purpose})
	if !ok {
		own := newCopy(tls, in[sqlite3.Tsqlite3_io_methods](f.FpMethods))
		change(in[sqlite3.Tsqlite3_io_methods](own))
		usual.theirs.keep(own, in[sqlite3.Tsqlite3_io_methods](f.FpMethods))
		ours, _ = usual.ours.LoadOrStore(key{f.FpMethods, purpose}, own)
	}
	f.FpMethods = ours.(uintptr) //nolint:forcetypeassert // nothing else is stored
}

// theirs returns SQLite's methods of a file that has ours.
func theirs(file uintptr) *sqlite3.Tsqlite3_io_methods {
	return usual.theirs.at(in[sqlite3.Tsqlite3_file](file).FpMethods)
}

// files are what is known of files by a number, mostly their address: SQLite hands
// on no more.
type files[T any] struct{ known sync.Map }

// at returns what is known of a file, nil if it was not kept.
func (f *files[T]) at(file uintptr) *T {
	found, _ := f.known.Load(file)
	known, _ := found.(*T)
	return known
}

func (f *files[T]) keep(file uintptr, known *T) { f.known.Store(file, known) }
func (f *files[T]) forget(file uintptr)         { f.known.Delete(file) }

// newCopy copies a value to where C finds it, for good.
func newCopy[T any](tls *libc.TLS, value *T) uintptr {
	address := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*value)))
	*in[T](address) = *value
	return address
}

// in returns what lies at an address of C's memory.
func in[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function returns the address by which C calls a function that is declared, not
// a closure.
func function[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// method returns the function that C calls by an address.
func method[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

// The types of the methods.
type (
	transfer = func(tls *libc.TLS, file, data uintptr, n int32, at int64) int32
	plainly  = func(tls *libc.TLS, file uintptr) int32
	resize   = func(tls *libc.TLS, file uintptr, size int64) int32
	syncing  = func(tls *libc.TLS, file uintptr, flags int32) int32
	sizing   = func(tls *libc.TLS, file, size uintptr) int32
	locking  = func(tls *libc.TLS, file uintptr, first, n, flags int32) int32
)
