package ratelimit

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Restore takes over saved rows, before the first decision. Rows that say nothing any more are left out, and so are
// addresses for which the table has become too small; negative counts are taken as 0. It returns an error that names
// the first row it cannot read, and takes over the others all the same.
func (m *Memory) Restore(rows Saved) error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	now := m.now().UnixNano()
	for _, r := range rows.Windows {
		note(m.restoreWindow(r, now))
	}
	for _, r := range rows.Keys {
		note(m.restoreKey(r))
	}
	return first
}

func (m *Memory) restoreWindow(r SavedWindow, now int64) error {
	w := windows{
		minuteStart: fromMillis(r.MinuteStart), minuteUsed: max(0, r.MinuteUsed),
		day: min(max(r.Day, 0), math.MaxInt64/day-2), dayUsed: max(0, r.DayUsed),
	}
	id, yes, err := parseWorkspace(r.Subject)
	if err != nil {
		return err
	}
	if !yes {
		return m.addresses.restore(r.Subject, w, now)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.workspace(id).restore(w)
	return nil
}

func (ws *workspace) restore(w windows) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.windows = w
}

func (t *addressTable) restore(subject string, w windows, now int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if subject == overflowSubject {
		t.overflow.windows = w
		return nil
	}
	a, err := parseAddress(subject)
	if err != nil {
		return err
	}
	if !w.live(now) {
		return nil
	}
	if p := t.look(a, now); p == nil {
		t.add(addressOf(a), w)
	} else if p != &t.overflow {
		p.windows = w
	}
	return nil
}

func (m *Memory) restoreKey(r SavedKey) error {
	m.mu.Lock()
	c := m.enrol(r.Workspace, r.KeyID)
	m.mu.Unlock()
	strikes, err := parseStrikes(r.Strikes, m.rules.strikes-1)
	if err != nil {
		return fmt.Errorf("saved key %q: %w", r.KeyID, err)
	}
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	c.day, c.admitted, c.refused = r.Day, max(0, r.Admitted), max(0, r.Refused)
	c.lastUsed = fromMillis(r.LastUsed)
	p := &c.key.penalty
	p.level = min(max(p.level, r.Level), m.rules.topLevel)
	p.cleanSince = max(p.cleanSince, fromMillis(r.CleanSince))
	p.runFrom, p.runUntil = fromMillis(r.RunFrom), fromMillis(r.RunUntil)
	p.strikes = strikes
	c.penalised = !p.clear()
	return nil
}

// Dirty returns the rows that have changed since it was last called. The caller saves them, or gives them to Redo before
// it calls Dirty again. Bans in force are not rows; what led to them is.
func (m *Memory) Dirty() Saved {
	m.forget()
	var rows Saved
	at := map[*workspace]int{}
	for c := m.changed.Swap(nil); c != nil; {
		c = c.save(&rows, at)
	}
	m.addresses.save(&rows)
	return rows
}

// Redo marks rows as changed that Dirty has returned and that could not be saved. The next Dirty has them as they are
// by then.
func (m *Memory) Redo(rows Saved) {
	m.mu.RLock()
	for _, r := range rows.Windows {
		if id, yes, _ := parseWorkspace(r.Subject); yes && m.workspaces[id] != nil {
			m.remark(&Caller{ws: m.workspaces[id], key: &keyState{workspace: id, replaced: true}})
		}
	}
	for _, r := range rows.Keys {
		if c := cmp.Or(m.callers[r.KeyID], m.gone[r.KeyID]); c != nil {
			m.remark(c)
		}
	}
	m.mu.RUnlock()
	m.addresses.redo(rows.Windows)
}

func (m *Memory) remark(c *Caller) {
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	m.change(c)
}

// change puts a caller among those to save. The workspace's mutex is held.
func (m *Memory) change(c *Caller) {
	if c.changed {
		return
	}
	c.changed = true
	for {
		c.next = m.changed.Load()
		if m.changed.CompareAndSwap(c.next, c) {
			return
		}
	}
}

// save notes the rows of a changed caller, and returns the next one: from now on the caller can be put among the changed
// ones again, which overwrites its link. The workspace's row is noted again with each of its callers: a request that
// came after the first of them, from one that is yet to be saved, is in both rows.
func (c *Caller) save(rows *Saved, at map[*workspace]int) (next *Caller) {
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	next, c.next, c.changed = c.next, nil, false
	i, there := at[c.ws]
	if !there {
		i = len(rows.Windows)
		at[c.ws] = i
		rows.Windows = append(rows.Windows, SavedWindow{})
	}
	rows.Windows[i] = c.ws.windows.row(workspaceSubject(c.key.workspace))
	if !c.key.replaced {
		rows.Keys = append(rows.Keys, c.row())
	}
	return next
}

func (c *Caller) row() SavedKey {
	p := &c.key.penalty
	return SavedKey{
		KeyID: c.key.id, Workspace: c.key.workspace,
		Day: c.day, Admitted: c.admitted, Refused: c.refused, LastUsed: toMillis(c.lastUsed),
		Level: p.level, CleanSince: toMillis(p.cleanSince),
		RunFrom: toMillis(p.runFrom), RunUntil: toMillis(p.runUntil), Strikes: formatStrikes(p.strikes),
	}
}

func (w windows) row(subject string) SavedWindow {
	return SavedWindow{
		Subject: subject, MinuteStart: toMillis(w.minuteStart), MinuteUsed: w.minuteUsed, Day: w.day, DayUsed: w.dayUsed,
	}
}

// save appends the rows of the addresses that have changed.
func (t *addressTable) save(rows *Saved) {
	changed, overflow := t.takeChanged()
	for _, p := range changed {
		rows.Windows = append(rows.Windows, p.windows.row(addressSubject(p.addr)))
	}
	if overflow.changed {
		rows.Windows = append(rows.Windows, overflow.windows.row(overflowSubject))
	}
}

// takeChanged copies what is to be saved, so that requests wait only for that.
func (t *addressTable) takeChanged() (places []addressPlace, overflow addressPlace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	places = make([]addressPlace, 0, len(t.changed))
	for _, n := range t.changed {
		places = append(places, t.places[n])
		t.places[n].changed = false
	}
	t.changed = t.changed[:0]
	overflow = t.overflow
	t.overflow.changed = false
	return places, overflow
}

func (t *addressTable) redo(rows []SavedWindow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range rows {
		if r.Subject == overflowSubject {
			t.overflow.changed = true
		} else if a, err := parseAddress(r.Subject); err == nil {
			if n := t.index[t.slot(addressOf(a))]; n != 0 {
				t.change(&t.places[n-1])
			}
		}
	}
}

// toMillis rounds up, so that a minute that is saved and restored is not cut short.
func toMillis(ns int64) int64 {
	ms := ns / int64(time.Millisecond)
	if ns%int64(time.Millisecond) > 0 {
		ms++
	}
	return ms
}

// fromMillis takes an instant outside of the years 1970 to 2200 as the nearest inside.
func fromMillis(ms int64) int64 {
	const last = int64(230 * 365 * 24 * time.Hour / time.Millisecond)
	return min(max(ms, 0), last) * int64(time.Millisecond)
}

func formatStrikes(strikes []int64) string {
	var b []byte
	for i, s := range strikes {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, toMillis(s), 10)
	}
	return string(b)
}

// parseStrikes returns the last strikes of a row, at most keep of them, with room for keep.
func parseStrikes(row string, keep int) ([]int64, error) {
	if row == "" {
		return nil, nil
	}
	strikes := make([]int64, 0, keep)
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
