package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Costs are what one of each takes, in microseconds of processor time unless it says otherwise.
type costs struct {
	NodeRead      float64 // a GET of a pet, on the node
	NodeOrder     float64
	Decision      float64 // of the limiter, in Redis
	DatabaseRead  float64
	DatabaseGroup float64 // a group of orders, whatever is in it
	DatabaseOrder float64 // and each order in it
	Sync          float64 // of PostgreSQL's log, by the clock
}

// A model is an installation of which only what takes time is left: processors, locks, and the disk.
// Callers ask again as soon as they are answered, each on the node that it is connected to.
type model struct {
	costs
	nodes         int
	callers       int     // of each node
	orders        float64 // the share of the requests that place an order; the others read a pet
	shops, pets   int     // pets of each shop; some shops have much more of the load than others, their pets are alike
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
		return "locks of the largest shops"
	}
	return "waiting for answers"
}

// simulate runs a model for so many seconds of its time, after a warm-up of a fifth of that. The same model has the same
// outcome each time.
func simulate(m model, seconds float64) outcome {
	s := &simulation{model: m, random: rand.New(rand.NewPCG(1, 1)), zipf: newZipfian(m.shops), held: map[int][]func(){}}
	s.database, s.redis = newStation(s, m.databaseCores), newStation(s, 1)
	if m.together {
		s.database = newStation(s, m.cores)
		s.redis = s.database
	}
	for range m.nodes {
		n := &simulatedNode{simulation: s, processor: s.database}
		if !m.together {
			n.processor = newStation(s, m.cores)
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
	zipf   *zipfian // of the shops
	now    float64
	queue  []event // the next one last

	all             []*simulatedNode
	database, redis *station
	held            map[int][]func() // pets, and as negative numbers feeds, that are locked, with who waits for them
	syncing         bool
	toSync          []func()

	done, grouped, groups float64
	lockTime, groupTime   float64
}

type event struct {
	at float64
	do func()
}

// after has something done in so many microseconds, after all that was asked for earlier and is due at the same time.
func (s *simulation) after(d float64, do func()) {
	e := event{s.now + d, do}
	i, _ := slices.BinarySearchFunc(s.queue, e, func(a, b event) int { return cmp.Compare(b.at, a.at) })
	s.queue = slices.Insert(s.queue, i, e)
}

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
	s.done, s.grouped, s.groups, s.lockTime, s.groupTime = 0, 0, 0, 0, 0
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
	s     *simulation
	cores int
	idle  int
	waits []func()
	busy  float64
}

func newStation(s *simulation, cores int) *station { return &station{s: s, cores: cores, idle: cores} }

func (p *station) share(long float64) float64 { return p.busy / long / float64(p.cores) }

// work does so much work, and then the next thing.
func (p *station) work(amount float64, then func()) {
	p.waits = append(p.waits, func() {
		p.busy += amount
		p.s.after(amount, func() {
			p.idle++
			p.start()
			then()
		})
	})
	p.start()
}

func (p *station) start() {
	if p.idle > 0 && len(p.waits) > 0 {
		next := p.waits[0]
		p.waits = p.waits[1:]
		p.idle--
		next()
	}
}

// A simulatedNode gathers orders in groups as a node does.
type simulatedNode struct {
	*simulation
	processor *station
	busy      int   // groups under way
	waiting   []int // the pets that orders wait for
}

// ask is a caller's request from its beginning: it is decided upon, and then read or ordered.
func (n *simulatedNode) ask() {
	n.after(n.trip, func() {
		n.redis.work(n.Decision, func() {
			if n.random.Float64() < n.orders {
				n.processor.work(n.NodeOrder, func() { n.order(n.pet()) })
				return
			}
			n.processor.work(n.NodeRead, func() {
				n.after(n.trip, func() { n.database.work(n.DatabaseRead, n.answer) })
			})
		})
	})
}

func (n *simulatedNode) answer() {
	n.done++
	n.ask()
}

// pet draws one of all pets.
func (s *simulation) pet() int {
	return int(s.zipf.rank(s.random))*s.pets + s.random.IntN(s.pets)
}

func (n *simulatedNode) order(pet int) {
	n.waiting = append(n.waiting, pet)
	n.gather()
}

// gather carries out what waits, unless as many groups as may be are under way: lock the pets, write, lock the feeds of their shops, commit.
func (n *simulatedNode) gather() {
	if n.busy == committers || len(n.waiting) == 0 {
		return
	}
	orders := len(n.waiting)
	pets := slices.Clone(n.waiting)
	n.waiting = n.waiting[:0]
	slices.Sort(pets)
	pets = slices.Compact(pets)
	feeds := make([]int, len(pets))
	for i, pet := range pets {
		feeds[i] = -1 - pet/n.pets
	}
	feeds = slices.Compact(feeds)
	n.busy++
	began := n.now
	half := (n.DatabaseGroup + float64(orders)*n.DatabaseOrder) / 2
	n.after(n.trip, func() {
		n.database.work(half, func() {
			n.lock(pets, func() {
				n.after(n.trip, func() {
					n.database.work(half, func() {
						n.lock(feeds, func() { n.commit(func() { n.end(append(pets, feeds...), orders, began) }) })
					})
				})
			})
		})
	})
}

// lock calls then when all rows are the caller's. They are in an order that is the same for all: nobody waits in a circle.
func (s *simulation) lock(rows []int, then func()) {
	asked := s.now
	s.lockNext(rows, func() {
		s.lockTime += s.now - asked
		then()
	})
}

func (s *simulation) lockNext(rows []int, then func()) {
	if len(rows) == 0 {
		then()
		return
	}
	next := func() { s.lockNext(rows[1:], then) }
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

// commit calls then when the log is on the disk: all that wait when it is written share that.
func (s *simulation) commit(then func()) {
	s.toSync = append(s.toSync, then)
	if !s.syncing {
		s.sync()
	}
}

func (s *simulation) sync() {
	all := s.toSync
	s.toSync, s.syncing = nil, true
	s.after(s.Sync, func() {
		s.syncing = false
		for _, then := range all {
			then()
		}
		if len(s.toSync) > 0 {
			s.sync()
		}
	})
}

func (n *simulatedNode) end(rows []int, orders int, began float64) {
	n.unlock(rows)
	n.groups++
	n.grouped += float64(orders)
	n.groupTime += n.now - began
	n.busy--
	for range orders {
		n.answer()
	}
	n.gather()
}
