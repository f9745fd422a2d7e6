package sqlite

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A walIndex is a view of the index of the write-ahead log, the file that ends
// in -shm. Its header changes with every commit of any process, after the
// commit is durable and before it can be read (https://sqlite.org/walformat.html,
// section 2.1: two copies of 48 bytes, in the machine's byte order).
type walIndex struct {
	file *os.File
	data []byte
}

// A walHeader is one copy of the header.
type walHeader [6]uint64

// is reports whether the header is h. One that is being written is not.
func (w *walIndex) is(h *walHeader) bool {
	now := w.copyOf(0)
	for i := range h {
		if atomic.LoadUint64(&now[i]) != h[i] {
			return false
		}
	}
	return h[0] != 0 // a zero header is of no state
}

// header returns the header, or a zero one if it is being written all the time.
func (w *walIndex) header() *walHeader {
	for range 100 {
		var h walHeader
		first, second := w.copyOf(0), w.copyOf(1)
		for i := range h {
			h[i] = atomic.LoadUint64(&first[i])
		}
		same := true
		for i := range h {
			same = same && atomic.LoadUint64(&second[i]) == h[i]
		}
		if same {
			return &h
		}
	}
	return &walHeader{}
}

func (w *walIndex) copyOf(i uintptr) *walHeader {
	return (*walHeader)(unsafe.Pointer(&w.data[i*unsafe.Sizeof(walHeader{})])) //nolint:gosec // the page begins with both copies
}

// changes returns the number of commits, which wraps: the third 32 bits.
func (h *walHeader) changes() uint32 {
	return *(*uint32)(unsafe.Pointer(&h[1])) //nolint:gosec // in the machine's byte order
}

// follows reports whether h is of the state after so many commits since before.
func (h *walHeader) follows(before *walHeader, commits uint32) bool {
	return h[0] != 0 && before[0] != 0 && h.changes()-before.changes() == commits
}

// views are the walIndexes of this process. To close any descriptor of a file
// drops all locks that the process holds on it (POSIX, fcntl), those of SQLite
// among them: so each file has one, until its last database is closed.
var views = struct {
	sync.Mutex
	byPath map[string]*sharedView
}{byPath: make(map[string]*sharedView)}

type sharedView struct {
	*walIndex
	users int
}

// openIndex returns the view of the log's index of the database at path, which
// has an open connection; closeIndex gives it back when there is none any more.
func openIndex(path string) (*walIndex, error) {
	views.Lock()
	defer views.Unlock()
	if v, ok := views.byPath[path]; ok {
		if !v.shows(path + "-shm") {
			return nil, errors.New("the database was replaced while it was open")
		}
		v.users++
		return v.walIndex, nil
	}
	w, err := mapIndex(path + "-shm")
	if err != nil {
		return nil, err
	}
	views.byPath[path] = &sharedView{w, 1}
	return w, nil
}

// shows reports whether the view is of the file that is at path now.
func (w *walIndex) shows(path string) bool {
	now, err := os.Stat(path)
	if err != nil {
		return false
	}
	own, err := w.file.Stat()
	return err == nil && os.SameFile(own, now)
}

func closeIndex(path string) {
	views.Lock()
	defer views.Unlock()
	v, ok := views.byPath[path]
	if !ok {
		return
	}
	if v.users--; v.users == 0 {
		delete(views.byPath, path)
		v.close()
	}
}
