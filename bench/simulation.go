package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Costs are what one of each takes, in microseconds of processor time unless it says otherwise.
type costs struct {
	nodeRead      float64 // a GET of a pet, on the node
	nodeOrder     float64
	decision      float64 // of the limiter, in Redis
	databaseRead  float64
	databaseGroup float64 // a group of orders, whatever is in it
	databaseOrder float64 // and each order in it
	sync          float64 // of PostgreSQL's log, by the clock
}

// A model is an installation of which only what takes time is left: processors, locks, and the disk.
// Callers ask again as soon as they are answered, each on the node that it is connected to.
type model struct {
	costs
	growthLoad
	nodes         int
	callers       int     // of each node
	cores         int     // of each node
	databaseCores int     // of PostgreSQL; Redis has one
	together      bool    // all have the cores of one node
	trip          float64 // to another machine and back, in microseconds
}

// committers are the groups of orders that a node has under way at most.
const committers = 2

// An outcome is what a model did. The shares are of the time.
type outcome struct {
	perSecond             float64
	node, database, redis float64 // in which the processors were at work; of the nodes, the mean
	locked                float64 // of a group that it waits for the locks of others
	group                 float64 // orders in a group
}

// bound names what limits the model.
func (o outcome) bound() string {
	switch {
	case o.database > .9:
		return "PostgreSQL's processors"
	case o.redis > .9:
		return "Redis's processor"
	case o.node > .9:
		return "the nodes' processors"
	case o.locked > .3:
		return "locks of the largest workspaces"
	}
	return "waiting for answers"
}

// simulate runs a model for so many seconds of its time, after a warm-up of a fifth of that. The same model has the same
// outcome each time.
func simulate(m model, seconds float64) outcome {
	s := &simulation{model: m, random: rand.New(rand.NewPCG(1, 1)), held: map[int][]func(){}}
	s.database, s.redis = newStation(m.databaseCores), newStation(1)
	if m.together {
		s.database = newStation(m.cores)
		s.redis = s.database
	}
	for range m.nodes {
		n := &simulatedNode{simulation: s, processor: s.database}
		if !m.together {
			n.processor = newStation(m.cores)
		}
		s.all = append(s.all, n)
		for range m.callers {
			n.ask()
		}
	}
	s.until(seconds / 5 * 1e6)
	s.reset()
	s.until(s.now + seconds*1e6)
	return s.outcome(seconds * 1e6)
}

// A simulation is a model at work: events, each at its time.
type simulation struct {
	model
	random *rand.Rand
	now    float64
	queue  []event // the next one last

	all             []*simulatedNode
	database, redis *station
	held            map[int][]func() // workspaces that are locked, with who waits for them
	syncs           float64          // when the latest sync of the log begins

	counts
}

// Counts are what was done since the warm-up.
type counts struct{ done, grouped, groups, lockTime, groupTime float64 }

type event struct {
	at float64
	do func()
}

// at has something done at a time, after all that was asked for earlier and is due then.
func (s *simulation) at(when float64, do func()) {
	e := event{when, do}
	i, _ := slices.BinarySearchFunc(s.queue, e, func(a, b event) int { return cmp.Compare(b.at, a.at) })
	s.queue = slices.Insert(s.queue, i, e)
}

// after has something done in so many microseconds.
func (s *simulation) after(d float64, do func()) { s.at(s.now+d, do) }

func (s *simulation) until(end float64) {
	for n := len(s.queue); n > 0 && s.queue[n-1].at < end; n = len(s.queue) {
		e := s.queue[n-1]
		s.queue = s.queue[:n-1]
		s.now = e.at
		e.do()
	}
	s.now = end
}

func (s *simulation) reset() {
	s.counts = counts{}
	s.database.busy, s.redis.busy = 0, 0
	for _, n := range s.all {
		n.processor.busy = 0
	}
}

func (s *simulation) outcome(long float64) outcome {
	o := outcome{perSecond: s.done / long * 1e6, database: s.database.share(long), redis: s.redis.share(long)}
	for _, n := range s.all {
		o.node += n.processor.share(long) / float64(len(s.all))
	}
	if s.groups > 0 {
		o.group, o.locked = s.grouped/s.groups, s.lockTime/s.groupTime
	}
	return o
}

// A station is processors that work off what comes, in its order.
type station struct {
	free []float64 // when each of them has done what it has to do
	busy float64
}

func newStation(cores int) *station { return &station{free: make([]float64, cores)} }

func (p *station) share(long float64) float64 { return p.busy / long / float64(len(p.free)) }

// work has the first free processor of p do so much work, and then the next thing.
func (s *simulation) work(p *station, amount float64, then func()) {
	first := slices.Index(p.free, slices.Min(p.free))
	begin := max(s.now, p.free[first])
	p.free[first] = begin + amount
	s.at(begin+amount, func() {
		p.busy += amount
		then()
	})
}

// lock calls then when all rows are the caller's. They are in the same order for all callers, so that these do not
// deadlock.
func (s *simulation) lock(rows []int, then func()) {
	if len(rows) == 0 {
		then()
		return
	}
	asked := s.now
	next := func() {
		s.lockTime += s.now - asked
		s.lock(rows[1:], then)
	}
	if waits, locked := s.held[rows[0]]; locked {
		s.held[rows[0]] = append(waits, next)
		return
	}
	s.held[rows[0]] = nil
	next()
}

func (s *simulation) unlock(rows []int) {
	for _, row := range rows {
		waits := s.held[row]
		if len(waits) == 0 {
			delete(s.held, row)
			continue
		}
		s.held[row] = waits[1:]
		s.after(0, waits[0])
	}
}

// commit calls then when the log is on the disk. All that come while it is written share the next sync.
func (s *simulation) commit(then func()) {
	if s.now > s.syncs {
		s.syncs = max(s.now, s.syncs+s.sync)
	}
	s.at(s.syncs+s.sync, then)
}

// A simulatedNode gathers orders in groups as a node does.
type simulatedNode struct {
	*simulation
	processor *station
	busy      int   // groups under way
	waiting   []int // the workspaces of the orders that wait
}

// ask is a caller's request from its beginning: it is decided upon, and then read or ordered.
func (n *simulatedNode) ask() {
	n.after(n.trip, func() {
		n.work(n.redis, n.decision, func() {
			if n.random.Float64() < n.orders {
				n.work(n.processor, n.nodeOrder, n.order)
				return
			}
			n.work(n.processor, n.nodeRead, func() {
				n.after(n.trip, func() { n.work(n.database, n.databaseRead, n.answer) })
			})
		})
	})
}

func (n *simulatedNode) answer() {
	n.done++
	n.ask()
}

// order orders a pet of one of all workspaces.
func (n *simulatedNode) order() {
	n.waiting = append(n.waiting, popular(n.random, n.workspaces))
	n.gather()
}

// gather carries out what waits, unless as many groups as may be are under way: lock the workspaces and load, write, commit.
func (n *simulatedNode) gather() {
	if n.busy == committers || len(n.waiting) == 0 {
		return
	}
	orders, began := len(n.waiting), n.now
	slices.Sort(n.waiting)
	workspaces := slices.Clone(slices.Compact(n.waiting))
	n.waiting = n.waiting[:0]
	n.busy++
	half := (n.databaseGroup + float64(orders)*n.databaseOrder) / 2
	n.after(n.trip, func() {
		n.lock(workspaces, func() {
			n.work(n.database, half, func() {
				n.after(n.trip, func() {
					n.work(n.database, half, func() {
						n.commit(func() { n.end(workspaces, orders, began) })
					})
				})
			})
		})
	})
}

func (n *simulatedNode) end(workspaces []int, orders int, began float64) {
	n.unlock(workspaces)
	n.groups++
	n.grouped += float64(orders)
	n.groupTime += n.now - began
	n.busy--
	for range orders {
		n.answer()
	}
	n.gather()
}
