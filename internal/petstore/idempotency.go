package petstore

import (
	"sync"
	"time"
)

// KeepReceipts is how long an idempotency key is remembered, by the clock of the server:
// one that is set ahead forgets it earlier, one that is set back later.
const KeepReceipts = 24 * time.Hour

// An Idempotency identifies a request that must happen once.
type Idempotency struct {
	Operation   string   // method and path
	Key         string   // the client's Idempotency-Key
	Fingerprint [32]byte // of the body; the same for the same JSON value
}

// A Receipt is the answer to a request that happened.
type Receipt struct {
	ID   int64  // of the row that was made
	Body []byte // its canonical form, as first answered
}

// Replay decides on a receipt found under the same workspace, operation and
// key: it is answered again if the request is the same and the receipt is not
// older than KeepReceipts. It returns false for a receipt that is to be replaced, and
// idempotency_key_reused for another request.
func (i *Idempotency) Replay(fingerprint [32]byte, kept, now Time) (bool, error) {
	if now.Millis-kept.Millis >= KeepReceipts.Milliseconds() {
		return false, nil
	}
	if fingerprint != i.Fingerprint {
		return false, i.reused()
	}
	return true, nil
}

func (i *Idempotency) reused() error {
	return Errorf(CodeIdempotencyKeyReused, "The Idempotency-Key %q was used with another body.", i.Key)
}

// running holds the requests with an Idempotency-Key that are under way here.
type running struct {
	mu    sync.Mutex
	calls map[call][32]byte
}

type call struct {
	workspace      int64
	operation, key string
}

// start notes the request and returns the function that ends it, or
// idempotency_in_progress if one with the same key runs.
func (r *running) start(workspace int64, i *Idempotency) (end func(), err error) {
	if i == nil {
		return func() {}, nil
	}
	c := call{workspace, i.Operation, i.Key}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fingerprint, ok := r.calls[c]; ok {
		if fingerprint != i.Fingerprint {
			return nil, i.reused()
		}
		return nil, &Error{
			Code:       CodeIdempotencyInProgress,
			Message:    "A request with the same Idempotency-Key is still running.",
			RetryAfter: time.Second,
		}
	}
	if r.calls == nil {
		r.calls = make(map[call][32]byte)
	}
	r.calls[c] = i.Fingerprint
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, c)
	}, nil
}
