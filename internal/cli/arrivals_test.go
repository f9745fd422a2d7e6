package cli

import (
	"net"
	"net/http"
	"testing"
	"time"
)

func TestArrivalsWaiting(t *testing.T) {
	t.Parallel()
	const fresh, silent = 0, 2 * silence
	for _, test := range []struct {
		name   string
		states []http.ConnState
		after  time.Duration
		want   bool
	}{
		{"just came", []http.ConnState{http.StateNew}, fresh, true},
		{"sends nothing", []http.ConnState{http.StateNew}, silent, false},
		{"has its request answered", []http.ConnState{http.StateNew, http.StateActive}, silent, true},
		{"was answered", []http.ConnState{http.StateNew, http.StateActive, http.StateIdle}, fresh, false},
		{"asks again", []http.ConnState{http.StateNew, http.StateActive, http.StateIdle, http.StateActive}, fresh, false},
		{"is gone", []http.ConnState{http.StateNew, http.StateClosed}, fresh, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var a arrivals
			one, other := net.Pipe()
			t.Cleanup(func() { one.Close(); other.Close() })
			for _, state := range test.states {
				a.note(one, state)
			}
			if got := a.waiting(time.Now().Add(test.after)); got != test.want {
				t.Errorf("waiting for a connection that %s = %v, want %v", test.name, got, test.want)
			}
		})
	}
}
