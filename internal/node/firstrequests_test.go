package node

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFirstRequestsWaiting(t *testing.T) {
	t.Parallel()
	const fresh, silent = 0, 2 * incompleteTimeout
	agreed := slices.Clip([]http.ConnState{http.StateNew, http.StateActive, http.StateIdle}) // as net/http begins HTTP/2
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
		{"has agreed on HTTP/2", agreed, fresh, true},
		{"asks for nothing over HTTP/2", agreed, firstRequestTimeout, false},
		{"asks over HTTP/2", append(agreed, http.StateActive), silent, true},
		{"was answered over HTTP/2", append(agreed, http.StateActive, http.StateIdle), fresh, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var a firstRequests
			one, other := net.Pipe()
			t.Cleanup(func() { one.Close(); other.Close() })
			if strings.Contains(test.name, "HTTP/2") {
				one = modern{one}
			}
			for _, state := range test.states {
				a.note(one, state)
			}
			if got := a.waiting(time.Now().Add(test.after)); got != test.want {
				t.Errorf("waiting for a connection that %s = %v, want %v", test.name, got, test.want)
			}
		})
	}
}

// A modern connection speaks HTTP/2.
type modern struct{ net.Conn }

func (modern) HTTP2() bool { return true }
