package ratelimit

import (
	"bytes"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// restMax bounds what waits to be written, in bytes: some thousand calls.
const restMax = 1 << 20

var errFull = errors.New("the server takes nothing any more")

// An unhurried is a socket that ends for nobody's hurry. A write lasts until the end of its caller at most; what the peer
// has not taken by then is written beside, in order, before what comes after it. The peer has a second for it; then the
// socket is closed.
type unhurried struct {
	net.Conn

	mu   sync.Mutex
	end  time.Time // of the writes to come; zero: none
	rest []byte    // being written beside
}

// waitUntil says until when the writes to come may wait.
func (u *unhurried) waitUntil(end time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.end = end
}

// Write takes all of b, unless the socket has failed, or too much is waiting.
func (u *unhurried) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.rest) > 0 {
		if len(u.rest)+len(b) > restMax {
			return 0, errFull
		}
		u.rest = append(u.rest, b...)
		return len(b), nil
	}
	if err := u.SetWriteDeadline(u.end); err != nil {
		return 0, err
	}
	n, err := u.Conn.Write(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	u.rest = bytes.Clone(b[n:])
	go u.finish()
	return len(b), nil
}

// finish writes what is left, and what comes meanwhile.
func (u *unhurried) finish() {
	for rest := u.left(0); len(rest) > 0; rest = u.left(len(rest)) {
		err := u.SetWriteDeadline(time.Now().Add(connecting))
		if err == nil {
			_, err = u.Conn.Write(rest)
		}
		if err != nil {
			_ = u.Close() // whoever reads is told
			return
		}
	}
}

// left returns what is to be written after n bytes more have been.
func (u *unhurried) left(n int) []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rest = u.rest[n:]
	return u.rest
}
