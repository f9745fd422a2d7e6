package node

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/http1"
)

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	l, err := tcp().Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// ask returns the status of /readyz and what it says.
func ask(t *testing.T, l net.Listener) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(LocalURL(l.Addr().String()) + "/readyz")
	if err != nil {
		return "no answer"
	}
	defer resp.Body.Close() // only read
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.Status + " " + string(body)
}

func TestOperationsAnswerWhileTheServiceStarts(t *testing.T) {
	t.Parallel()
	s := newServers(slog.New(slog.DiscardHandler))
	l := listenLocal(t)
	s.startOps(l, nil)
	if got := ask(t, l); !strings.HasPrefix(got, "503") || !strings.Contains(got, "the service is starting") {
		t.Errorf("while starting: %q", got)
	}
	s.phase.set(nil)
	if got := ask(t, l); !strings.HasPrefix(got, "200") {
		t.Errorf("serving: %q", got)
	}
	s.phase.set(errStopping)
	if got := ask(t, l); !strings.HasPrefix(got, "503") || !strings.Contains(got, "the service is stopping") {
		t.Errorf("while stopping: %q", got)
	}
	if err := s.stop(time.Second); err != nil {
		t.Error(err)
	}
	if got := ask(t, l); got != "no answer" {
		t.Errorf("after the end: %q", got)
	}
}

// slowServer serves requests that last until release; began receives one value
// for each.
func slowServer(began chan<- struct{}, release <-chan struct{}) *http.Server {
	return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	})}
}

// statusOf makes a request and returns its status, 0 for none.
func statusOf(ctx context.Context, l net.Listener) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, LocalURL(l.Addr().String()), nil)
	if err != nil {
		return 0
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestRequestsInFlightFinish: a request, or what an operator asked for, such as a backup,
// is answered if there is time, and else its end is told.
func TestRequestsInFlightFinish(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operator bool
		within   time.Duration
		status   int
		err      string
	}{
		"in time":             {false, time.Minute, http.StatusNoContent, ""},
		"too late":            {false, time.Millisecond, 0, "requests were cut off after 1ms"},
		"operators, in time":  {true, time.Minute, http.StatusNoContent, ""},
		"operators, too late": {true, time.Millisecond, 0, "requests of operators were cut off after 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, release := make(chan struct{}), make(chan struct{})
			s := newServers(slog.New(slog.DiscardHandler))
			l := listenLocal(t)
			if server := slowServer(began, release); test.operator {
				s.startOps(l, nil)
				s.operations.show(server.Handler)
			} else {
				s.startPublic(server, http1.New(server, http1.Options{}), l)
			}
			status, stopped := make(chan int), make(chan error)
			go func() { status <- statusOf(t.Context(), l) }()
			<-began
			go func() { stopped <- s.stop(test.within) }()
			if test.status != 0 {
				s.running.Wait() // the server takes no more
				close(release)
			}
			if got := <-status; got != test.status {
				t.Errorf("the request in flight was answered %d, want %d", got, test.status)
			}
			if err := <-stopped; (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("stop = %v, want %q", err, test.err)
			}
		})
	}
}
