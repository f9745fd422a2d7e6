package servertest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A Herd is clients that send requests without a pause. None of them may fail.
type Herd struct {
	sent   atomic.Int64
	mu     sync.Mutex
	failed []string
	stop   context.CancelFunc
	all    sync.WaitGroup
}

// StartHerd starts a client with each transport. next returns the requests of a client,
// which are counted from 0, and the status that each must be answered with.
func StartHerd(transports []*http.Transport, next func(client, number int) (r Request, want int)) *Herd {
	ctx, stop := context.WithCancel(context.Background())
	h := &Herd{stop: stop}
	for i, transport := range transports {
		c := &http.Client{Timeout: Patience, Transport: transport}
		h.all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				r, want := next(i, n)
				h.one(c, r, want)
			}
			c.CloseIdleConnections()
		})
	}
	return h
}

func (h *Herd) one(c *http.Client, r Request, want int) {
	a, err := Send(context.Background(), c, r)
	if err != nil || a.Status != want {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.failed = append(h.failed, fmt.Sprintf("%v = %d %s, %v", r, a.Status, a.Body, err))
	}
	h.sent.Add(1)
}

// More waits until n more requests are answered, or for Patience.
func (h *Herd) More(n int64) {
	for until, deadline := h.sent.Load()+n, time.Now().Add(Patience); h.sent.Load() < until && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // between two polls
	}
}

// End returns how many requests were sent, and an error if one of them failed.
func (h *Herd) End() (sent int64, err error) {
	h.stop()
	h.all.Wait()
	if len(h.failed) > 0 {
		err = fmt.Errorf("%d of %d requests failed, such as %s", len(h.failed), h.sent.Load(), h.failed[0])
	}
	return h.sent.Load(), err
}
