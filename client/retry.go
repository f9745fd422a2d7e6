package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// A Retry says when a request is repeated.
//
// Repeated are requests that were refused by the rate limit or a ban, which have no effect; and, after a failure of the
// network or the server, those whose repetition does no harm: GET, PUT, DELETE, and POST, which has an Idempotency-Key. A
// PATCH is then left to the caller. The repetition of a DELETE whose first answer was lost is answered with 404.
type Retry struct {
	Attempts   int           // requests at most, the first included; 1 or less repeats nothing
	Backoff    time.Duration // the longest first pause, if the server names none; each next one may be twice as long
	MaxBackoff time.Duration // the longest such pause
	MaxWait    time.Duration // the longest Retry-After that is waited for; a longer one is an error at once
}

// DefaultRetry returns the policy of New: five attempts, pauses of up to 0.5 s, 1 s, 2 s, 4 s, and a Retry-After of up to
// two minutes, which is more than the minute window takes.
func DefaultRetry() Retry {
	return Retry{Attempts: 5, Backoff: 500 * time.Millisecond, MaxBackoff: 30 * time.Second, MaxWait: 2 * time.Minute}
}

// An Attempt is a request that failed and will be repeated.
type Attempt struct {
	Operation string        // the operationId of the description
	Number    int           // of the attempt that failed, from 1
	Err       error         // why: an *Error, or one of the network
	Wait      time.Duration // before the next attempt
}

// backoff returns the pause after a failed attempt: random between a half and the whole of what doubles each time.
func (r Retry) backoff(attempt int) time.Duration {
	most := r.MaxBackoff
	if shift := attempt - 1; shift < 32 && r.Backoff<<shift>>shift == r.Backoff {
		most = min(most, r.Backoff<<shift)
	}
	if most <= 1 {
		return max(most, 0)
	}
	return most/2 + rand.N(most/2) //nolint:gosec // a pause is no secret
}

// wait returns how long to wait after err, and false if the request is not to be repeated.
func (r Retry) wait(method string, err error, attempt int) (time.Duration, bool) {
	if attempt >= r.Attempts || !repeatable(method, err) {
		return 0, false
	}
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= r.MaxWait
	}
	return r.backoff(attempt), true
}

// repeatable reports whether another attempt may succeed and does no harm.
func repeatable(method string, err error) bool {
	e, answered := errors.AsType[*Error](err)
	switch {
	case answered && e.Status == http.StatusTooManyRequests, answered && e.Code == CodeIdempotencyInProgress:
		return true
	case method == http.MethodPatch:
		return false
	case answered:
		return e.Status == http.StatusInternalServerError || e.Status == http.StatusBadGateway ||
			e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
	}
	_, lost := errors.AsType[*transportError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return lost && !untrusted
}

// A transportError is a request that got no whole answer.
type transportError struct{ err error }

func (e *transportError) Error() string { return "petstore: " + e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// retryAfter returns how long an answer asks to wait, or 0. The petstore answers whole seconds; a proxy may answer a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// pause waits for d. It returns false at once if ctx would end before, and when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// hold notes that the server refuses for a while, so that no other goroutine asks in vain.
func (c *Client) hold(wait time.Duration, refusal *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(wait); until.After(c.refused) {
		c.refused, c.refusal = until, refusal
	}
}

// held returns for how long the server still refuses, and the refusal as if it were answered now; nil if it does not.
func (c *Client) held() (time.Duration, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := time.Until(c.refused)
	if c.refusal == nil || wait <= 0 {
		return 0, nil
	}
	refusal := *c.refusal
	refusal.RetryAfter = wait
	return wait, &refusal
}

// waitForOthers waits until the server no longer refuses, as another goroutine learned. If ctx would end before, it
// returns the refusal.
func (c *Client) waitForOthers(ctx context.Context) error {
	for wait, refusal := c.held(); refusal != nil; wait, refusal = c.held() {
		if !pause(ctx, wait) {
			return abandoned(ctx, refusal)
		}
	}
	return nil
}

// abandoned returns err, for which there is no time to wait, together with the end of ctx if that has come.
func abandoned(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("petstore: %w, while waiting after: %w", context.Cause(ctx), err)
}
