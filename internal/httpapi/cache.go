package httpapi

import (
	"encoding/binary"

	"github.com/VictoriaMetrics/fastcache"
)

// A cache holds the answers to GETs. An answer is valid while its workspace has the
// version that it had before the store was read. A full cache drops the oldest answers.
// A nil cache holds nothing.
type cache struct {
	version func(workspace int64) (version uint64, known bool)
	answers *fastcache.Cache // each is a version, in 8 bytes, and an encoded representation
}

// Limits of a cache, in bytes.
const (
	cacheSize     = 32 << 20 // the least that fastcache takes; its index takes up to half as much on Go's heap
	longestTarget = 512      // a path with its query
	longestBody   = 12 << 10
)

// newCache returns a cache, or nil if version is nil or there is no memory.
func newCache(version func(workspace int64) (uint64, bool)) (c *cache) {
	if version == nil {
		return nil
	}
	defer func() {
		if recover() != nil { // memory cannot be mapped; fastcache is of no use to the process after that
			c = nil
		}
	}()
	answers := fastcache.New(cacheSize)
	answers.Set([]byte{0}, nil) // maps the memory, which would panic with locks held while a request is answered
	return &cache{version, answers}
}

// answer answers a GET from the cache, or else calls read and caches its answer.
func (c *cache) answer(x *exchange, read handler) error {
	if c == nil || len(x.r.URL.Path)+len(x.r.URL.RawQuery) > longestTarget {
		return read(x)
	}
	version, known := c.version(x.shop())
	if !known {
		return read(x)
	}
	var short [64]byte
	key := appendCacheKey(short[:0], x)
	x.held = c.answers.Get(x.held[:0], key)
	if len(x.held) > 8 && binary.LittleEndian.Uint64(x.held) == version {
		return x.represent(decodeRepresentation(x.held[8:]))
	}
	err := read(x)
	if err != nil || x.shown == nil {
		return err
	}
	if x.shown = x.shown.compressedFor(x); len(x.shown.body) <= longestBody {
		x.held = x.shown.encode(binary.LittleEndian.AppendUint64(x.held[:0], version))
		c.answers.Set(key, x.held)
	}
	return nil
}

// appendCacheKey appends what an answer depends on: the workspace, whether the client
// accepts a compressed body, the path, and the query as it was sent.
func appendCacheKey(dst []byte, x *exchange) []byte {
	dst = binary.AppendVarint(dst, x.shop())
	if acceptsGzip(x) {
		dst = append(dst, 'z')
	}
	dst = append(append(dst, x.r.URL.Path...), '?')
	return append(dst, x.r.URL.RawQuery...)
}

// encode appends r, which is JSON, to dst: each field after its length, and then the body.
func (r *representation) encode(dst []byte) []byte {
	for _, field := range []string{r.encoding, r.etag, r.link, r.more} {
		dst = append(binary.AppendUvarint(dst, uint64(len(field))), field...)
	}
	return append(dst, r.body...)
}

// decodeRepresentation returns what encode appended to nothing. Its body is a part of b.
func decodeRepresentation(b []byte) *representation {
	r := new(representation)
	for _, field := range []*string{&r.encoding, &r.etag, &r.link, &r.more} {
		length, size := binary.Uvarint(b)
		end := size + int(length) //nolint:gosec // it is that of a string
		*field, b = string(b[size:end]), b[end:]
	}
	r.body = b
	return r
}
