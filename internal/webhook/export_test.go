package webhook

import (
	"time"

	"example.com/petstore/internal/fairshare"
)

// Narrow gives a deliverer that does not run yet so many slots, and a rest after giving
// way.
func (d *Deliverer) Narrow(slots int64, rest time.Duration) {
	d.slots = fairshare.New(fairshare.Options{Capacity: slots, Queue: 1000})
	d.pause = rest
}

// SetPatience gives receivers another time for a whole try.
func (s *Sender) SetPatience(d time.Duration) { s.time = d }
