package webhook

import (
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const five, none = 5 * 24 * time.Hour, time.Duration(-1)
	for name, c := range map[string]struct {
		tries   int
		answer  Answer
		random  float64
		state   DeliveryState
		pause   time.Duration
		disable time.Duration // none if it says nothing against the webhook
	}{
		"success":           {1, Answer{Status: 204}, 0.5, Delivered, 0, none},
		"first":             {1, Answer{Status: 500}, 0.5, Pending, 5 * time.Second, five},
		"least":             {2, Answer{}, 0, Pending, 270 * time.Second, five},
		"most":              {2, Answer{}, 0.999999999, Pending, 330*time.Second - time.Microsecond, five},
		"redirect":          {3, Answer{Status: 302}, 0.5, Pending, 30 * time.Minute, five},
		"ninth":             {9, Answer{Status: 404}, 0.5, Pending, 24 * time.Hour, five},
		"tenth":             {10, Answer{Status: 404}, 0.5, Failed, 0, five},
		"gone":              {1, Answer{Status: 410}, 0.5, Failed, 0, 0},
		"asked to wait":     {1, Answer{Status: 503, RetryAfter: time.Hour}, 0.5, Pending, time.Hour, five},
		"asked for less":    {3, Answer{Status: 429, RetryAfter: time.Second}, 0.5, Pending, 30 * time.Minute, five},
		"success with wait": {1, Answer{Status: 200, RetryAfter: time.Hour}, 0.5, Delivered, 0, none},
	} {
		tr := Outcome{Tries: c.tries, At: at, Answer: c.answer}
		tr.decide(c.random)
		var want time.Time
		if c.pause > 0 {
			want = at.Add(c.pause)
		}
		disable := tr.DisableAfter
		if tr.DisableReason == "" {
			disable = none
		}
		if tr.State != c.state || tr.Next.Sub(want).Abs() > time.Microsecond || disable != c.disable {
			t.Errorf("%s: %s, next %v, disable after %v (%s); want %s, %v, %v", name, tr.State, tr.Next, disable, tr.DisableReason, c.state, want, c.disable)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"-5":                            0,
		"90":                            90 * time.Second,
		"999999999999":                  24 * time.Hour,
		"99999999999999999999":          24 * time.Hour,
		"-99999999999999999999":         0,
		"soon":                          0,
		"Sun, 01 Mar 2026 12:01:00 GMT": time.Minute,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
		"Sun, 08 Mar 2026 12:00:00 GMT": 24 * time.Hour,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}
