package ops

import (
	"errors"
	"sync/atomic"
)

// A Phase is where the process stands between its start and its end. The zero
// value is starting. It may be used concurrently.
type Phase struct{ now atomic.Int32 }

const (
	starting int32 = iota
	serving
	draining
)

var (
	errStarting = errors.New("the service is starting")
	errDraining = errors.New("the service is stopping")
)

// Serve says that the service has started.
func (p *Phase) Serve() { p.now.Store(serving) }

// Drain says that the service stops: it takes no new work.
func (p *Phase) Drain() { p.now.Store(draining) }

// Err returns nil while the service serves.
func (p *Phase) Err() error {
	switch p.now.Load() {
	case starting:
		return errStarting
	case draining:
		return errDraining
	}
	return nil
}
