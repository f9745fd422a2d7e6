package page

import (
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/usage"
)

func TestRoundUp(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]int64{1: 1, 2: 2, 3: 4, 5: 6, 7: 8, 9: 10, 11: 20, 210: 400, 1000: 1000, 8001: 10_000} {
		if got := roundUp(n); got != want {
			t.Errorf("roundUp(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1_234_567: "1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("number(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestDraw: rows stand in the bars of their time, and what is outside of the span in none.
func TestDraw(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	row := func(ago time.Duration, n int64) usage.Row {
		r := usage.Row{Start: now.Add(-ago).Truncate(time.Minute).Unix()}
		r.Requests[usage.Limited] = n
		return r
	}
	c := spans[0].chart([]usage.Row{row(0, 8), row(59*time.Minute, 4), row(60*time.Minute, 99), row(-time.Minute, 99)}, now)
	if want := "M0 8h.75v-4h-.75zM59 8h.75v-8h-.75z"; c.Path(int(usage.Limited)) != want || c.Path(int(usage.Success)) != "" || c.Top != 8 {
		t.Errorf("the chart is %q up to %d, want %q up to 8", c.Path(int(usage.Limited)), c.Top, want)
	}
	if got := c.Says(59); !strings.HasPrefix(got, "8") || len(c.Bars) != 60 {
		t.Errorf("the last of %d bars says %q", len(c.Bars), got)
	}
}
