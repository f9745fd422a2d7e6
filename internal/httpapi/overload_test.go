package httpapi

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fillGate has so many requests enter.
func fillGate(t *testing.T, g *gate, n int64) {
	t.Helper()
	for range n {
		if !g.enter(time.Now()) {
			t.Fatal("enter() = false while there is room")
		}
	}
}

// TestGateRefusesAfterItsPatience: the first of a burst wait long, those who come
// later only for a moment, and a burst after a rest is a new one.
func TestGateRefusesAfterItsPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		fillGate(t, g, gateCalm)
		for i, want := range []time.Duration{gateBurst, gatePatience, gateBurst} {
			if i == 2 {
				time.Sleep(gateRest + 1)
			}
			began := time.Now()
			if g.enter(time.Time{}) {
				t.Fatal("enter() = true though the gate is full")
			}
			if got := time.Since(began); got != want {
				t.Errorf("refusal %d after %v, want %v", i+1, got, want)
			}
		}
		if s := g.stats(); s.Refused != 3 || s.Waiting != 0 || s.Inside != gateCalm {
			t.Errorf("stats() = %+v, want three refused, nobody waiting, %d inside", s, gateCalm)
		}
	})
}

func TestGateAdmitsTheNewestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		fillGate(t, g, gateCalm)
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				if g.enter(time.Time{}) {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		for range 3 {
			g.leave()
			synctest.Wait()
		}
		all.Wait()
		if want := []int{2, 1, 0}; !slices.Equal(order, want) {
			t.Errorf("admitted in the order %v, want %v", order, want)
		}
	})
}

func TestGateBoundsThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		fillGate(t, g, gateCalm)
		var all sync.WaitGroup
		for range gateMost {
			all.Go(func() { g.enter(time.Time{}) })
		}
		synctest.Wait()
		began := time.Now()
		if g.enter(time.Time{}) || time.Since(began) != 0 {
			t.Errorf("a request too many was admitted or had to wait %v", time.Since(began))
		}
		all.Wait()
		if s := g.stats(); s.Refused != gateMost+1 {
			t.Errorf("stats() = %+v, want %d refused", s, gateMost+1)
		}
	})
}

// A station serves in order, one at a time.
type station struct {
	turn chan struct{} // not a mutex, on which the clock of a bubble would stand
	each time.Duration
}

func newStation(each time.Duration) *station { return &station{make(chan struct{}, 1), each} }

func (s *station) serve() {
	s.turn <- struct{}{}
	time.Sleep(s.each)
	<-s.turn
}

// A grouper serves all who wait together, as the writer of a store does: the
// fewer they are, the dearer is each.
type grouper chan chan struct{}

func (g grouper) serve() {
	done := make(chan struct{})
	g <- done
	<-done
}

// run serves until the channel is closed.
func (g grouper) run() {
	for first := range g {
		group := []chan struct{}{first}
		for more := true; more && len(group) < 256; {
			select {
			case next := <-g:
				group = append(group, next)
			default:
				more = false
			}
		}
		time.Sleep(2*time.Millisecond + time.Duration(len(group))*20*time.Microsecond)
		for _, done := range group {
			close(done)
		}
	}
}

// Small groups are done at a lower rate, which must not make the limit, and so
// the groups, smaller and smaller.
func TestGateLeavesGroupsTheirSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := make(grouper)
		go s.run()
		peak, _ := overrun(newGate(), s, 256, time.Second)
		g := newGate()
		overrun(g, s, 1280, time.Second)
		took, _ := overrun(g, s, 1280, time.Second)
		if len(took) < len(peak)*9/10 {
			t.Errorf("%d done in a second by 1280 callers, and %d by 256", len(took), len(peak))
		}
		close(s)
	})
}

// overrun has so many callers ask without rest for long, and returns how long
// each of the admitted took and how many were refused in that time.
func overrun(g *gate, s interface{ serve() }, callers int, long time.Duration) (took []time.Duration, refused int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for end := time.Now().Add(long); callers > 0; callers-- {
		all.Go(func() {
			for began := time.Now(); began.Before(end); began = time.Now() {
				ok := g.enter(began)
				if ok {
					s.serve()
					g.leave()
				}
				mu.Lock()
				if ok {
					took = append(took, time.Since(began))
				} else {
					refused++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return took, refused
}

// However many ask, as much is done as the station can, and who is admitted
// does not wait for long.
func TestGateUnderOverload(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		each    time.Duration
		callers int
	}{{time.Millisecond, 250}, {500 * time.Microsecond, 450}, {2 * time.Millisecond, 180}} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			overrun(g, newStation(test.each), test.callers, gateBurst+time.Second) // until it has settled
			took, refused := overrun(g, newStation(test.each), test.callers, 2*time.Second)
			if got, most := len(took), int(2*time.Second/test.each); got < most*9/10 {
				t.Errorf("%d callers: %d done in 2 s, want nine tenths of %d", test.callers, got, most)
			}
			bound := gateLongest + 2*max(gateTarget, gateLeast*test.each)
			if got := took[len(took)*99/100]; got > bound {
				t.Errorf("%d callers: the 99th of 100 admitted took %v, want at most %v", test.callers, got, bound)
			}
			if refused == 0 || refused > len(took)/2 {
				t.Errorf("%d callers: %d refused and %d done, want somebody refused, at most half as many", test.callers, refused, len(took))
			}
			if got := g.stats(); got.Inside != 0 || got.Waiting != 0 {
				t.Errorf("%d callers: stats() = %+v afterwards, want nobody inside or waiting", test.callers, got)
			}
		})
	}
}

// A store that stands still must not gather requests, and its return must be
// noticed.
func TestGateRecoversFromAStandstill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, s := newGate(), newStation(100*time.Microsecond)
		s.turn <- struct{}{}
		time.AfterFunc(2*gateBurst, func() { <-s.turn })
		_, refused := overrun(g, s, 1000, 2*gateBurst)
		if refused == 0 || g.stats().Limit > gateCalm {
			t.Errorf("%d refused during a standstill and the limit is %d", refused, g.stats().Limit)
		}
		overrun(g, s, 1000, time.Second)
		if took, _ := overrun(g, s, 1000, time.Second); len(took) < 9000 {
			t.Errorf("%d done in a second after the standstill, want 9000", len(took))
		}
	})
}

func TestGateIsCalmAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, s := newGate(), newStation(time.Millisecond)
		overrun(g, s, 500, time.Second)
		if got := g.stats().Limit; got > 2*gateLeast {
			t.Errorf("the limit is %d under overload, want about %d", got, gateLeast)
		}
		overrun(g, s, 1, 2*time.Second)
		if got := g.stats().Limit; got != gateCalm {
			t.Errorf("the limit is %d two seconds later, want %d", got, gateCalm)
		}
	})
}

func TestNextPatience(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		patience      time.Duration
		done, refused int64
		want          time.Duration
	}{
		{gatePatience, 100, 0, gatePatience},
		{gatePatience, 100, 25, gatePatience},
		{200 * time.Millisecond, 100, 26, 250 * time.Millisecond},
		{gateLongest, 0, 1000, gateLongest},
		{256 * time.Millisecond, 100, 10, 254 * time.Millisecond},
	} {
		if got := nextPatience(test.patience, test.done, test.refused); got != test.want {
			t.Errorf("nextPatience(%v, %d, %d) = %v, want %v", test.patience, test.done, test.refused, got, test.want)
		}
	}
}

func TestNextLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit        int64
		rate, inside float64
		pressed      bool
		want         int64
	}{
		{512, 0, 1, false, 512},           // idle
		{512, 10, 20, false, 512},         // a small burst after idling
		{512, 2_500, 400, false, 381},     // more inside than the rate allows
		{512, 0, 512, true, 256},          // a standstill
		{140, 0, 140, true, gateLeast},    // a long one
		{512, 25_000, 512, true, 1506},    // a fast machine
		{4000, 1e9, 4000, true, gateMost}, // a very fast one
		{200, 2_000, 40, false, 225},      // calming down
		{2000, 2_000, 40, false, 1750},    // from above
	} {
		if got := nextLimit(test.limit, test.rate, test.inside, test.pressed); got != test.want {
			t.Errorf("nextLimit(%d, %v, %v, %v) = %d, want %d", test.limit, test.rate, test.inside, test.pressed, got, test.want)
		}
	}
}

// Never more inside than the limit, and nobody lost, whatever the interleaving.
func TestGateIsExact(t *testing.T) {
	t.Parallel()
	g := newGate()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 300 {
				g.mu.Lock()
				g.limit = gateLeast
				g.mu.Unlock()
				if !g.enter(time.Time{}) {
					continue
				}
				if got := g.stats().Inside; got > gateCalm {
					t.Errorf("%d inside", got)
				}
				for range rand.IntN(100) {
					g.stats()
				}
				g.leave()
			}
		})
	}
	all.Wait()
	if s := g.stats(); s.Inside != 0 || s.Waiting != 0 {
		t.Errorf("stats() = %+v, want nobody left", s)
	}
}

func TestGateAllocatesNothing(t *testing.T) {
	g, now := newGate(), time.Now()
	if n := testing.AllocsPerRun(1000, func() {
		if now = now.Add(time.Millisecond); g.enter(now) {
			g.leave()
		}
	}); n != 0 {
		t.Errorf("to enter and leave allocates %v times", n)
	}
}

func BenchmarkGate(b *testing.B) {
	g, now := newGate(), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if g.enter(now) {
			g.leave()
		}
	}
}
