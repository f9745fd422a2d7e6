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
)

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
func slowServer(began chan<- struct{}, release <-chan struct{}) frontend {
	return frontend{
		server: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusNoContent)
		})},
		wrap:  func(l net.Listener) net.Listener { return l },
		drain: func(context.Context) error { return nil },
	}
}

func TestRequestsInFlightFinish(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	s := newServers(slog.New(slog.DiscardHandler))
	l := listenLocal(t)
	s.startPublic(slowServer(began, release), l)
	status := make(chan int)
	go func() { status <- statusOf(t.Context(), l) }()
	<-began
	stopped := make(chan error)
	go func() { stopped <- s.stop(time.Minute) }()
	close(release)
	if got := <-status; got != http.StatusNoContent {
		t.Errorf("the request in flight was answered %d, want 204", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop = %v, want none", err)
	}
}

func TestRequestsThatLastAreCutOff(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	s := newServers(slog.New(slog.DiscardHandler))
	l := listenLocal(t)
	s.startPublic(slowServer(began, nil), l)
	status := make(chan int)
	go func() { status <- statusOf(t.Context(), l) }()
	<-began
	if err := s.stop(time.Millisecond); err == nil || !strings.Contains(err.Error(), "cut off after 1ms") {
		t.Errorf("stop = %v, want one that says that requests were cut off", err)
	}
	if got := <-status; got != 0 {
		t.Errorf("the request was answered %d, want none", got)
	}
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

// TestOperatorsRequestsInFlightFinish: what an operator asked for, such as a backup,
// is answered, in the time that the public requests leave, or its end is told.
func TestOperatorsRequestsInFlightFinish(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		within time.Duration
		status int
	}{"in time": {time.Minute, http.StatusNoContent}, "too late": {time.Millisecond, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, release := make(chan struct{}), make(chan struct{})
			s := newServers(slog.New(slog.DiscardHandler))
			l := listenLocal(t)
			s.startOps(l, nil)
			s.operations.show(slowServer(began, release).server.Handler)
			status := make(chan int)
			go func() { status <- statusOf(t.Context(), l) }()
			<-began
			stopped := make(chan error)
			go func() { stopped <- s.stop(test.within) }()
			if test.status != 0 {
				s.running.Wait() // the server takes no more
				close(release)
			}
			if got := <-status; got != test.status {
				t.Errorf("the request in flight was answered %d, want %d", got, test.status)
			}
			err := <-stopped
			if cut := err != nil && strings.Contains(err.Error(), "requests of operators were cut off after 1ms"); cut != (test.status == 0) || !cut && err != nil {
				t.Errorf("stop = %v", err)
			}
		})
	}
}
