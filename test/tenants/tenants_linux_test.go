package tenants

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestTenants holds each row at each size of memory and over each protocol. The server
// lives, the modest workspace is answered promptly, its webhook hears, and what the
// greedy held comes back when they have gone.
func TestTenants(t *testing.T) {
	sizes := []int{64}
	if *matrix {
		sizes = []int{64, 128, 1024}
	}
	for _, size := range sizes {
		for _, r := range rows() {
			protocols := r.protocols
			if *matrix {
				protocols += r.matrix
			}
			for _, protocol := range protocols {
				t.Run(fmt.Sprintf("%d MiB/HTTP %c/%s", size, protocol, r.name), func(t *testing.T) {
					r.withstand(t, newSite(t, size<<20, protocol == '2'), newSite(t, size<<20, protocol == '2'))
				})
			}
		}
	}
}

// alone is how long the modest workspace is measured before the others come.
const alone = 200 * time.Millisecond

// withstand lets the greedy workspaces hold what the row says of s. They ask nothing of
// apart, another server on the same machine. The modest workspace asks both: how long it
// waits there shows how busy the processors are, which run the clients of all, too.
func (r *row) withstand(t *testing.T, s, apart *site) {
	if r.prepare != nil {
		r.prepare(t, s)
	}
	m, err := s.newModest()
	must(t, err)
	defer m.leave()
	calm := apart.newClient()
	defer calm.leave()
	before := m.mix(alone)
	took, failed := m.run()
	t.Logf("alone: %v; %s", before, list(took))
	if len(before.failed)+len(failed) > 0 {
		t.Fatalf("without the others: %s, %s", list(before.failed), list(failed))
	}
	was, err := s.state()
	must(t, err)
	g := s.besiege(r)
	defer g.lift()
	pause(t.Context(), alone) // they connect
	if r.begun != nil {
		r.begun(t, s)
	}
	r.judge(t, m, calm)
	m.leave()
	calm.leave()
	t.Logf("%d connections were let go; the process had %d MiB at most", g.opened.Load(), s.peak(t)>>20)
	s.ends(t, r, g, was)
}

const (
	// noise is how long another process may have a processor now and then.
	noise = 10 * time.Millisecond

	// busy is a p99 that is no fault of the server where other tests run beside this one:
	// a server that works more waits longer for a processor. The matrix has the machine
	// for itself.
	busy = 2 * time.Second

	// mostEver and soon are bounds of the matrix, whatever the other server does: for p99,
	// and for a webhook to hear.
	mostEver = 500 * time.Millisecond
	soon     = 2 * time.Second
)

// bound returns what p99 may be among the greedy, if it is so much apart from them.
func bound(apart time.Duration) time.Duration {
	if *matrix {
		return min(3*apart+noise, mostEver)
	}
	return max(3*apart+noise, busy)
}

// judge measures the modest workspace among the others, and at the same time where they
// are not. What else runs on the machine may delay it more here than there: the best of
// five measurements counts. Nothing excuses a refusal.
func (r *row) judge(t *testing.T, m, calm *modest) {
	t.Helper()
	for n := range 5 {
		there := make(chan sample)
		go func() { there <- calm.mix(*holdTime) }()
		among, apart := m.mix(*holdTime), <-there
		if !m.lives() {
			return
		}
		t.Logf("among: %v; apart: %v; %s", among, apart, m.metrics())
		if len(among.failed)+len(apart.failed) > 0 {
			t.Errorf("of the modest workspace's requests failed: %s; apart from the others: %s", list(among.failed), list(apart.failed))
			break
		}
		most := bound(apart.p99())
		if among.p99() <= most {
			break
		}
		if n == 4 {
			t.Errorf("p99 = %v, want %v or less, as it was %v apart from the others", short(among.p99()), short(most), short(apart.p99()))
		}
	}
	took, failed := m.run()
	t.Logf("among: %s", list(took))
	if len(failed) > 0 && m.lives() {
		t.Errorf("of the modest workspace's errands failed: %s", list(failed))
	}
	if *matrix && took["webhook"] > soon {
		t.Errorf("its webhook heard after %v, want %v at most", took["webhook"], soon)
	}
}

// peak returns the most bytes that the process had, if it lives.
func (s *site) peak(t *testing.T) int {
	if !s.lives() {
		return 0
	}
	return servertest.PeakMemory(t, s.Cmd.Process.Pid)
}

// ends checks how the server does when the greedy go, and that it can be stopped.
func (s *site) ends(t *testing.T, r *row, g *siege, was state) {
	t.Helper()
	if !s.lives() {
		<-s.Ended
		t.Fatalf("the server ended: %v\n%s", s.Err, s.logTail())
	}
	if peak := s.peak(t); !s.capped && peak > s.memory {
		t.Errorf("the server had %d MiB, want %d at most", peak>>20, s.memory>>20)
	}
	if !r.keeps {
		g.lift()
		s.recovers(t, was)
	}
	began := time.Now()
	if err := s.Stop(); err != nil {
		t.Errorf("the stop: %v\n%s", err, s.logTail())
	}
	t.Logf("it stopped within %v", time.Since(began).Round(time.Millisecond))
	s.receivers.release()
	for line := range strings.Lines(s.LogText()) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("the log has a line that is no JSON: %.200s", line)
			break
		}
	}
}
