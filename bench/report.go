package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A table is rows of cells; the first row is its head.
type table [][]string

func (t *table) add(cells ...string) { *t = append(*t, cells) }

// text writes the table for a terminal.
func (t table) text(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, cells := range t {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
}

// markdown writes the table for a page.
func (t table) markdown(to io.Writer) {
	for i, cells := range t {
		fmt.Fprintf(to, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(to, "|---%s\n", strings.Repeat("|---:", len(cells)-1)+"|")
		}
	}
	fmt.Fprintln(to)
}

// ranged writes a median with what it lies between.
func (s spread) ranged(format string) string {
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.Median, s.Least, s.Most)
}

// rows returns the one table of all rows.
func (r *results) rows() table {
	t := table{{"request", "requests/s", "floor/s", "of floor", "CPU µs", "floor µs", "floor CPU / CPU", "allocations",
		"p50 ms", "p99 ms", "p99.9 ms", "RSS MiB", "× append+sync", "of the bound"}}
	words := map[string]string{}
	for _, row := range rows() {
		words[row.name] = row.describe()
	}
	for _, f := range r.Rows {
		appends, bound := "", ""
		if f.OfAppends != nil {
			appends, bound = f.OfAppends.ranged("%.1f"), f.OfBound.ranged("%.3f")
		}
		number := func(format string, v float64) string { return fmt.Sprintf(format, v) }
		t.add(words[f.Name], f.PerSecond.ranged("%.0f"), number("%.0f", f.Floor.Median), f.OfFloor.ranged("%.2f"),
			number("%.1f", f.CPU), number("%.1f", f.FloorCPU), number("%.2f", f.CPURatio), number("%.0f", f.Allocs),
			number("%.2f", f.P50/1000), number("%.2f", f.P99/1000), number("%.2f", f.P999/1000), number("%.0f", f.RSS), appends, bound)
	}
	return t
}

// scales returns the table of start and memory.
func (r *results) scales() table {
	t := table{{"pets", "file MiB", "start to ready, ms", "RSS idle, MiB", "RSS peak under load, MiB"}}
	for _, s := range r.Scales {
		loaded := ""
		if s.Loaded > 0 {
			loaded = fmt.Sprintf("%.0f", s.Loaded)
		}
		t.add(fmt.Sprint(s.Pets), fmt.Sprintf("%.1f", s.FileMiB), s.Start.ranged("%.0f"), fmt.Sprintf("%.0f", s.Idle), loaded)
	}
	return t
}

// notes returns the figures that stand in no table.
func (r *results) notes() []string {
	var out []string
	if r.Disk.Appends.Median > 0 {
		out = append(out, fmt.Sprintf("The disk: %s durable appends of 4 KiB a second; the bound (a map in memory and one log with grouped syncs) %s a second for 64 callers, %s for one.",
			r.Disk.Appends.ranged("%.0f"), r.Disk.Grouped.ranged("%.0f"), r.Disk.Alone.ranged("%.0f")))
	}
	if r.Alone != nil {
		out = append(out, fmt.Sprintf("One caller's order: %.0f µs through the store, %.0f µs as a plain transaction of the same statements: × %s.",
			r.Alone.Store, r.Alone.Plain, r.Alone.Ratio.ranged("%.2f")))
	}
	return append(out, fmt.Sprintf("The binary has %.1f MiB.", r.Binary))
}

// print writes the results to a terminal.
func (r *results) print(to io.Writer) {
	r.rows().text(to)
	fmt.Fprintln(to)
	if len(r.Scales) > 0 {
		r.scales().text(to)
		fmt.Fprintln(to)
	}
	for _, note := range r.notes() {
		fmt.Fprintln(to, note)
	}
	for _, t := range r.parts() {
		fmt.Fprintln(to)
		t.text(to)
	}
	if goals := r.goals(); len(goals) > 1 {
		fmt.Fprintln(to)
		goals.text(to)
	}
}

// page writes RESULTS.md.
func (r *results) page(to io.Writer) {
	fmt.Fprintf(to, `# What was measured

Written by `+"`make bench`"+`; do not edit. %s: %d cores of %s, %s, %s, databases on %s.
The load average before the run was %s: well above 0 means that others were at work, and that only ratios say something.

Every row ran %d rounds of %d ms, in turns with the floor: bare net/http answering the same status and a constant body of
the same size. The measured process has core 0 and GOMAXPROCS=1, the load core 1. The server has everything on: API keys,
both limits, all headers, metrics, and its log, which goes to a file; the database has %d pets. Medians, with the least and
the most in parentheses. "Of floor" compares requests a second round by round; "floor CPU / CPU" compares the processor
time of a request over all rounds, which other work on the machine disturbs less.

## Requests

`, r.Settings.Date, r.Machine.Cores, r.Machine.Processor, r.Machine.Kernel, r.Machine.Go, r.Machine.FileSystem, r.Settings.Busy,
		r.Settings.Rounds, r.Settings.RoundMillis, r.Settings.Pets)
	r.rows().markdown(to)
	for _, note := range r.notes() {
		fmt.Fprintf(to, "- %s\n", note)
	}
	fmt.Fprint(to, "\n## Start and memory\n\n")
	r.scales().markdown(to)
	r.extras(to)
	fmt.Fprint(to, "## Targets\n\n")
	r.goals().markdown(to)
}
