package ratelimit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A server is one that is asked, over one link at a time: the fewest system calls. A link that has ended is made anew as
// soon as there is something to ask.
type server struct {
	host    string
	dial    func(context.Context) (*link, error)
	queue   queue
	current atomic.Pointer[link]
	told    time.Time // when a refusal last named it; zero: never. Its servers guard it.

	ctx     context.Context //nolint:containedctx // the life of what runs here, not of a call
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	attempt *attempt // under way
}

// An attempt is one to make a link. It goes on when those who wait for it do not.
type attempt struct {
	link *link
	err  error
	done chan struct{}
}

func newServer(host string, dial func(context.Context) (*link, error)) *server {
	s := &server{host: host, dial: dial}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// link returns the link, or an error if there is none by end.
func (s *server) link(end time.Time) (*link, error) {
	if l := s.current.Load(); l != nil && l.alive() {
		return l, nil
	}
	a, err := s.connect()
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-a.done:
		return a.link, a.err
	case <-timer.C:
		return nil, errAway
	}
}

// connect returns the attempt that is under way, or begins one.
func (s *server) connect() (*attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if l := s.current.Load(); l != nil && l.alive() { // another was faster
		a := &attempt{link: l, done: make(chan struct{})}
		close(a.done)
		return a, nil
	}
	if s.attempt == nil {
		s.attempt = &attempt{done: make(chan struct{})}
		s.running.Go(s.try)
	}
	return s.attempt, nil
}

func (s *server) try() {
	ctx, cancel := context.WithTimeout(s.ctx, connecting)
	defer cancel()
	l, err := s.dial(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.running.Go(l.read)
		s.current.Store(l)
		if s.ctx.Err() != nil {
			l.cut() // close has been here
		}
	}
	s.attempt.link, s.attempt.err = l, err
	close(s.attempt.done)
	s.attempt = nil
}

// do sends commands and returns their answers, or those that have come and an error.
func (s *server) do(end time.Time, commands ...command) ([]reply, error) {
	l, err := s.link(end)
	if err != nil {
		return nil, err
	}
	return l.do(end, commands)
}

// check ends a link whose other end has gone without a word.
func (s *server) check() {
	if l := s.current.Load(); l != nil && l.silent(connecting) {
		l.cut()
	}
}

// close ends what there is with the server, and returns when it has ended.
func (s *server) close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	if l := s.current.Load(); l != nil {
		l.cut()
	}
	s.running.Wait()
}
