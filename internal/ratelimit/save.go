package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Saved is what a limiter keeps over a restart, as plain rows. They have no bans: the store keeps these with the keys. It
// gets them through Decision.NewBan, and they come back through SetBan.
type Saved struct {
	Windows []SavedWindow // at most one row a Subject
	Keys    []SavedKey    // at most one row a KeyID
}

// Empty reports whether there is no row at all.
func (s Saved) Empty() bool { return len(s.Windows) == 0 && len(s.Keys) == 0 }

// A SavedWindow is the two windows of one workspace or address.
type SavedWindow struct {
	Subject     string // "w:12", "a:192.0.2.7", "a:2001:db8:0:1::/64", or "a:*" for the addresses beyond the table
	MinuteStart int64  // Unix milliseconds
	MinuteUsed  int64
	Day         int64 // days since 1970-01-01 UTC
	DayUsed     int64
}

// A SavedKey is what one key did, and what stands against it.
type SavedKey struct {
	KeyID      string
	Workspace  int64
	Day        int64  // the day of Admitted and Refused, in days since 1970-01-01 UTC
	Admitted   int64  // since the row that was saved last
	Refused    int64  // the same, refusals while banned included
	LastUsed   int64  // Unix milliseconds, 0 if not known
	Level      int64  // bans not yet forgiven
	CleanSince int64  // Unix milliseconds from which the next level's forgiveness counts
	RunFrom    int64  // first refusal of the current run, Unix milliseconds, 0 if none
	RunUntil   int64  // when the window that refused resets, Unix milliseconds
	Strikes    string // the recent strikes, oldest first: Unix milliseconds in decimal, separated by commas
}

// A Store keeps the rows of a limiter. The stores on SQLite and PostgreSQL implement it.
type Store interface {
	// LoadLimits returns the rows of windows, and the rows of keys with a run, strikes or a level, unless they were revoked.
	// The store may delete windows of old days, but not by the clock alone, which may be wrong: it keeps at least those of
	// the seven newest different days.
	LoadLimits(ctx context.Context) (Saved, error)

	// SaveLimits inserts the rows, or replaces those with the same Subject or KeyID, all or nothing. It leaves out rows of
	// keys whose workspace was deleted. What was admitted and refused for a key on one day adds up. Of a window the greatest
	// count that was saved holds. What several nodes know against a key replaces each other.
	SaveLimits(ctx context.Context, rows Saved) error
}

// lastSave bounds the time of the save that is running when Keep's context ends and of the last save, together.
const lastSave = 10 * time.Second

// Keep saves what has changed to the store, once in each interval until ctx ends, and then once more. The next save makes
// up for one that failed, which Stats counts. Keep returns the error of its last save. End ctx when requests are no longer
// admitted: what they use after the last save is not kept.
//
// With a Redis limiter the windows are those of all nodes. What a key did, and what is known against it, is this node's.
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
	rows, requeue := m.Dirty()
	if rows.Empty() {
		return nil
	}
	if err := store.SaveLimits(ctx, rows); err != nil {
		requeue()
		m.failedSaves.Add(1)
		return fmt.Errorf("save rate limits: %w", err)
	}
	return nil
}

// Dirty returns the rows that have changed since the last call. The caller saves them, or calls requeue: then the next
// Dirty returns them as they are by then, with the counts of these rows. Bans in force are not rows; what led to them is.
//
// Keys are read before their workspaces, so a workspace's row has what its keys' rows have.
func (m *Memory) Dirty() (rows Saved, requeue func()) {
	now := m.now().UnixNano()
	keys := takeAll(&m.changes, &m.changes.keys)
	for _, c := range keys {
		rows.Keys = append(rows.Keys, c.saved(now))
	}
	subjects := takeAll(&m.changes, &m.changes.subjects)
	for _, s := range subjects {
		if row, counts := s.saved(); counts {
			rows.Windows = append(rows.Windows, row)
		}
	}
	return rows, func() { m.requeue(keys, rows.Keys, subjects) }
}

func (m *Memory) requeue(keys []*Caller, rows []SavedKey, subjects []*subject) {
	for i, c := range keys {
		c.subject.mu.Lock()
		c.usage.add(&rows[i])
		m.changes.addKey(c)
		c.subject.mu.Unlock()
	}
	for _, s := range subjects {
		s.mu.Lock()
		m.changes.addSubject(s)
		s.mu.Unlock()
	}
}

// saved returns a key's row, whose counts begin anew.
func (c *Caller) saved(now int64) SavedKey {
	c.subject.mu.Lock()
	defer c.subject.mu.Unlock()
	c.changed = false
	p, u := c.penalty, c.usage
	c.usage = keyUsage{}
	return SavedKey{
		KeyID: c.id, Workspace: c.subject.workspace,
		Day: cmp.Or(u.day, dayOf(now)), Admitted: u.admitted, Refused: u.refused, LastUsed: toMillis(u.lastUsed),
		Level: p.level, CleanSince: toMillis(p.cleanSince),
		RunFrom: toMillis(p.runFrom), RunUntil: toMillis(p.runUntil), Strikes: formatStrikes(p.strikes),
	}
}

// saved returns a subject's row, and whether the subject still counts anything.
func (s *subject) saved() (row SavedWindow, counts bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = false
	w := s.windows
	return SavedWindow{
		Subject: s.name, MinuteStart: toMillis(w.minuteStart), MinuteUsed: w.minuteUsed, Day: w.day, DayUsed: w.dayUsed,
	}, !s.removed
}

// Restore takes over saved rows, before the first decision. It leaves out windows that are over, and addresses for which
// the table has become too small. It takes negative counts as 0, and a day of the future as today. It returns an error that
// names the first row that it cannot read, and takes over the others all the same. A Redis limiter tells Redis the counts
// that were restored, in case Redis has lost them.
func (m *Memory) Restore(rows Saved) error {
	var first error
	now := m.now().UnixNano()
	for _, r := range rows.Windows {
		first = cmp.Or(first, m.restoreWindow(r, now))
	}
	for _, r := range rows.Keys {
		first = cmp.Or(first, m.restoreKey(r))
	}
	return first
}

func (m *Memory) restoreWindow(r SavedWindow, now int64) error {
	w := windows{
		minuteStart: fromMillis(r.MinuteStart), minuteUsed: min(max(0, r.MinuteUsed), maxExact),
		day: min(max(r.Day, 0), math.MaxInt64/day-2), dayUsed: min(max(0, r.DayUsed), maxExact),
	}
	switch {
	case strings.HasPrefix(r.Subject, "w:"):
		id, err := strconv.ParseInt(r.Subject[2:], 10, 64)
		if err != nil {
			return fmt.Errorf("saved window %q names no workspace", r.Subject)
		}
		m.mu.Lock()
		s := m.workspace(id)
		m.mu.Unlock()
		s.restore(w, now)
	case r.Subject == overflowName:
		m.addresses.overflow.restore(w, now)
	default:
		a, err := parseAddress(r.Subject)
		if err != nil {
			return err
		}
		if s := m.addresses.subject(a, now, w.inUse(now)); s != m.addresses.overflow {
			s.restore(w, now)
		}
	}
	return nil
}

// restore takes over saved windows, unless the subject has some already that are neither over nor of a future day.
func (s *subject) restore(w windows, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.windows.inUse(now) || s.windows.day > dayOf(now) {
		s.windows = w
	}
}

func (m *Memory) restoreKey(r SavedKey) error {
	m.mu.Lock()
	c := m.caller(r.Workspace, r.KeyID)
	m.mu.Unlock()
	strikes, err := parseStrikes(r.Strikes, m.rules.Strikes-1)
	if err != nil {
		return fmt.Errorf("saved key %q: %w", r.KeyID, err)
	}
	c.subject.mu.Lock()
	defer c.subject.mu.Unlock()
	p := &c.penalty
	p.level = min(max(p.level, r.Level), m.rules.topLevel)
	p.cleanSince = max(p.cleanSince, fromMillis(r.CleanSince))
	p.runFrom, p.runUntil = fromMillis(r.RunFrom), fromMillis(r.RunUntil)
	p.strikes = strikes
	return nil
}

// toMillis rounds up, so that a minute that is saved and restored is not cut short.
func toMillis(ns int64) int64 { return ceil(ns, int64(time.Millisecond)) }

// fromMillis takes an instant outside of the years 1970 to 2200 as the nearest inside.
func fromMillis(ms int64) int64 {
	const last = int64(230 * 365 * 24 * time.Hour / time.Millisecond)
	return min(max(ms, 0), last) * int64(time.Millisecond)
}

func formatStrikes(strikes []int64) string {
	var texts []string
	for _, s := range strikes {
		texts = append(texts, strconv.FormatInt(toMillis(s), 10))
	}
	return strings.Join(texts, ",")
}

// parseStrikes returns the last strikes of a row, at most keep of them.
func parseStrikes(row string, keep int) ([]int64, error) {
	if row == "" {
		return nil, nil
	}
	var strikes []int64
	fields := strings.Split(row, ",")
	for _, f := range fields[max(0, len(fields)-keep):] {
		ms, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("strikes %q are not a list of milliseconds", row)
		}
		strikes = append(strikes, fromMillis(ms))
	}
	return strikes, nil
}
