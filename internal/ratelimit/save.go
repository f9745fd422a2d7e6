package ratelimit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
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
func (rows *Saved) Empty() bool { return len(rows.Windows) == 0 && len(rows.Keys) == 0 }

// A SavedWindow is the two windows of one workspace or address.
type SavedWindow struct {
	Subject     string // "w:12", "a:192.0.2.7", "a:2001:db8:0:1::/64", or "a:*" for the addresses beyond the table
	MinuteStart int64  // Unix milliseconds
	MinuteUsed  int64
	Day         int64 // days since 1970-01-01 UTC
	DayUsed     int64
}

// A SavedKey is what stands against a key.
type SavedKey struct {
	KeyID      string
	Workspace  int64
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

	// SaveLimits inserts the rows, or replaces those with the same Subject or KeyID. After an error some may be kept. It leaves
	// out rows of keys whose workspace was deleted. Of a window the greatest count that was saved holds. What several nodes know
	// against a key replaces each other.
	SaveLimits(ctx context.Context, rows Saved) error
}

// saveTimeout bounds each save.
const saveTimeout = 10 * time.Second

// Keep saves what has changed to the store, once in each interval until ctx ends, and then once more. The end of ctx breaks
// no save off, since nobody would know whether it was done. The next save makes up for one that failed, which Stats counts.
// Keep returns the error of its last save. End ctx when requests are no longer admitted: what they use after the last save
// is not kept. The windows are those of all nodes if Redis counts; what stands against a key is this node's.
func (l *Limiter) Keep(ctx context.Context, store Store, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			_ = l.save(ctx, store) // counted, and made up for
		case <-ctx.Done():
		}
	}
	return l.save(ctx, store)
}

func (l *Limiter) save(ctx context.Context, store Store) error {
	rows, requeue := l.Dirty()
	if rows.Empty() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if err := store.SaveLimits(ctx, rows); err != nil {
		requeue()
		l.failedSaves.Add(1)
		return fmt.Errorf("save rate limits: %w", err)
	}
	return nil
}

// Dirty returns the rows that have changed since the last call. The caller saves them, or calls requeue: then the next
// Dirty returns them as they are by then. Bans in force are not rows; what led to them is.
func (l *Limiter) Dirty() (rows Saved, requeue func()) {
	subjects := l.changed.take()
	var keys []*Caller
	for _, s := range subjects {
		keys = append(keys, rows.add(s)...)
	}
	return rows, func() {
		for _, c := range keys {
			c.subject.mu.Lock()
			l.changed.add(c.subject, c)
			c.subject.mu.Unlock()
		}
		for _, s := range subjects {
			s.mu.Lock()
			l.changed.add(s, nil)
			s.mu.Unlock()
		}
	}
}

// add adds the rows of a subject and of its keys that have changed, and returns these keys.
func (rows *Saved) add(s *subject) []*Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.windows; !s.removed && w != (windows{}) {
		rows.Windows = append(rows.Windows, SavedWindow{
			Subject: s.name, MinuteStart: toMillis(w.minuteStart), MinuteUsed: w.minuteUsed, Day: w.day, DayUsed: w.dayUsed,
		})
	}
	keys := s.keys
	for _, c := range keys {
		p := c.penalty
		rows.Keys = append(rows.Keys, SavedKey{
			KeyID: c.id, Workspace: s.workspace,
			Level: p.level, CleanSince: toMillis(p.cleanSince),
			RunFrom: toMillis(p.runFrom), RunUntil: toMillis(p.runUntil), Strikes: formatStrikes(p.strikes),
		})
		c.changed = false
	}
	s.keys, s.changed = nil, false
	return keys
}

// Restore takes over saved rows, before the first decision. It leaves out addresses whose windows are over, or for
// which the table has become too small. It returns an error that names the first row that it cannot read, and takes over
// the others all the same. A Redis limiter tells Redis the counts that were restored, in case Redis has lost them.
func (l *Limiter) Restore(rows Saved) error {
	var first error
	now := l.now().UnixNano()
	for _, r := range rows.Windows {
		first = cmp.Or(first, l.restoreWindow(r, now))
	}
	for _, r := range rows.Keys {
		first = cmp.Or(first, l.restoreKey(r))
	}
	return first
}

func (l *Limiter) restoreWindow(r SavedWindow, now int64) error {
	w := windows{fromMillis(r.MinuteStart), r.MinuteUsed, r.Day, r.DayUsed}
	s, err := l.subjectOf(r.Subject, now, w.inUse(now))
	if err != nil || s == l.addresses.overflow && r.Subject != overflowName {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows = w
	return nil
}

// subjectOf returns the subject of a saved row. With keep, an address gets a place if there is one.
func (l *Limiter) subjectOf(name string, now int64, keep bool) (*subject, error) {
	kind, rest, _ := strings.Cut(name, ":")
	id, idErr := strconv.ParseInt(rest, 10, 64)
	a, addressErr := netip.ParseAddr(strings.TrimSuffix(rest, "/64"))
	switch {
	case kind == "w" && idErr == nil:
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.workspace(id), nil
	case name == overflowName:
		return l.addresses.overflow, nil
	case kind == "a" && addressErr == nil:
		return l.addresses.subject(a, now, keep), nil
	}
	return nil, fmt.Errorf("saved window %q names neither a workspace nor an address", name)
}

func (l *Limiter) restoreKey(r SavedKey) error {
	strikes, err := parseStrikes(r.Strikes, l.cfg.Strikes-1)
	if err != nil {
		return fmt.Errorf("saved key %q: %w", r.KeyID, err)
	}
	l.mu.Lock()
	c := l.caller(r.Workspace, r.KeyID)
	l.mu.Unlock()
	c.subject.mu.Lock()
	defer c.subject.mu.Unlock()
	p := &c.penalty
	p.level = max(p.level, r.Level)
	p.cleanSince = max(p.cleanSince, fromMillis(r.CleanSince))
	p.runFrom, p.runUntil = fromMillis(r.RunFrom), fromMillis(r.RunUntil)
	p.strikes = strikes
	return nil
}

// toMillis rounds up, so that a minute that is saved and restored is not cut short.
func toMillis(ns int64) int64 { return ceil(ns, int64(time.Millisecond)) }

func fromMillis(ms int64) int64 { return ms * int64(time.Millisecond) }

func formatStrikes(strikes []int64) string {
	texts := make([]string, len(strikes))
	for i, s := range strikes {
		texts[i] = strconv.FormatInt(toMillis(s), 10)
	}
	return strings.Join(texts, ",")
}

// parseStrikes returns the last strikes of a row, at most keep of them.
func parseStrikes(row string, keep int) ([]int64, error) {
	var strikes []int64
	if err := json.Unmarshal([]byte("["+row+"]"), &strikes); err != nil {
		return nil, fmt.Errorf("strikes %q are not a list of milliseconds", row)
	}
	strikes = strikes[max(0, len(strikes)-keep):]
	for i, ms := range strikes {
		strikes[i] = fromMillis(ms)
	}
	return strikes, nil
}
