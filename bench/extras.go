package main

import (
	"fmt"
	"io"
)

// contests returns a table for each row that was measured of the peers too.
func (r *results) contests() table {
	t := table{{"request", "server", "requests/s", "of floor", "CPU µs", "p50 ms", "p99 ms", "RSS MiB", "this service is faster by"}}
	for _, c := range r.Peers {
		ours := c.Sides[1]
		for _, f := range c.Sides {
			faster := ""
			if f.Name != ours.Name && f.PerSecond.Median > 0 {
				faster = fmt.Sprintf("× %.2f", ours.PerSecond.Median/f.PerSecond.Median)
			}
			t.add(describeRow(c.Row), f.Name, f.PerSecond.ranged("%.0f"), f.OfFloor.ranged("%.2f"), fmt.Sprintf("%.1f", f.CPU),
				fmt.Sprintf("%.2f", f.P50/1000), fmt.Sprintf("%.2f", f.P99/1000), fmt.Sprintf("%.0f", f.RSS), faster)
		}
	}
	return t
}

func describeRow(name string) string {
	for _, r := range rows() {
		if r.name == name {
			return r.describe()
		}
	}
	return name
}

// table returns the operations at both sizes.
func (g *grown) table() table {
	t := table{{"operation", fmt.Sprintf("CPU µs, %d pets", g.Pets[0]), fmt.Sprintf("CPU µs, %d pets", g.Pets[1]), "ratio", "rate, of the small shop's", "p99 ms",
		fmt.Sprintf("alone, p50 µs, %d pets", g.Pets[0]), fmt.Sprintf("alone, p50 µs, %d pets", g.Pets[1]), "ratio alone"}}
	for _, r := range g.Rows {
		t.add(r.Name, fmt.Sprintf("%.1f", r.Small), fmt.Sprintf("%.1f", r.Big), fmt.Sprintf("%.2f", r.Ratio), r.Rate.ranged("%.2f"),
			fmt.Sprintf("%.1f", r.P99/1000), fmt.Sprintf("%.0f", r.SmallAlone), fmt.Sprintf("%.0f", r.BigAlone), r.OfAlone.ranged("%.2f"))
	}
	return t
}

// notes returns the figures that are of no operation.
func (g *grown) notes() []string {
	soundness := "doctor's check finds nothing wrong in it"
	if !g.Sound {
		soundness = "DOCTOR'S CHECK FOUND PROBLEMS"
	}
	return []string{
		fmt.Sprintf("%d pets with %d orders: %.0f MiB, filled in %.0f s; %s.", g.Pets[1], g.Pets[1]*ordersPerPet, g.FileMiB, g.FillSecs, soundness),
		fmt.Sprintf("Start to ready: %s ms. Resident memory: %.0f MiB idle, %.0f MiB at most under all operations in turn.",
			g.Start.ranged("%.0f"), g.Idle, g.Loaded),
		fmt.Sprintf("An order takes %.0f bytes of a file filled in order, %.0f of them in the ledger; a file into which orders of any pets come grows by %.0f bytes an order, %.0f of them in the ledger.",
			g.Order, g.Ledger, g.LiveOrder, g.LiveLedger),
	}
}

// parts returns the tables of the parts that were measured.
func (r *results) parts() []table {
	var all []table
	if len(r.Peers) > 0 {
		all = append(all, r.contests())
	}
	if len(r.Overload) > 0 {
		all = append(all, r.pressures())
	}
	return all
}

// extras writes the parts of RESULTS.md that stand after start and memory.
func (r *results) extras(to io.Writer) {
	if len(r.Peers) > 0 {
		fmt.Fprintf(to, `## Beside other servers

Other servers of pets, written as their documentation would have it, with %d pets in memory, without keys, limits, a log or
anything durable, in turns with this service, which has all of these. A POST to this service is on the disk when it is answered.

`, peerPets)
		r.contests().markdown(to)
	}
	if len(r.Overload) > 0 {
		fmt.Fprint(to, `## Overload

The capacity is the most that 16 to 256 callers get done. "At once again" are callers who do not wait before they ask again, whatever
the answer; "at a rate" are requests that come at multiples of the capacity, whatever becomes of them. The refused get 503 with Retry-After.
"Of the peak" is the share of what was done at the capacity in the seconds just before and just after; each load comes five times, and
the one with the median of that share is shown. One at a rate lasts four seconds before it counts: the first three the service takes for a crowd that passes, and has it wait. Beside it stands what bare net/http does with as many connections, all of them busy, of what it does with those of the capacity.

`)
		r.pressures().markdown(to)
	}
	if r.Grown != nil {
		where := "held in the kernel's cache"
		if r.Grown.Loose {
			where = "read into the kernel's cache beforehand"
		}
		fmt.Fprintf(to, "## Scale\n\nWritten by `go run ./bench -scale`, %s. Both files were %s.\n", r.Grown.Date, where)
		fmt.Fprint(to, `
Reads have 32 callers, and writes 64, whose changes share pages and syncs: the processor time is that of one request among theirs.
Searches by name, and lists by ship date and quantity, have one. "Alone" is what one caller waits for who is the only one, a write until
it is on the disk; its ratio is the median of those of the rounds, which are half as long.

`)
		r.Grown.table().markdown(to)
		for _, note := range r.Grown.notes() {
			fmt.Fprintf(to, "- %s\n", note)
		}
		fmt.Fprintln(to)
	}
}
