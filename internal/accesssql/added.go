package accesssql

import (
	"sync"

	"example.com/petstore/internal/ratelimit"
)

// added knows what of the counts of keys is in the database already. A limiter
// saves what it counts in all, beginning with what it loaded; what it has added
// since it saved last is added to what others have.
type added struct {
	mu    sync.Mutex
	begun bool
	day   int64 // of the counts
	saved map[string]tally
}

// A tally is what a key did on the day, as this process has last loaded or saved
// it.
type tally struct{ admitted, refused int64 }

// begin notes what the limiter begins with: the first rows that were loaded.
func (a *added) begin(rows []ratelimit.SavedKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		a.begun = true
		a.keep(rows)
	}
}

// since returns what was added to the counts of a key.
func (a *added) since(k ratelimit.SavedKey) tally {
	now := tally{k.Admitted, k.Refused}
	if before, there := a.saved[k.KeyID]; there && k.Day == a.day {
		now = tally{grown(now.admitted, before.admitted), grown(now.refused, before.refused)}
	}
	return now
}

// grown returns by how much a count grew. One that is smaller than before has
// begun anew: its key was dropped meanwhile.
func grown(now, before int64) int64 {
	if now < before {
		return now
	}
	return now - before
}

// keep notes rows that are in the database. Those of days gone by are forgotten.
func (a *added) keep(rows []ratelimit.SavedKey) {
	for i := range rows {
		if rows[i].Day > a.day || a.saved == nil {
			a.day, a.saved = max(a.day, rows[i].Day), make(map[string]tally)
		}
	}
	for i := range rows {
		if r := &rows[i]; r.Day == a.day && r.Admitted+r.Refused > 0 {
			a.saved[r.KeyID] = tally{r.Admitted, r.Refused}
		}
	}
}
