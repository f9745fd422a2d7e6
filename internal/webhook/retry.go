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
	maxRetryAfter = 24 * time.Hour     // a longer one is shortened to this
	disableAfter  = 5 * 24 * time.Hour // without a success
)

// decide sets the state of the delivery after a try, when it is tried again, and whether
// it may disable the webhook. random is in [0,1).
func (o *Outcome) decide(random float64) {
	switch {
	case o.Answer.OK():
		o.State = Delivered
		return
	case o.Answer.Status == http.StatusGone:
		o.State, o.DisableReason = Failed, "its receiver answered 410"
		return
	}
	o.DisableAfter, o.DisableReason = disableAfter, "nothing was delivered for five days"
	if o.Tries > len(pauses) {
		o.State = Failed
		return
	}
	pause := time.Duration(float64(pauses[o.Tries-1]) * (1 - jitter + 2*jitter*random))
	o.State, o.Next = Pending, o.At.Add(max(pause, o.Answer.RetryAfter))
}

// retryAfter parses the header Retry-After (RFC 9110 §10.2.3). It returns 0 if there is
// none, or if it is not valid.
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
