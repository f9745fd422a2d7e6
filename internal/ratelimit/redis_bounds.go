package ratelimit

import (
	"errors"
	"net"
)

// replyMax bounds what one reply takes in memory, in bytes: the parts of a cluster in shreds take half of it.
const replyMax = 8 << 20

// elementSize is what an element of a list takes at least, in bytes.
const elementSize = 32

var errLong = errors.New("the server announces more than any command returns")

// A bounded connection ends before a reply that is longer than replyMax: who reads it sets aside the room that a length
// announces before any of it has come, and the process could end for a number.
type bounded struct {
	net.Conn

	kind   byte  // of the line that is being read; 0 before it
	number int64 // in the line, as far as it has come
	none   bool  // the number is negative
	bulk   int64 // bytes still to come of a string and its end
	open   int64 // elements still to come of the reply, but for the one that is being read
	taken  int64 // what the reply takes so far
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if !b.fits(p[:n]) {
		return 0, errLong
	}
	return n, err
}

// fits follows the replies, and reports whether they are within bounds. What is no reply at all ends the connection where
// it is read.
func (b *bounded) fits(p []byte) bool {
	for len(p) > 0 {
		if b.bulk > 0 {
			n := min(b.bulk, int64(len(p)))
			p = p[n:]
			if b.bulk -= n; b.bulk == 0 {
				b.next()
			}
			continue
		}
		if b.taken++; b.taken > replyMax {
			return false
		}
		b.letter(p[0])
		p = p[1:]
	}
	return b.taken <= replyMax
}

// letter takes one character of a line.
func (b *bounded) letter(c byte) {
	switch {
	case b.kind == 0:
		b.kind, b.number, b.none = c, 0, false
	case c == '\n':
		b.line()
	case c == '-':
		b.none = true
	case c >= '0' && c <= '9' && b.number <= replyMax:
		b.number = b.number*10 + int64(c-'0')
	}
}

// line takes the end of a line.
func (b *bounded) line() {
	kind := b.kind
	b.kind = 0
	switch {
	case kind == '$' && !b.none:
		b.taken += b.number
		b.bulk = b.number + int64(len("\r\n"))
	case kind == '*' && !b.none:
		b.taken += b.number * elementSize
		b.open += b.number
		b.next()
	default:
		b.next()
	}
}

// next goes on to the next element, or to the next reply.
func (b *bounded) next() {
	if b.open--; b.open < 0 {
		b.open, b.taken = 0, 0
	}
}
