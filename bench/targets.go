package main

import "fmt"

// A target is a bound on a figure: at least, or at most.
type target struct {
	what  string
	value float64
	bound float64
	most  bool
}

// met says whether the bound is met.
func (t target) met() bool {
	if t.most {
		return t.value <= t.bound
	}
	return t.value >= t.bound
}

// targetTable returns the targets beside what was measured.
func (r *results) targetTable() table {
	t := table{{"target", "bound", "measured", ""}}
	for _, g := range r.targets() {
		sign, verdict := "≥", "missed"
		if g.most {
			sign = "≤"
		}
		if g.met() {
			verdict = "met"
		}
		t.add(g.what, fmt.Sprintf("%s %g", sign, g.bound), fmt.Sprintf("%.3g", g.value), verdict)
	}
	return t
}

// targets returns those whose figures were measured.
func (r *results) targets() []target {
	all := r.shareTargets()
	for _, g := range []struct {
		row   string
		bound float64
	}{{"order", 3}, {"order-hot", 4.5}} {
		if f := r.row(g.row); f != nil && f.OfAppends != nil {
			all = append(all, target{findRow(rows(), g.row).words + ", × durable appends", f.OfAppends.Median, g.bound, false})
		}
	}
	all = append(all, r.peerTargets()...)
	if r.Feed != nil {
		all = append(all, target{"orders with events, of those without", r.Feed.Median, .85, false})
	}
	if w := r.Webhooks; w != nil {
		all = append(all, target{"deliveries to 64 receivers, thousands a second", w.Rate.Median / 1000, 2, false}, target{"from the commit to the receipt, p50, ms", w.P50.Median, 20, true})
	}
	if m := r.Memory; m != nil {
		all = append(all,
			target{fmt.Sprintf("memory under load with %d pets, MiB", m.Pets), m.Loaded, 128, true},
			target{fmt.Sprintf("search for the full name of one of %d pets, alone, ms", m.Pets), m.Search.Median, 2, true})
	}
	if r.Scale != nil {
		all = append(all, r.Scale.targets()...)
	}
	if r.Redis != nil {
		all = append(all, target{"decisions through Redis, of redis-benchmark's best", r.Redis.Median, .7, false})
	}
	return all
}

// shareTargets are those of rows beside bare net/http: by requests a second on the plain way, and by processor time on
// the others, where the client may be slower than the server.
func (r *results) shareTargets() []target {
	bounds := map[string]float64{"get": .85, "get-uniform": .65, "list": 1, "bad-key": .95, "limited": .95}
	var all []target
	for _, row := range rows() {
		f := r.row(row.name)
		bound, has := bounds[row.name]
		switch {
		case f == nil:
		case row.transport != plain:
			all = append(all, target{row.words + ", of bare net/http", f.CPURatio, .6, false})
		case has:
			all = append(all, target{row.words + ", of bare net/http", f.OfReference.Median, bound, false})
		}
	}
	return all
}

// peerTargets ask for more reads than the best of the peers does.
func (r *results) peerTargets() []target {
	bounds := map[string]float64{"get": 1, "list": 1.3} // a POST of theirs is in memory, ours on the disk
	var all []target
	for _, c := range r.Peers {
		best := 0.0
		for _, f := range c.Sides[2:] {
			best = max(best, f.PerSecond.Median)
		}
		if bound, has := bounds[c.Row]; has && best > 0 {
			all = append(all, target{findRow(rows(), c.Row).words + ", × the fastest peer", c.Sides[1].PerSecond.Median / best, bound, false})
		}
	}
	return all
}

// targets ask that no operation scans. Searches by name are apart: of them the one for a full name has a bound.
func (s *scale) targets() []target {
	var all []target
	for _, ratio := range []struct {
		what  string
		bound float64
		of    func(*scaleRow) float64
	}{
		{"by processor time", 3, func(r *scaleRow) float64 { return r.Ratio }},
		{"alone", 1.8, func(r *scaleRow) float64 { return r.AloneRatio.Median }},
	} {
		all = append(all, s.worst(ratio.what, ratio.bound, ratio.of)...)
	}
	if s.Search.Median > 0 {
		all = append(all, target{fmt.Sprintf("search for the full name of one of %d pets, alone, ms", s.Pets[1]), s.Search.Median, 12, true})
	}
	return all
}

// worst returns the operations that miss the bound, or the one that comes nearest to it.
func (s *scale) worst(what string, bound float64, ratio func(*scaleRow) float64) []target {
	var missed []target
	var worst target
	for i := range s.Rows {
		if s.Rows[i].Search {
			continue
		}
		one := target{fmt.Sprintf("%s at %d pets, × at %d, %s", s.Rows[i].Name, s.Pets[1], s.Pets[0], what), ratio(&s.Rows[i]), bound, true}
		if !one.met() {
			missed = append(missed, one)
		} else if one.value > worst.value {
			worst = one
		}
	}
	if len(missed) == 0 && worst.value > 0 {
		return []target{worst}
	}
	return missed
}
