package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// A SavedWindow is what a limiter keeps over a restart of one workspace or address, as a plain row. What stands against
// keys is not kept: the store has their bans, which come back through Caller with their levels, and strikes begin anew.
type SavedWindow struct {
	Subject     string // "w:12", "a:192.0.2.7", "a:2001:db8:0:1::/64", or "a:*" for the addresses beyond the table
	MinuteStart int64  // Unix milliseconds
	MinuteUsed  int64
	Day         int64 // days since 1970-01-01 UTC
	DayUsed     int64
}

// A Store keeps the rows of a limiter. The stores on SQLite and PostgreSQL implement it.
type Store interface {
	// LoadLimits returns all rows. The store may delete those of old days, but not by the clock alone, which may be wrong: it
	// keeps at least those of the seven newest different days.
	LoadLimits(ctx context.Context) ([]SavedWindow, error)

	// SaveLimits inserts the rows, at most one a Subject, or replaces those with the same one. After an error some may be
	// kept. Of a window the greatest count that was saved holds.
	SaveLimits(ctx context.Context, rows []SavedWindow) error
}

// Save saves the windows that have changed since the last call. What cannot be saved is saved by the next call, as it is by
// then; Stats counts such failures. The windows are those of all nodes if Redis counts.
func (l *Limiter) Save(ctx context.Context, store Store) error {
	subjects := l.changed.take()
	var rows []SavedWindow
	for _, s := range subjects {
		s.mu.Lock()
		if w := s.windows; w.used() {
			rows = append(rows, SavedWindow{
				Subject: s.name, MinuteStart: toMillis(w.minuteStart), MinuteUsed: w.minuteUsed, Day: w.day, DayUsed: w.dayUsed,
			})
		}
		s.changed = false
		s.mu.Unlock()
	}
	if len(rows) == 0 {
		return nil
	}
	err := store.SaveLimits(ctx, rows)
	if err == nil {
		return nil
	}
	l.failedSaves.Add(1)
	for _, s := range subjects {
		s.mu.Lock()
		l.changed.add(s)
		s.mu.Unlock()
	}
	return fmt.Errorf("save rate limits: %w", err)
}

// Restore takes over saved rows, before the first decision. It leaves out addresses whose windows are over, or for
// which the table has become too small. It returns an error that names the first row that it cannot read, and takes over
// the others all the same. A Redis limiter tells Redis the counts that were restored, in case Redis has lost them.
func (l *Limiter) Restore(rows []SavedWindow) error {
	var first error
	now := l.now().UnixNano()
	for _, r := range rows {
		w := windows{fromMillis(r.MinuteStart), r.MinuteUsed, r.Day, r.DayUsed}
		s, err := l.subjectOf(r.Subject, now, w.current(now).used())
		first = cmp.Or(first, err)
		if err == nil && (s != l.addresses.overflow || r.Subject == overflowName) {
			s.mu.Lock()
			s.windows = w
			s.mu.Unlock()
		}
	}
	return first
}

// subjectOf returns the subject of a saved row. With keep, an address gets a place if there is one.
func (l *Limiter) subjectOf(name string, now int64, keep bool) (*subject, error) {
	kind, rest, _ := strings.Cut(name, ":")
	id, idErr := strconv.ParseInt(rest, 10, 64)
	a, addressErr := netip.ParseAddr(strings.TrimSuffix(rest, "/64"))
	switch {
	case kind == "w" && idErr == nil:
		return l.workspace(id), nil
	case name == overflowName:
		return l.addresses.overflow, nil
	case kind == "a" && addressErr == nil:
		return l.addresses.subject(a, now, keep), nil
	}
	return nil, fmt.Errorf("saved window %q names neither a workspace nor an address", name)
}

// toMillis rounds up, so that a minute that is saved and restored is not cut short.
func toMillis(ns int64) int64 { return ceil(ns, int64(time.Millisecond)) }

func fromMillis(ms int64) int64 { return ms * int64(time.Millisecond) }
