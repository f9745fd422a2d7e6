package ratelimit

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueue: callers that come while others are answered go together, in the order in which they came, each once, and no
// more batches are under way than may be.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers = 200
		var (
			l             queue
			mu            sync.Mutex
			underway, top int
			sizes         []int
			answered      = map[int64]int{}
			all           sync.WaitGroup
		)
		carry := func(batch []*waiter) {
			mu.Lock()
			underway++
			top = max(top, underway)
			sizes = append(sizes, len(batch))
			for i, w := range batch {
				answered[w.q.sequence]++
				if w.q.sequence != batch[0].q.sequence+int64(i) {
					t.Errorf("caller %d is the %dth of the batch that caller %d carries", w.q.sequence, i, batch[0].q.sequence)
				}
			}
			mu.Unlock()
			time.Sleep(time.Millisecond) // the server's time
			mu.Lock()
			underway--
			mu.Unlock()
		}
		for i := range int64(callers) {
			all.Go(func() { l.join(&waiter{q: &question{sequence: i}}, batches, carry) })
			synctest.Wait() // so that they come one after the other
		}
		all.Wait()
		if top != batches {
			t.Errorf("%d batches at once, want %d", top, batches)
		}
		// The first go each for itself. The others are shared out, but go by no fewer than batchMin.
		if want := (callers - batches + batches - 1) / batches; len(sizes) > batches+7 || sizes[0] != 1 || slices.Max(sizes) != want {
			t.Errorf("batches of %v, want %d at most", sizes, want)
		}
		for i := range int64(callers) {
			if answered[i] != 1 {
				t.Errorf("caller %d was answered %d times", i, answered[i])
			}
		}
		if l.underway != 0 || len(l.waiting) != 0 {
			t.Errorf("%d batches under way and %d callers waiting at the end", l.underway, len(l.waiting))
		}
	})
}
