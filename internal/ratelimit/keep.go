package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lastSave bounds, together, the save that is under way when Keep's context ends and the last one.
const lastSave = 10 * time.Second

// Keep saves what has changed to the store, each interval until ctx ends, and then once more. A failed save is made up
// for by the next one, and counted in Stats. Keep returns nil when its last save succeeded, else that save's error. End
// ctx when requests are no longer admitted: what they use after the last save is not kept.
func (m *Memory) Keep(ctx context.Context, store Store, every time.Duration) error {
	if every <= 0 {
		return errors.New("the interval between saves must be positive")
	}
	saving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	context.AfterFunc(ctx, func() { time.AfterFunc(lastSave, end) })
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			_ = m.save(saving, store) // counted, and made up for
		case <-ctx.Done():
		}
	}
	return m.save(saving, store)
}

func (m *Memory) save(ctx context.Context, store Store) error {
	rows := m.Dirty()
	if rows.Empty() {
		return nil
	}
	if err := store.SaveLimits(ctx, rows); err != nil {
		m.Redo(rows)
		m.failedSaves.Add(1)
		return fmt.Errorf("save rate limits: %w", err)
	}
	return nil
}
