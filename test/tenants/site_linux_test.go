package tenants

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// A site is a server on a copy of the installation.
type site struct {
	*installation
	*servertest.Server
	dir      string
	http2    bool // over which clients speak
	capacity int  // of connections
	capped   bool // the kernel holds the process to its memory
	memory   int  // that it may have
	client   *http.Client

	mu       sync.Mutex
	webhooks map[string]string // an id of each greedy workspace, by its name
}

// newSite starts a server with so many bytes of memory.
func newSite(t *testing.T, memory int, http2 bool) *site {
	t.Helper()
	in, err := tenants()
	must(t, err)
	s := &site{installation: in, dir: t.TempDir(), http2: http2, memory: memory, capacity: memory / 2 / 4 / (64 << 10)}
	must(t, in.copyTo(s.dir))
	must(t, os.Mkdir(s.temporary(), 0o700))
	env := []string{fmt.Sprintf("GOMEMLIMIT=%d", memory/2), "TMPDIR=" + s.temporary()}
	if s.Server, err = petstore.Serve(servertest.Options{Dir: s.dir, Flags: serveFlags(), Env: env}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	if err := s.CapMemory(t, memory); err != nil {
		t.Logf("the server has no limit of memory: %v", err)
	} else {
		s.capped = true
	}
	s.client = &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{MaxIdleConnsPerHost: greedyWorkspaces}}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

func (s *site) addr() string { return strings.TrimPrefix(s.URL, "http://") }

// temporary is the folder for the server's temporary files.
func (s *site) temporary() string { return filepath.Join(s.dir, "tmp") }

// lives reports whether the process does. What was killed may be there still, but has no
// memory.
func (s *site) lives() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Cmd.Process.Pid))
	return err == nil && strings.Contains(string(text), "VmHWM:")
}

// A state is what the process has.
type state struct {
	goroutines, descriptors, connections int
	heap                                 int // bytes that are in use after a collection
}

func (s state) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d connections, %d KiB of heap", s.goroutines, s.descriptors, s.connections, s.heap>>10)
}

// within reports whether there is hardly more than before. The runtime keeps half a KiB of
// each goroutine that has ended, of which there are more in more memory.
func (s state) within(before state, memory int) bool {
	return s.goroutines <= before.goroutines+20 && s.descriptors <= before.descriptors+10 &&
		s.connections <= before.connections+5 && s.heap <= before.heap+max(8<<20, memory/32)
}

// state collects garbage and asks for the metrics.
func (s *site) state() (now state, err error) {
	for _, path := range []string{"/debug/pprof/heap?gc=1", "/metrics"} {
		var text string
		if text, err = (ask{"GET", s.Ops + path, "", "", ""}).of(context.Background(), s.client); err != nil {
			return now, err
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			of := map[string]*int{
				"go_goroutines": &now.goroutines, "process_open_fds": &now.descriptors,
				"petstore_connections": &now.connections, "go_memstats_heap_alloc_bytes": &now.heap,
			}[name]
			var figure float64
			if _, err := fmt.Sscan(value, &figure); of != nil && err == nil {
				*of = int(figure)
			}
		}
	}
	return now, nil
}

// metrics returns what the server says of what is held, in short.
func (s *site) metrics() string {
	text, err := (ask{"GET", s.Ops + "/metrics", "", "", ""}).of(context.Background(), s.client)
	if err != nil {
		return err.Error()
	}
	var short []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, name := range []string{"petstore_connections ", "petstore_gate_inside", "petstore_event_streams", "petstore_webhook_in_flight", "go_goroutines "} {
			if strings.HasPrefix(line, name) {
				short = append(short, strings.TrimPrefix(line, "petstore_"))
			}
		}
	}
	return strings.Join(short, ", ")
}

// recovers waits until the server has what it had before the greedy came, and its
// temporary files are gone.
func (s *site) recovers(t *testing.T, before state) {
	t.Helper()
	began := time.Now()
	var now state
	var err error
	left := 0
	for deadline := began.Add(servertest.Patience); ; pause(t.Context(), 50*time.Millisecond) {
		if now, err = s.state(); err != nil {
			t.Errorf("no metrics when the greedy had gone: %v", err)
			return
		}
		files, _ := os.ReadDir(s.temporary())
		if left = len(files); now.within(before, s.memory) && left == 0 {
			t.Logf("as before after %v", time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%v after the greedy had gone: %v, %d temporary files; before they came: %v", servertest.Patience, now, left, before)
			return
		}
	}
}

// logTail returns the end of the server's log.
func (s *site) logTail() string {
	text := s.LogText()
	return text[max(0, len(text)-500):]
}
