package cli

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "1h30m": 90 * time.Minute, "1ns": 1,
		"0": 0, "0d": 0, "": 0, "d": 0, "-1d": 0, "1d-2h": 0, "30": 0, "soon": 0, "99999d": 0, "65535d2562047h": 0,
	} {
		var got time.Duration
		err := duration(&got, 1).Set(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("the duration %q = %v, %v, want %v", text, got, err, want)
		}
	}
}
