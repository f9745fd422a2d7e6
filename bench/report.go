package main

import (
	"fmt"
	"io"
	"strings"
)

// A table is rows of cells; the first row is its head.
type table [][]string

func (t *table) add(cells ...string) { *t = append(*t, cells) }

// write writes the table, as pages and terminals show it.
func (t table) write(to io.Writer) {
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

func number(format string, v float64) string { return fmt.Sprintf(format, v) }

// A section is a part of the report.
type section struct {
	title, words string
	table        table
	notes        []string
}

// sections returns what was measured.
func (r *results) sections() []section {
	var all []section
	if len(r.Rows) > 0 {
		all = append(all, r.rowSection())
	}
	if len(r.Peers) > 0 {
		all = append(all, r.peerSection())
	}
	if r.Feed != nil {
		all = append(all, section{title: "The feed", words: "Orders of different pets, by 64 callers, of a server that keeps events, and of one with --event-retention 0.",
			table: table{{"", "ratio"}, {"with events / without", r.Feed.ranged("%.2f")}}})
	}
	if r.Webhooks != nil {
		all = append(all, r.Webhooks.section())
	}
	if r.Memory != nil {
		all = append(all, r.Memory.section())
	}
	if r.Redis != nil {
		all = append(all, section{title: "The limiter in Redis", words: `BenchmarkRedis of internal/ratelimit: decisions a second of 64 callers, and the best rate at which redis-benchmark calls the same
script over 64 connections with 4, 16 or 64 calls in flight on each.`,
			table: table{{"", "ratio"}, {"decisions / calls", r.Redis.ranged("%.2f")}}})
	}
	if r.Scale != nil {
		all = append(all, r.Scale.section())
	}
	if targets := r.targetTable(); len(targets) > 1 {
		all = append(all, section{title: "Targets", table: targets})
	}
	return all
}

func (r *results) rowSection() section {
	s := section{title: "Requests", words: fmt.Sprintf(`Every row ran %d rounds of %d ms, in turns with bare net/http, which answers the same status and a constant body of the same
size, and on the other transports the same header fields. The database has %d pets. "Of net/http" compares requests a second round
by round; "CPU, net/http / ours" compares the processor time of a request over all rounds, which other work on the machine
disturbs less. Over HTTP/2 the client is the slower side, so that only the processor time says something.`,
		r.Settings.Rounds, r.Settings.RoundMillis, r.Settings.Pets)}
	s.table = table{{"request", "requests/s", "net/http/s", "of net/http", "CPU µs", "net/http µs", "CPU, net/http / ours", "allocations",
		"p50 ms", "p99 ms", "p99.9 ms", "RSS MiB", "× durable appends"}}
	for _, f := range r.Rows {
		appends := ""
		if f.OfAppends != nil {
			appends = f.OfAppends.ranged("%.1f")
		}
		s.table.add(wordsOf(f.Name), f.PerSecond.ranged("%.0f"), number("%.0f", f.Reference.Median), f.OfReference.ranged("%.2f"),
			number("%.1f", f.CPU), number("%.1f", f.ReferenceCPU), number("%.2f", f.CPURatio), number("%.0f", f.Allocs),
			number("%.2f", f.P50/1000), number("%.2f", f.P99/1000), number("%.2f", f.P999/1000), number("%.0f", f.RSS), appends)
	}
	if r.Appends.Median > 0 {
		s.notes = append(s.notes, fmt.Sprintf("The disk: %s durable appends of 4 KiB a second.", r.Appends.ranged("%.0f")))
	}
	return s
}

func wordsOf(name string) string {
	if r := findRow(rows(), name); r != nil {
		return r.words
	}
	return name
}

func (r *results) peerSection() section {
	s := section{title: "Beside other servers", words: fmt.Sprintf(`Other servers of pets, written as their documentation would have it, with %d pets in memory, without keys, limits, a log or
anything durable, in turns with this service, which has all of these. A POST to this service is on the disk when it is answered.`, peerPets)}
	s.table = table{{"request", "server", "requests/s", "of net/http", "CPU µs", "p50 ms", "p99 ms", "RSS MiB", "this service is faster by"}}
	for _, c := range r.Peers {
		ours := c.Sides[1]
		for _, f := range c.Sides {
			faster := ""
			if f.Name != ours.Name && f.PerSecond.Median > 0 {
				faster = fmt.Sprintf("× %.2f", ours.PerSecond.Median/f.PerSecond.Median)
			}
			s.table.add(wordsOf(c.Row), f.Name, f.PerSecond.ranged("%.0f"), f.OfReference.ranged("%.2f"), number("%.1f", f.CPU),
				number("%.2f", f.P50/1000), number("%.2f", f.P99/1000), number("%.0f", f.RSS), faster)
		}
	}
	return s
}

func (d *delivery) section() section {
	return section{title: "Webhooks", words: fmt.Sprintf(`%d local receivers, each of a webhook of its own, in %d workspaces. The rate is that of %d events at once, until the last is received. The
latency, from the commit to the receipt, is that of a steady %d deliveries a second.`, hookShops*hooksEach, hookShops, hookBurst, hookRate*hooksEach),
		table: table{{"", "figure"}, {"deliveries/s", d.Rate.ranged("%.0f")}, {"p50 ms", d.P50.ranged("%.1f")}}}
}

func (m *memory) section() section {
	return section{title: "Memory and search", words: "The names of the pets are like people's: a given name and a family name. The search is for the full name of the only pet that has it.",
		table: table{
			{"pets", "file MiB", "start to ready, ms", "RSS idle, MiB", "RSS peak under load, MiB", "search for one alone, ms"},
			{fmt.Sprint(m.Pets), number("%.0f", m.FileMiB), m.Start.ranged("%.0f"), number("%.0f", m.Idle), number("%.0f", m.Loaded), m.Search.ranged("%.2f")},
		}}
}

func (s *scale) section() section {
	where := "locked in the kernel's cache"
	if s.Loose {
		where = "read into the kernel's cache beforehand"
	}
	out := section{title: "Scale", words: fmt.Sprintf(`Written by "make bench-scale", %s. Both files were %s.

Reads have 32 callers, and writes 64, whose changes share pages and syncs: the processor time is that of one request among theirs.
Searches by name, and lists by ship date and quantity, have one. "Alone" is what one caller waits for who is the only one, a write until
it is on the disk; its ratio is the median of those of the rounds, which are half as long.`, s.Date, where)}
	small, big := fmt.Sprint(s.Pets[0], " pets"), fmt.Sprint(s.Pets[1], " pets")
	out.table = table{{"operation", "CPU µs, " + small, "CPU µs, " + big, "ratio", "rate, of the smaller one's", "p99 ms",
		"alone, p50 µs, " + small, "alone, p50 µs, " + big, "ratio alone"}}
	for _, r := range s.Rows {
		out.table.add(r.Name, number("%.1f", r.Small), number("%.1f", r.Big), number("%.2f", r.Ratio), r.Rate.ranged("%.2f"),
			number("%.1f", r.P99/1000), number("%.0f", r.SmallAlone), number("%.0f", r.BigAlone), r.AloneRatio.ranged("%.2f"))
	}
	out.notes = []string{
		fmt.Sprintf("%d pets with %d orders: %.0f MiB, imported in %.0f s; petstore doctor finds nothing wrong.", s.Pets[1], s.Pets[1]*ordersPerPet, s.FileMiB, s.FillSeconds),
		fmt.Sprintf("Start to ready: %s ms. Resident memory: %.0f MiB idle, %.0f MiB at most under all operations in turn.", s.Start.ranged("%.0f"), s.Idle, s.Loaded),
		fmt.Sprintf("Search for the full name of one pet, alone: %s ms.", s.Search.ranged("%.2f")),
	}
	return out
}

// print writes the results.
func (r *results) print(to io.Writer) {
	for _, s := range r.sections() {
		s.write(to)
	}
}

func (s section) write(to io.Writer) {
	fmt.Fprintf(to, "\n## %s\n\n", s.title)
	if s.words != "" {
		fmt.Fprintf(to, "%s\n\n", s.words)
	}
	s.table.write(to)
	for _, note := range s.notes {
		fmt.Fprintf(to, "- %s\n", note)
	}
}

// page writes RESULTS.md.
func (r *results) page(to io.Writer) {
	fmt.Fprintf(to, `# What was measured

Written by "make bench"; do not edit. %s: %d cores of %s, %s, %s, databases on %s.
The load average before the run was %s: well above 0 means that others were at work, and that only ratios say something.

The measured process has core 0 and GOMAXPROCS=1, the load core 1. The service has everything on: API keys, both limits, all header
fields, metrics, and its log, which goes to a file. Figures are medians, with the least and the most in parentheses.
`, r.Settings.Date, r.Machine.Cores, r.Machine.Processor, r.Machine.Kernel, r.Machine.Go, r.Machine.FileSystem, r.Settings.Busy)
	r.print(to)
}
