package http1

import (
	"context"
	"sync"
)

// A callContext is the context of one plain request. It ends with the answer.
// Most requests are answered before anybody asks for its end: so it is cheaper
// than one of context.WithCancel.
type callContext struct {
	context.Context //nolint:containedctx // it is one

	mu   sync.Mutex
	done chan struct{} // nil until somebody asks
	err  error
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = context.Canceled
	if c.done != nil {
		close(c.done)
	}
}
