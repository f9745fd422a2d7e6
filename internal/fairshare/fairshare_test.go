package fairshare

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/processtest"
	"pgregory.net/rapid"
)

func workspace(id int64) Holder { return Holder{Workspace: id} }

func address(last byte) Holder { return Holder{Address: netip.AddrFrom4([4]byte{192, 0, 2, last})} }

// A room is a pool with its shares by name, which leave as soon as they are
// asked to give way.
type room struct {
	*Pool
	t       *testing.T
	yielded []string
}

func newRoom(t *testing.T, o Options) *room { return &room{Pool: New(o), t: t} }

// enter has h take n shares of a unit, whose name is that given.
func (r *room) enter(name string, h Holder, n int) (all []*Share) {
	r.t.Helper()
	for range n {
		var s *Share
		held := make(chan struct{})
		var err error
		s, err = r.Enter(r.t.Context(), h, 1, func() {
			r.yielded = append(r.yielded, name)
			go func() { <-held; s.Leave() }()
		})
		close(held)
		if err != nil {
			r.t.Fatalf("Enter(%s) = %v", name, err)
		}
		all = append(all, s)
	}
	return all
}

func TestGivingWay(t *testing.T) {
	tests := []struct {
		name    string
		before  []Holder // of one unit each, of 6
		comes   Holder
		want    []int // which of before give way
		refused bool
	}{
		{name: "the workspace that holds most", before: []Holder{workspace(1), workspace(2), workspace(1), workspace(2), workspace(1), workspace(1)}, comes: workspace(3), want: []int{0}},
		{name: "also to callers without a key", before: []Holder{workspace(1), workspace(1), workspace(1), workspace(1), workspace(1), workspace(1)}, comes: address(1), want: []int{0}},
		{name: "nobody to one that would hold as much", before: []Holder{workspace(1), workspace(1), workspace(1), workspace(2), workspace(2), workspace(2)}, comes: workspace(1), refused: true},
		{name: "nobody if all hold one", before: []Holder{workspace(1), workspace(2), workspace(3), workspace(4), workspace(5), workspace(6)}, comes: workspace(7), refused: true},
		{name: "callers without a key together are one", before: []Holder{address(1), address(2), address(3), address(4), workspace(1), workspace(1)}, comes: workspace(2), want: []int{0}},
		{name: "of them the address that holds most", before: []Holder{address(1), address(2), address(2), address(4), workspace(1), workspace(1)}, comes: workspace(2), want: []int{1}},
		{name: "of addresses that hold as much the oldest", before: []Holder{address(3), address(2), address(1), address(4), address(5), address(6)}, comes: address(7), want: []int{0}},
		{name: "a workspace before those without a key", before: []Holder{address(3), address(2), workspace(1), workspace(1), workspace(1), workspace(1)}, comes: address(7), want: []int{2}},
		{name: "of one address the oldest", before: []Holder{address(1), address(1), address(1), address(1), address(1), address(1)}, comes: address(1), want: []int{0}},
		{name: "who cannot be told apart", before: []Holder{{}, {}, {}, {}, {}, {}}, comes: workspace(1), want: []int{0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := New(Options{Capacity: 6})
			var got []int
			shares := make([]*Share, len(test.before))
			for i, h := range test.before {
				s, err := p.Enter(t.Context(), h, 1, func() {
					got = append(got, i)
					go shares[i].Leave()
				})
				processtest.Must(t, err)
				shares[i] = s
			}
			s, err := p.Enter(t.Context(), test.comes, 1, nil)
			if test.refused {
				if !errors.Is(err, ErrFull) || got != nil {
					t.Fatalf("Enter() = %v, and %v gave way, want ErrFull", err, got)
				}
				return
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Fatalf("Enter() = %v, and %v gave way, want %v", err, got, test.want)
			}
			s.Leave()
			s.Leave()
			if used := p.Stats().Used; used != 5 {
				t.Errorf("Used = %d, want 5", used)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	r := newRoom(t, Options{Capacity: 10})
	r.enter("greedy", workspace(1), 10)
	s, err := r.Enter(t.Context(), workspace(2), 4, nil)
	if err != nil || len(r.yielded) != 4 {
		t.Fatalf("Enter() = %v, and %d gave way, want 4", err, len(r.yielded))
	}
	s.Leave()
	if s, err = r.Enter(t.Context(), workspace(3), 1000, nil); err == nil {
		t.Errorf("all was given to %v, though another holds 6", s)
	}
	if got := len(r.yielded); got != 4 {
		t.Errorf("%d gave way to a request that nobody can fulfil, want 4", got)
	}
}

func TestEach(t *testing.T) {
	p := New(Options{Capacity: 10, Each: 2})
	for _, h := range []Holder{workspace(1), address(1), workspace(2)} {
		for range 2 {
			if _, err := p.Enter(t.Context(), h, 1, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Enter(t.Context(), h, 1, nil); !errors.Is(err, ErrEach) {
			t.Errorf("a third share of %v = %v, want ErrEach", h, err)
		}
	}
	for range 3 {
		if _, err := p.Enter(t.Context(), Holder{}, 1, nil); err != nil {
			t.Errorf("a share of the zero Holder = %v, want one: it is not bounded", err)
		}
	}
}

// Who waits counts: for the bound of one holder, and as holding what others give way to.
func TestWaitersCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Capacity: 4, Each: 1, Queue: 64})
		var held []*Share
		for id := range int64(4) {
			s, err := p.Enter(t.Context(), workspace(1+id), 1, nil)
			processtest.Must(t, err)
			held = append(held, s)
		}
		waiting(p, t.Context(), workspace(9), func(*Share, error) {})
		if _, err := p.Enter(t.Context(), workspace(9), 1, nil); !errors.Is(err, ErrEach) {
			t.Errorf("a second one of a holder that waits for its only one = %v, want ErrEach", err)
		}
		for _, s := range held {
			s.Leave()
		}
		synctest.Wait()
		if got := p.accounts[workspace(9)].held; got != 1 {
			t.Errorf("the holder that waited has %d, want 1", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Capacity: 12, Queue: 1000, Wait: time.Second})
		cut := make(map[int64]int)
		for id, n := range map[int64]int{1: 9, 2: 3} {
			for range n {
				var s *Share
				s, err := p.Enter(t.Context(), workspace(id), 1, func() {
					cut[id]++
					time.AfterFunc(time.Millisecond, func() { s.Leave() }) // later than all others come
				})
				processtest.Must(t, err)
			}
		}
		for range 12 {
			waiting(p, t.Context(), workspace(3), func(*Share, error) {})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if cut[1] != 4 || cut[2] != 0 {
			t.Errorf("%v gave way to a burst, want 4 of the one that held most and none of one with a fair share", cut)
		}
	})
}

func TestMove(t *testing.T) {
	r := newRoom(t, Options{Capacity: 4})
	moved := r.enter("moved", address(1), 4)
	moved[0].Move(workspace(1)) // of those without a key 3 are left
	r.enter("modest", address(2), 1)
	for _, s := range moved {
		s.Move(workspace(1))
	}
	r.enter("modest", workspace(2), 1)
	if want := []string{"moved", "moved"}; !slices.Equal(r.yielded, want) {
		t.Errorf("%v gave way, want %v", r.yielded, want)
	}
	moved[0].Leave()
	moved[0].Move(workspace(3)) // has no effect
	if _, ok := r.accounts[workspace(3)]; ok {
		t.Error("a share that was given back was moved")
	}
}

// waiting starts a caller that waits, and returns when it does.
func waiting(p *Pool, ctx context.Context, h Holder, then func(*Share, error)) {
	go func() { then(p.Enter(ctx, h, 1, nil)) }()
	synctest.Wait()
}

func TestWhoHoldsLeastIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Capacity: 2, Queue: 10})
		first, _ := p.Enter(t.Context(), workspace(1), 1, nil)
		second, _ := p.Enter(t.Context(), workspace(1), 1, nil)
		var mu sync.Mutex
		var order []int64
		for _, id := range []int64{1, 1, 1, 2, 3} {
			waiting(p, t.Context(), workspace(id), func(s *Share, err error) {
				mu.Lock()
				defer mu.Unlock()
				if order = append(order, id); err == nil {
					time.AfterFunc(time.Duration(len(order))*time.Second, s.Leave)
				}
			})
		}
		first.Leave()
		synctest.Wait()
		second.Leave()
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		if want := []int64{2, 1, 3, 1, 1}; !slices.Equal(order, want) {
			t.Errorf("admitted %v, want %v", order, want)
		}
		if s := p.Stats(); s.Used != 0 || s.Waiting != 0 || len(p.accounts) != 0 {
			t.Errorf("at the end: %+v, accounts %v", s, p.accounts)
		}
	})
}

// TestTurns: who has many that wait does not keep another waiting for all of them.
func TestTurns(t *testing.T) {
	for _, other := range []Holder{workspace(2), address(2)} {
		synctest.Test(t, func(t *testing.T) {
			p := New(Options{Capacity: 1, Queue: 100})
			held, _ := p.Enter(t.Context(), workspace(1), 1, nil)
			order := make(chan Holder, 100)
			for i := range 40 {
				h := workspace(1)
				if i >= 30 {
					h = other
				}
				waiting(p, t.Context(), h, func(s *Share, _ error) {
					order <- h
					s.Leave()
				})
			}
			held.Leave()
			synctest.Wait()
			for i := range 20 {
				if h := <-order; (h == other) != (i%2 == 1) {
					t.Fatalf("admitted as number %d: %v, want one of each in turns", i, h)
				}
			}
		})
	}
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Capacity: 2, Queue: 3, Wait: 3 * time.Second})
		held, _ := p.Enter(t.Context(), workspace(1), 1, nil)
		if _, err := p.Enter(t.Context(), workspace(1), 1, nil); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		results := make(map[string]error)
		began := time.Now()
		note := func(name string, want time.Duration) func(*Share, error) {
			return func(_ *Share, err error) {
				mu.Lock()
				defer mu.Unlock()
				if results[name] = err; time.Since(began) != want {
					t.Errorf("%s was told after %v, want %v", name, time.Since(began), want)
				}
			}
		}
		waiting(p, t.Context(), workspace(1), note("until the time is over", 3*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waiting(p, ctx, workspace(1), note("until its context ends", time.Second))
		waiting(p, t.Context(), workspace(1), note("more than its half", 0))
		waiting(p, t.Context(), workspace(2), note("of another workspace", 2*time.Second))
		time.Sleep(2 * time.Second)
		held.Leave()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want := map[string]error{"until the time is over": ErrFull, "until its context ends": context.DeadlineExceeded, "more than its half": ErrFull, "of another workspace": nil}
		for name, err := range want {
			if got, told := results[name]; !told || !errors.Is(got, err) {
				t.Errorf("%s: %v, told %t, want %v", name, got, told, err)
			}
		}
	})
}

// TestWaitingUnits has shares wait in a queue of six units: each holder waits for as much as it leaves to others.
func TestWaitingUnits(t *testing.T) {
	type asked struct {
		holder Holder
		size   int64
	}
	one, two, other := asked{workspace(2), 1}, asked{workspace(2), 2}, asked{workspace(3), 1}
	for name, test := range map[string]struct {
		wait    []asked
		refused []int // places in wait
	}{
		"half for one":       {[]asked{two, one, one}, []int{2}},
		"more than ever":     {[]asked{{workspace(4), 7}}, []int{0}},
		"room for another":   {[]asked{two, one, other, other, other}, []int{4}},
		"addresses together": {[]asked{{address(1), 1}, {address(1), 1}, {address(1), 1}, {address(2), 1}, {address(3), 1}, one}, []int{2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New(Options{Capacity: 10, Queue: 6, Wait: time.Second})
				_, err := p.Enter(t.Context(), workspace(1), 10, nil)
				processtest.Must(t, err)
				told := make([]error, len(test.wait))
				for i, a := range test.wait {
					go func() { _, told[i] = p.Enter(t.Context(), a.holder, a.size, nil) }()
					synctest.Wait()
				}
				var refused []int
				for i, err := range told {
					if errors.Is(err, ErrFull) {
						refused = append(refused, i)
					}
				}
				if !slices.Equal(refused, test.refused) {
					t.Errorf("%v were refused at once, want %v", refused, test.refused)
				}
			})
		})
	}
}

// TestLittleIsWaitedFor: who waits for little is not refused at once beside many who wait for as much as they may.
func TestLittleIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Capacity: 8, Queue: 1024})
		_, err := p.Enter(t.Context(), workspace(1), 8, nil)
		processtest.Must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for greedy := range int64(20) {
			for range 600 {
				go func() { _, _ = p.Enter(ctx, workspace(2+greedy), 1, nil) }()
			}
			synctest.Wait()
		}
		refused := 0
		for range 9 {
			waiting(p, ctx, workspace(100), func(_ *Share, err error) {
				if errors.Is(err, ErrFull) {
					refused++
				}
			})
		}
		if refused != 1 {
			t.Errorf("%d of 9 were refused at once, want all beyond a 128th of the queue", refused)
		}
	})
}

// Never more is held than there is, and nobody is lost, whatever the interleaving.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	p := New(Options{Capacity: 64, Queue: 50})
	var held atomic.Int64
	var all sync.WaitGroup
	for i := range 256 {
		h := workspace(int64(1 + i%3))
		if i%5 == 0 {
			h = address(byte(i))
		}
		all.Go(func() {
			for range 60 {
				asked := make(chan struct{}, 1)
				s, err := p.Enter(context.Background(), h, 1, func() { asked <- struct{}{} })
				if err != nil {
					continue
				}
				if n := held.Add(1); n > 64 {
					t.Errorf("%d are held", n)
				}
				runtime.Gosched()
				s.Move(workspace(4))
				held.Add(-1)
				s.Leave()
			}
		})
	}
	all.Wait()
	if s := p.Stats(); s.Used != 0 || s.Waiting != 0 || p.ending != 0 || p.all.promised != 0 || len(p.accounts) != 0 {
		t.Errorf("Stats() = %+v, want nobody left", s)
	}
}

// TestPromises holds any order of calls against what a Pool promises.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Int64Range(4, 30).Draw(t, "capacity")
		c := crowd{pool: New(Options{Capacity: capacity, Each: rapid.Int64Range(0, 30).Draw(t, "each")})}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			h := workspace(rapid.Int64Range(1, 3).Draw(t, "workspace"))
			if rapid.Bool().Draw(t, "keyless") {
				h = address(rapid.Byte().Draw(t, "address") % 3)
			}
			step, at := rapid.IntRange(0, 3).Draw(t, "step"), rapid.IntRange(0, 99).Draw(t, "share")
			switch n := len(c.shares); {
			case step == 0 && n > 0:
				c.leave(c.shares[at%n])
			case step == 1 && n > 0:
				c.shares[at%n].Move(h)
			default:
				c.enter(h, rapid.Int64Range(1, 3).Draw(t, "size"))
			}
			c.check(t)
		}
		if c.pool.o.Each > 0 {
			return
		}
		// Of five groups each gets a fifth, whatever was before. A share of others
		// may be of 3 units.
		for range capacity / 5 {
			if held := c.pool.accounts[workspace(9)]; !c.enter(workspace(9), 1) && (held == nil || held.held < capacity/5-2) && capacity >= 20 {
				t.Fatalf("a workspace that asks for little got no more than %+v of %d", held, capacity)
			}
			c.check(t)
		}
	})
}

// A crowd has shares that leave as soon as they are asked to give way.
type crowd struct {
	pool   *Pool
	shares []*Share
}

func (c *crowd) enter(h Holder, size int64) bool {
	var s *Share
	s, err := c.pool.Enter(context.Background(), h, size, func() { c.leave(s) })
	if err == nil {
		c.shares = append(c.shares, s)
	}
	return err == nil
}

func (c *crowd) leave(s *Share) {
	s.Leave()
	c.shares = slices.DeleteFunc(c.shares, func(other *Share) bool { return other == s })
}

// check holds the sums of the pool against the shares.
func (c *crowd) check(t *rapid.T) {
	p := c.pool
	var sum int64
	byAccount := make(map[*account]int64)
	for _, s := range c.shares {
		sum += s.size
		byAccount[s.account] += s.size
	}
	if p.all.held != sum || sum > p.o.Capacity || p.ending != 0 || p.all.promised != 0 || p.queue.length != 0 {
		t.Fatalf("used %d, ending %d, promised %d, waiting %d; the shares are %d of %d", p.all.held, p.ending, p.all.promised, p.queue.length, sum, p.o.Capacity)
	}
	var keyless int64
	for a, held := range byAccount {
		if a.held != held || a.yieldable != held {
			t.Fatalf("%v holds %d, of which %d can give way, want %d", a.holder, a.held, a.yieldable, held)
		}
		if a.parent == &p.keyless {
			keyless += held
		}
	}
	if p.keyless.held != keyless || p.keyless.yieldable != keyless || len(p.accounts) != len(byAccount) {
		t.Fatalf("those without a key hold %d, want %d; %d accounts, want %d", p.keyless.held, keyless, len(p.accounts), len(byAccount))
	}
}
