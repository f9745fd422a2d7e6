package httpapi

import (
	"bytes"
	"strings"
	"sync"
)

// A cache holds the answers to GETs. An answer is valid while its workspace has the
// version that it had before the store was read. A full cache drops all answers and
// begins anew. A nil cache holds nothing.
type cache struct {
	version func(workspace int64) (version uint64, known bool)
	most    int64 // bytes

	mu      sync.RWMutex
	answers map[target]cached
	size    int64 // in bytes
}

// A target is the path and the query of a request, as they were sent.
type target struct {
	workspace   int64
	path, query string
}

type cached struct {
	*representation
	version uint64
}

// Limits of a cache.
const (
	entrySize   = 368      // bytes that one takes besides its texts
	longestPath = 512      // bytes of a path with its query
	longestBody = 12 << 10 // bytes
)

// newCache returns a cache, or nil if version is nil. held is the most bytes that it
// takes.
func newCache(version func(workspace int64) (uint64, bool), held int64) *cache {
	if version == nil {
		return nil
	}
	return &cache{version: version, most: held, answers: map[target]cached{}}
}

// answer answers a GET from the cache, or else calls read and caches its answer.
func (c *cache) answer(x *exchange, read handler) error {
	if c == nil {
		return read(x)
	}
	at := target{x.shop(), x.r.URL.Path, x.r.URL.RawQuery}
	version, known := c.version(at.workspace)
	if !known {
		return read(x)
	}
	if held, ok := c.find(at); ok && held.version == version {
		return x.represent(held.representation)
	}
	err := read(x)
	if err == nil && x.shown != nil && len(x.shown.body) <= longestBody && len(at.path)+len(at.query) <= longestPath {
		if x.shown.compressed == nil { // a compressed one is long, and uses most of its capacity
			x.shown.body = bytes.Clone(x.shown.body)
		}
		c.put(at, cached{x.shown, version})
	}
	return err
}

func (c *cache) find(at target) (cached, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	held, ok := c.answers[at]
	return held, ok
}

func (c *cache) put(at target, held cached) {
	at.path, at.query = strings.Clone(at.path), strings.Clone(at.query) // they may share memory with the whole head of the request
	size := held.size(at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if replaced, ok := c.answers[at]; ok {
		c.size -= replaced.size(at)
	}
	if c.size+size > c.most {
		c.answers, c.size = map[target]cached{}, 0
	}
	c.answers[at] = held
	c.size += size
}

// size returns how many bytes an answer takes. It includes the compressed copy, which
// may be made later.
func (held cached) size(at target) int64 {
	body := cap(held.body)
	if held.compressed != nil {
		body += len(held.body)
	}
	return int64(entrySize + len(at.path) + len(at.query) + len(held.link) + body)
}
