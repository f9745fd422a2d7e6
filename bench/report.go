package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// A table is rows whose cells have " | " between them; the first row is its head.
type table []string

func (t *table) add(format string, args ...any) { *t = append(*t, fmt.Sprintf(format, args...)) }

// write writes the table, as pages and terminals show it.
func (t table) write(to io.Writer) {
	for i, row := range t {
		fmt.Fprintf(to, "| %s |\n", row)
		if i == 0 {
			fmt.Fprintf(to, "|---%s\n", strings.Repeat("|---:", strings.Count(row, " | "))+"|")
		}
	}
	fmt.Fprintln(to)
}

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

// A section is a part of the report.
type section struct {
	title, words string
	table        table
	notes        []string
	targets      []target
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

// targetTable returns the targets beside what was measured.
func targetTable(sections []section) table {
	t := table{"target | bound | measured | "}
	for _, s := range sections {
		for _, g := range s.targets {
			sign, verdict := "≥", "missed"
			if g.most {
				sign = "≤"
			}
			if g.met() {
				verdict = "met"
			}
			t.add("%s | %s %g | %.3g | %s", g.what, sign, g.bound, g.value, verdict)
		}
	}
	return t
}

// report writes what was measured, and then the targets.
func report(to io.Writer, sections ...section) {
	for _, s := range sections {
		s.write(to)
	}
	if targets := targetTable(sections); len(targets) > 1 {
		section{title: "Targets", table: targets}.write(to)
	}
}

// save writes RESULTS.md; busy is the load average before the run.
func (b *bench) save(path, busy string) error {
	var page bytes.Buffer
	fmt.Fprintf(&page, `# What was measured

Written by "make bench"; do not edit. %s
The load average before the run was %s: well above 0 means that others were at work, and that only ratios say something.

The measured process has core 0 and GOMAXPROCS=1, the load core 1. The service has everything on: API keys, both limits, all header
fields, metrics, and its log, which goes to a file. Figures are medians, with the least and the most in parentheses.
`, machine(b.dir), busy)
	report(&page, b.sections...)
	return os.WriteFile(path, page.Bytes(), 0o644)
}
