package admin

import (
	"cmp"
	"net/http"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/page"
)

// An overview is the operator's first page.
type overview struct {
	Cards   []summary
	Nearest page.List
}

// A summary is one number of the installation.
type summary struct {
	Title, Value, Hint, URL string
	Bad                     bool
}

// totalsFor is for how long what all workspaces did is taken as known: reading it costs a row for each of them.
const totalsFor = 5 * time.Second

// totals are what all workspaces did when that was read last.
type totals struct {
	read             time.Time
	workspaces, over int64 // how many there are, and how many of them are over their quota
	busiest          []access.Use
}

// readTotals returns what was read within totalsFor, or reads it. Concurrent callers wait for the same read.
func readTotals(v *visit) (t totals, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now, ctx := v.Now(), v.R.Context()
	if age := now.Sub(v.totals.read); age >= 0 && age < totalsFor {
		return v.totals, nil
	}
	var errs [3]error
	t.workspaces, errs[0] = v.Access.CountWorkspaces(ctx)
	t.over, errs[1] = v.Access.CountOverQuota(ctx)
	t.busiest, errs[2] = v.Access.BusiestKeys(ctx, busiest)
	if err = cmp.Or(errs[:]...); err == nil {
		t.read = now
		v.totals = t
	}
	return t, err
}

func showOverview(v *visit) error {
	t, err := readTotals(v)
	if err != nil {
		return err
	}
	bans, err := banSummary(v)
	if err != nil {
		return err
	}
	nearest, err := busyKeys(v, t)
	cards := []summary{workspaceSummary(v, t), bans, healthSummary(v.Health())}
	return cmp.Or(err, v.Render(http.StatusOK, "overview", "Overview", overview{cards, nearest}))
}

func workspaceSummary(v *visit, t totals) summary {
	s := summary{Title: "Workspaces", Value: page.Number(t.workspaces), Hint: page.Counted(int64(v.Keys.Len()), "key in use", "keys in use"), URL: "/console/workspaces"}
	if t.over > 0 {
		s.Hint, s.URL, s.Bad = page.Number(t.over)+" over quota", "/console/workspaces?sort=use", true
	}
	return s
}

func banSummary(v *visit) (summary, error) {
	keys, err := bannedKeys(v)
	n := int64(len(keys))
	s := summary{Title: "Bans", Value: page.Number(n), Hint: "no key is refused", URL: "/console/bans", Bad: n > 0}
	if n > 0 {
		s.Hint = "until " + page.InWords(keys[0].Key.Ban.Until) + " at least"
	}
	return s, err
}

func healthSummary(health []Figure) summary {
	s := summary{Title: "This node", Value: "Ready", Hint: "everything answers", URL: "/console/health"}
	for _, f := range health {
		if f.Bad {
			return summary{Title: s.Title, Value: "Problem", Hint: f.Name + ": " + f.Value, URL: s.URL, Bad: true}
		}
	}
	return s
}
