package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A part of a request's processor time, and how a stack is known to be of it:
// by one of these texts in one of its functions. The first part that fits has
// the stack.
type part struct {
	name  string
	texts []string
}

// partsOf returns the parts in the order in which they are tried.
func partsOf() []part {
	return []part{
		{"garbage collection", []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcAssistAlloc", "runtime.gcStart"}},
		{"store: SQLite", []string{"modernc.org/", "zombiezen.com/", "internal/sqlite."}},
		{"access log", []string{"log/slog", "AccessLog)", "accessLog"}},
		{"metrics and usage", []string{"prometheus/", "internal/ops.", "internal/usage.", "(*node).observe"}},
		{"key and limits", []string{"internal/ratelimit.", "internal/access."}},
		{"sending (system call)", []string{"internal/poll.(*FD).Write", "syscall.Write", "unix.Write"}},
		{"receiving (system call)", []string{"internal/poll.(*FD).Read", "syscall.Read", "unix.Read"}},
		{"waiting for the network", []string{"runtime.netpoll"}},
		{"allocation", []string{"runtime.mallocgc", "runtime.growslice", "runtime.newobject"}},
		{"the interface: route, input, header, JSON", []string{"internal/httpapi.", "internal/petstore.", "internal/node."}},
		{"net/http", []string{"net/http.", "net/textproto.", "bufio."}},
		{"scheduler", []string{"runtime."}},
		{"other", []string{""}},
	}
}

// whereRows are the requests whose time is shown.
func whereRows() []string { return []string{"get", "list", "limited", "create-pet", "order"} }

// A breakdown is where the processor time of a row's request goes.
type breakdown struct {
	row   string
	total float64   // in microseconds
	parts []float64 // of partsOf
}

// where profiles the server under several rows and writes what it finds into
// the page of the docs and its picture.
func where(ctx context.Context, s *settings) (err error) {
	b, err := start(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end()) }()
	var all []breakdown
	for _, r := range rows() {
		if !slices.Contains(whereRows(), r.name) {
			continue
		}
		say("%s", r.name)
		one, err := b.breakDown(ctx, &r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		all = append(all, *one)
	}
	t := whereTable(all)
	t.text(os.Stdout)
	return saveWhere("docs", all, t)
}

// breakDown profiles one row.
func (b *bench) breakDown(ctx context.Context, r *row) (*breakdown, error) {
	const long = 13 * time.Second
	file := filepath.Join(b.dir, r.name+".pprof")
	done := make(chan error, 1)
	go func() {
		page, err := get(ctx, b.server.ops, "/debug/pprof/profile?seconds=12")
		done <- errors.Join(err, os.WriteFile(file, page, 0o600))
	}()
	s, err := load(ctx, b.server, b.world, r, long)
	if err = errors.Join(err, <-done, b.server.log.Truncate(0)); err != nil {
		return nil, err
	}
	shares, err := sharesOf(ctx, file)
	if err != nil {
		return nil, err
	}
	one := &breakdown{row: r.name, total: perRequest([]*sample{s})}
	for _, share := range shares {
		one.parts = append(one.parts, share*one.total)
	}
	return one, nil
}

// sharesOf returns the share of a profile that each part has.
func sharesOf(ctx context.Context, file string) ([]float64, error) {
	var text bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", "pprof", "-traces", "-symbolize=none", file)
	cmd.Stdout = &text
	if err := startOn(cmd, serverCore, loadCore); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	return sharesIn(&text)
}

// sharesIn reads what pprof prints of a profile's stacks: they stand between
// ruled lines, the value before the innermost function.
func sharesIn(text *bytes.Buffer) ([]float64, error) {
	all := partsOf()
	sums, total := make([]float64, len(all)), 0.0
	var value time.Duration
	var stack []string
	end := func() {
		if value > 0 {
			sums[partIn(all, stack)] += value.Seconds()
			total += value.Seconds()
		}
		value, stack = 0, nil
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for begun := false; lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "-----------+") {
			end()
			begun = true
			continue
		}
		fields := strings.Fields(line)
		if !begun || len(fields) == 0 || strings.HasSuffix(fields[0], ":") {
			continue // the head, and labels
		}
		if d, err := time.ParseDuration(fields[0]); err == nil && value == 0 && len(fields) > 1 {
			value, fields = d, fields[1:]
		}
		stack = append(stack, strings.Join(fields, " "))
	}
	end()
	if total == 0 {
		return nil, errors.New("the profile is empty")
	}
	for i := range sums {
		sums[i] /= total
	}
	return sums, lines.Err()
}

// partIn returns the index of the part that has the stack.
func partIn(all []part, stack []string) int {
	for i, p := range all {
		for _, function := range stack {
			if slices.ContainsFunc(p.texts, func(text string) bool { return strings.Contains(function, text) }) {
				return i
			}
		}
	}
	return len(all) - 1
}

// whereTable returns the parts with the microseconds that they have of each row.
func whereTable(all []breakdown) table {
	head := []string{"part"}
	totals := []string{"**all**"}
	for _, b := range all {
		head = append(head, describeRow(b.row))
		totals = append(totals, fmt.Sprintf("**%.1f**", b.total))
	}
	t := table{head}
	for _, i := range partsBySize(all) {
		cells := []string{partsOf()[i].name}
		for _, b := range all {
			cells = append(cells, fmt.Sprintf("%.1f", b.parts[i]))
		}
		t.add(cells...)
	}
	t.add(totals...)
	return t
}

// partsBySize returns the parts that have anything, the largest first.
func partsBySize(all []breakdown) []int {
	size := func(i int) (n float64) {
		for _, b := range all {
			n += b.parts[i] / max(b.total, 1)
		}
		return n
	}
	var order []int
	for i := range partsOf() {
		if size(i) > .001 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	return order
}

// The marks between which the page has what is measured.
const (
	whereBegin = "<!-- written by go run ./bench -where; do not edit -->\n"
	whereEnd   = "<!-- end of what is written -->\n"
)

// saveWhere puts the table between its marks, and the picture beside the page.
func saveWhere(dir string, all []breakdown, t table) error {
	file := filepath.Join(dir, "performance.md")
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), whereBegin)
	_, after, closed := strings.Cut(rest, whereEnd)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the table", file)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s%sMicroseconds of processor time a request, %s; the load average before was %s.\n\n",
		before, whereBegin, time.Now().UTC().Format(time.DateOnly), loadAverage())
	t.markdown(&text)
	fmt.Fprint(&text, whereEnd, after)
	if err := os.WriteFile(filepath.Join(dir, "images", "request-time.svg"), picture(all), 0o644); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}
