package httpapi

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const gateRoom = gateWrites

// fillGate has as many requests enter as there is room for.
func fillGate(t *testing.T, g *gate) {
	t.Helper()
	for range gateRoom {
		if !g.enter() {
			t.Fatal("enter() = false while there is room")
		}
	}
}

func TestGateRefusesAfterItsPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(gateRoom)
		fillGate(t, g)
		began := time.Now()
		if g.enter() {
			t.Fatal("enter() = true though the gate is full")
		}
		if got := time.Since(began); got != gatePatience {
			t.Errorf("refused after %v, want %v", got, gatePatience)
		}
		if got, want := g.stats(), (GateStats{Limit: gateRoom, Inside: gateRoom, Refused: 1}); got != want {
			t.Errorf("stats() = %+v, want %+v", got, want)
		}
	})
}

func TestGateAdmitsTheOldestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(gateRoom)
		fillGate(t, g)
		var mu sync.Mutex
		var order []int
		for i := range 3 {
			go func() {
				if g.enter() {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
				}
			}()
			synctest.Wait()
		}
		for range 3 {
			g.leave()
			synctest.Wait()
		}
		if want := []int{0, 1, 2}; !slices.Equal(order, want) {
			t.Errorf("admitted in the order %v, want %v", order, want)
		}
	})
}

func TestGateBoundsThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(gateRoom)
		fillGate(t, g)
		var all sync.WaitGroup
		for range gateQueue {
			all.Go(func() { g.enter() })
		}
		synctest.Wait()
		if got := g.stats().Waiting; got != gateQueue {
			t.Errorf("%d wait, want %d", got, gateQueue)
		}
		began := time.Now()
		if g.enter() || time.Since(began) != 0 {
			t.Errorf("a request too many was admitted or had to wait %v", time.Since(began))
		}
		all.Wait()
		if got, want := g.stats(), (GateStats{Limit: gateRoom, Inside: gateRoom, Refused: gateQueue + 1}); got != want {
			t.Errorf("stats() = %+v, want %+v", got, want)
		}
	})
}

// overrun has so many callers ask without rest for long. It returns how long each
// of the served took, in order, and how many were refused. A station serves one at
// a time, each for as long as it says.
func overrun(g *gate, s *station, callers int, long time.Duration) (took []time.Duration, refused int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for end := time.Now().Add(long); callers > 0; callers-- {
		all.Go(func() {
			for began := time.Now(); began.Before(end); began = time.Now() {
				ok := g.enter()
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

// However many ask, as much is done as can be; who is admitted does not wait for
// long, and who cannot be admitted in time is told so.
func TestGateUnderOverload(t *testing.T) {
	t.Parallel()
	for _, room := range []int{gateReads, gateWrites} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(room)
			const each = time.Millisecond
			took, refused := overrun(g, newStation(each), 8*gateWrites, 6*time.Second)
			if len(took) < 5900 {
				t.Errorf("room for %d: %d served in 6 s, want nearly 6000", room, len(took))
			}
			if got, most := took[len(took)-1], gatePatience+time.Duration(room)*each; got > most {
				t.Errorf("room for %d: a request took %v, want at most %v", room, got, most)
			}
			if refused == 0 || refused > 2*len(took) {
				t.Errorf("room for %d: %d refused and %d served, want somebody refused, at most twice as many", room, refused, len(took))
			}
			if got, want := g.stats(), (GateStats{Limit: int64(room), Refused: int64(refused)}); got != want {
				t.Errorf("stats() = %+v afterwards, want %+v", got, want)
			}
		})
	}
}

// A store that stands still gathers no more requests than there is room for, and is
// used as before when it goes on.
func TestGateRecoversFromAStandstill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const still, each = 2 * gatePatience, 100 * time.Microsecond
		g, s := newGate(gateRoom), newStation(each)
		s.turn <- struct{}{}
		time.AfterFunc(still, func() { <-s.turn })
		took, refused := overrun(g, s, 1000, still-time.Nanosecond)
		if len(took) > 1000 || refused == 0 {
			t.Errorf("%d served and %d refused, want those inside served and others refused", len(took), refused)
		}
		if took, _ := overrun(g, s, 1000, time.Second); len(took) < 9000 {
			t.Errorf("%d served in a second afterwards, want 9000", len(took))
		}
	})
}

// Never more inside than there is room for, and nobody lost, whatever the
// interleaving.
func TestGateIsExact(t *testing.T) {
	t.Parallel()
	g := newGate(gateRoom)
	var all sync.WaitGroup
	for range 2 * gateRoom {
		all.Go(func() {
			for range 30 {
				if !g.enter() {
					continue
				}
				if got := g.stats().Inside; got > gateRoom {
					t.Errorf("%d inside", got)
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
	g := newGate(gateRoom)
	if n := testing.AllocsPerRun(1000, func() {
		if g.enter() {
			g.leave()
		}
	}); n != 0 {
		t.Errorf("to enter and leave allocates %v times", n)
	}
}
