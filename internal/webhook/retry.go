package webhook

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// The pauses before the second try, the third and so on.
var pauses = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	jitter        = 0.1                // of a pause, more or less
	maxRetryAfter = 24 * time.Hour     // is heeded
	disableAfter  = 5 * 24 * time.Hour // without a success
)

// setOutcome says what comes of a try: the state of the delivery and when it is tried again.
// random is in [0,1).
func (t *Try) setOutcome(random float64) {
	switch {
	case t.Answer.OK():
		t.State = Delivered
		return
	case t.Answer.Status == http.StatusGone:
		t.State, t.Why = Failed, "its receiver answered 410"
		return
	}
	t.DisableAfter, t.Why = disableAfter, "nothing was delivered for five days"
	if t.Tries > len(pauses) {
		t.State = Failed
		return
	}
	pause := time.Duration(float64(pauses[t.Tries-1]) * (1 - jitter + 2*jitter*random))
	t.State, t.Next = Pending, t.At.Add(max(pause, t.Answer.RetryAfter))
}

// retryAfter reads the header Retry-After (RFC 9110 §10.2.3); 0 if it says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
