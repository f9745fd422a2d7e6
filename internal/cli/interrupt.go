package cli

import (
	"context"
	"io"
)

// interruptible returns a reader of from whose Read returns the error of ctx
// when ctx ends, also while from waits for somebody to write. A read that is
// given up so takes what comes next, and ends with it.
func interruptible(ctx context.Context, from io.Reader) io.Reader {
	return &interruptibleReader{ctx: ctx, from: from}
}

type interruptibleReader struct {
	ctx  context.Context //nolint:containedctx // a Read has no room for it
	from io.Reader
}

// A piece is what one read brought.
type piece struct {
	n   int
	err error
}

// Read implements [io.Reader].
func (r *interruptibleReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	own := make([]byte, len(p)) // the read that is given up must not write into p
	done := make(chan piece, 1)
	go func() {
		n, err := r.from.Read(own)
		done <- piece{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}
