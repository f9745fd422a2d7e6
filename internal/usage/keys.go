package usage

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Day is the span of a KeyDay, in seconds.
const Day Interval = 86400

// A KeyDay is what one key did on one UTC day.
type KeyDay struct {
	Workspace  int64
	KeyID      string
	Day        int64 // Unix seconds of its start
	Requests   [Classes]int64
	Deprecated int64 // how many of them were for a deprecated operation
	LastUsed   int64 // Unix milliseconds of the latest; a store returns 0
}

// Total returns the number of requests.
func (k *KeyDay) Total() (n int64) {
	for _, m := range k.Requests {
		n += m
	}
	return n
}

// Add adds what o counted to k.
func (k *KeyDay) Add(o *KeyDay) {
	for i, n := range o.Requests {
		k.Requests[i] += n
	}
	k.Deprecated += o.Deprecated
	k.LastUsed = max(k.LastUsed, o.LastUsed)
}

// maxKeyDays is how many KeyDays of a workspace are held until they are saved. It is more than the keys that it can have.
const maxKeyDays = 1000

type keyDay struct {
	id  string
	day int64
}

// Forms is the key id under which all forms of the console are counted, whatever key they were sent with.
const Forms = "console"

// countKey adds a request to the KeyDay of its key. A form of the console is counted for Forms, and only updates LastUsed of its key.
func (m *meter) countKey(e *Event) {
	if e.KeyID == "" {
		return
	}
	k := KeyDay{KeyID: e.KeyID, Day: Day.start(e.At), LastUsed: e.At.UnixMilli()}
	if e.Console {
		m.addKey(&k)
		k.KeyID = Forms
	}
	k.Requests[ClassOf(e.Status)]++
	if e.Deprecated {
		k.Deprecated++
	}
	m.addKey(&k)
}

func (m *meter) addKey(k *KeyDay) {
	at := keyDay{k.KeyID, k.Day}
	if have := m.keys[at]; have != nil {
		have.Add(k)
		return
	}
	if m.keys == nil {
		m.keys = map[keyDay]*KeyDay{}
	}
	if len(m.keys) < maxKeyDays {
		kept := *k
		m.keys[at] = &kept
	}
}

// saveKeys saves KeyDays. Those that cannot be saved are kept for the next time.
func (r *Recorder) saveKeys(ctx context.Context, days []KeyDay) error {
	for len(days) > 0 {
		n := min(len(days), maxRows)
		if err := r.store.AddKeyDays(ctx, days[:n]); err != nil {
			for i := range days {
				r.with(days[i].Workspace, func(m *meter) { m.addKey(&days[i]) })
			}
			return err
		}
		days = days[n:]
	}
	return nil
}

// KeyDays returns what a key of a workspace did on each day from the one that holds from, or what all of them and the
// forms of the console did if keyID is "": by key and day, without days on which it did nothing. A day on which a key
// sent only forms has no requests. It is what all processes have saved and what this one has not saved yet.
func (r *Recorder) KeyDays(ctx context.Context, workspace int64, keyID string, from time.Time) ([]KeyDay, error) {
	first := Day.start(from)
	r.saving.RLock()
	defer r.saving.RUnlock()
	days, err := r.store.KeyDays(ctx, workspace, keyID, first)
	if err != nil {
		return nil, err
	}
	if m := r.find(workspace); m != nil {
		days = m.withKeys(days, keyID, first)
	}
	slices.SortFunc(days, func(a, b KeyDay) int { return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Day, b.Day)) })
	return days, nil
}

// withKeys adds to days what is not saved yet.
func (m *meter) withKeys(days []KeyDay, keyID string, first int64) []KeyDay {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, k := range m.keys {
		if at.day < first || keyID != "" && at.id != keyID {
			continue
		}
		if i := slices.IndexFunc(days, func(d KeyDay) bool { return d.KeyID == at.id && d.Day == at.day }); i >= 0 {
			days[i].Add(k)
		} else {
			days = append(days, *k)
		}
	}
	return days
}
