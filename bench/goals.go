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
	all = append(all, r.peerGoals()...)
	all = append(all, r.overloadGoals()...)
	all = append(all, r.grownGoals()...)
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

// peerGoals ask for more reads than the best of the peers does.
func (r *results) peerGoals() []goal {
	var all []goal
	for _, c := range r.Peers {
		best := 0.0
		for _, f := range c.Sides[2:] {
			best = max(best, f.PerSecond.Median)
		}
		if c.Row != "create-pet" && best > 0 { // theirs is in memory, ours on the disk
			all = append(all, goal{c.Row + ", × the fastest peer", c.Sides[1].PerSecond.Median / best, true, 0, 1, false})
		}
	}
	return all
}

// overloadGoals ask that five times the capacity leaves it nearly whole.
func (r *results) overloadGoals() []goal {
	var all []goal
	for _, p := range r.Overload {
		if p.Times == mostTimes {
			how := "5 × the callers"
			if p.Open {
				how = "5 × the capacity"
			}
			all = append(all, goal{p.Row + " at " + how + ", of the peak", p.OfPeak, true, 0, .9, false})
		}
	}
	return all
}

// grownGoals ask that a big shop costs hardly more than a small one.
func (r *results) grownGoals() []goal {
	if r.Grown == nil {
		return nil
	}
	all := []goal{{fmt.Sprintf("start in ms, %d pets", r.Grown.Pets[1]), r.Grown.Start.Median, true, 0, 500, true}}
	all = append(all, r.Grown.ratioGoals("× its cost in a small shop", func(row *grownRow) float64 { return row.Ratio })...)
	return append(all, r.Grown.ratioGoals("alone, × its time in a small shop", func(row *grownRow) float64 { return row.OfAlone.Median })...)
}

// ratioGoals returns those of the operations that miss their bound, or of the one
// that comes nearest to it. One that was not measured is left out.
func (g *grown) ratioGoals(what string, ratio func(*grownRow) float64) []goal {
	const bound = 1.5
	var missed []goal
	var worst goal
	for i := range g.Rows {
		one := goal{g.Rows[i].Name + ", " + what, ratio(&g.Rows[i]), true, 0, bound, true}
		switch {
		case one.value > bound:
			missed = append(missed, one)
		case one.value > worst.value:
			worst = one
		}
	}
	if len(missed) == 0 && worst.known {
		return []goal{worst}
	}
	return missed
}
