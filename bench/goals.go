package main

import "fmt"

// A goal is a bound on a figure: it is at least the first and shall be at least
// the second, or at most if the second is less.
type goal struct {
	what         string
	value        float64
	known        bool
	first, later float64 // 0 if there is none
	most         bool    // the bounds are from above
}

// goals returns the targets beside what was measured.
func (r *results) goals() table {
	t := table{{"target", "measured", "first", "later"}}
	for _, g := range r.targets() {
		if g.known {
			t.add(g.what, fmt.Sprintf("%.4g", g.value), g.judge(g.first), g.judge(g.later))
		}
	}
	return t
}

// judge says whether a bound is met.
func (g goal) judge(bound float64) string {
	if bound == 0 {
		return ""
	}
	sign, met := "≥", g.value >= bound
	if g.most {
		sign, met = "≤", g.value <= bound
	}
	verdict := "missed"
	if met {
		verdict = "met"
	}
	return fmt.Sprintf("%s %g: %s", sign, bound, verdict)
}

func (r *results) targets() []goal {
	all := []goal{
		r.share("get", .7, .85), r.share("list", .6, .75), r.share("limited", 0, .95), r.share("bad-key", 0, .95),
	}
	if first, deep := r.row("list"), r.row("list-deep"); first != nil && deep != nil && deep.CPU > 0 {
		all = append(all, goal{"first page's CPU / deep page's", first.CPU / deep.CPU, true, 0, .9, false})
	}
	if order := r.row("order"); order != nil {
		all = append(all,
			goal{"orders, × durable appends", order.OfAppends.Median, true, 2, 4, false},
			goal{"orders, p99 in ms", order.P99 / 1000, true, 0, 10, true})
	}
	if r.Alone != nil {
		all = append(all, goal{"one caller / plain transaction", r.Alone.Ratio.Median, true, 0, 1.1, true})
	}
	if s := r.scale(0); s != nil {
		all = append(all, goal{"start in ms, empty", s.Start.Median, true, 200, 50, true})
	}
	if s := r.scale(100_000); s != nil {
		all = append(all,
			goal{"start in ms, 100,000 pets", s.Start.Median, true, 200, 0, true},
			goal{"RSS in MiB under load, 100,000 pets", s.Loaded, true, 64, 0, true})
	}
	if s := r.scale(1_000_000); s != nil {
		all = append(all, goal{"RSS in MiB under load, 1,000,000 pets", s.Loaded, true, 0, 48, true})
	}
	return append(all, goal{"binary in MiB", r.Binary, true, 0, 30, true})
}

// share is the goal of a row as a share of the floor.
func (r *results) share(name string, first, later float64) goal {
	g := goal{what: name + ", of the floor", first: first, later: later}
	if f := r.row(name); f != nil {
		g.value, g.known = f.OfFloor.Median, true
	}
	return g
}
