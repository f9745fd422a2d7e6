package httpapi

import (
	"bytes"
	"cmp"
	"strings"
	"sync"
)

// A cache holds what GETs were answered with, each for as long as its workspace has the
// version that it had before the store was read. It holds two generations: when the
// younger one is full it becomes the older one, of which is forgotten what nobody asks
// for meanwhile. A nil cache holds nothing.
type cache struct {
	version    func(workspace int64) (version uint64, known bool)
	generation int64 // bytes that one takes at most

	mu           sync.RWMutex
	young, older map[target]cached
	size         int64 // of the younger generation, in bytes
}

// A target is what is asked for, as it was sent: the same text asks for the same.
type target struct {
	workspace   int64
	path, query string
}

type cached struct {
	*representation
	version uint64
}

// Bounds on what is held.
const (
	mostHeld    = 16 << 20 // bytes, of both generations
	entrySize   = 320      // bytes that one takes besides its texts
	longestPath = 512      // bytes of a path with its query
	longestBody = 12 << 10 // bytes
)

// newCache returns a cache by the versions of workspaces, nil without. It takes so many
// bytes at most; 0 is mostHeld.
func newCache(version func(workspace int64) (uint64, bool), held int64) *cache {
	if version == nil {
		return nil
	}
	return &cache{version: version, generation: cmp.Or(held, mostHeld) / 2, young: map[target]cached{}, older: map[target]cached{}}
}

// answer answers a GET by what is held, or else by read, whose answer it holds.
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
		if x.shown.zipped == nil { // a longer one fills most of its room
			x.shown.body = bytes.Clone(x.shown.body)
		}
		c.put(at, cached{x.shown, version})
	}
	return err
}

func (c *cache) find(at target) (cached, bool) {
	c.mu.RLock()
	held, ok := c.young[at]
	if ok {
		c.mu.RUnlock()
		return held, true
	}
	held, ok = c.older[at]
	c.mu.RUnlock()
	if ok {
		c.put(at, held)
	}
	return held, ok
}

func (c *cache) put(at target, held cached) {
	at.path, at.query = strings.Clone(at.path), strings.Clone(at.query) // they may be parts of all that was sent
	size := held.size(at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if replaced, ok := c.young[at]; ok {
		c.size -= replaced.size(at)
	}
	if c.size+size > c.generation {
		c.young, c.older, c.size = map[target]cached{}, c.young, 0
	}
	c.young[at] = held
	c.size += size
}

// size returns how many bytes an answer takes, with its compressed copy even if nobody
// has asked for that yet.
func (held cached) size(at target) int64 {
	body := cap(held.body)
	if held.zipped != nil {
		body += len(held.body)
	}
	return int64(entrySize + len(at.path) + len(at.query) + len(held.link) + body)
}
