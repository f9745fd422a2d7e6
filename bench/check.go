package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// tolerance is the share of a ratio that may be lost.
const tolerance = 0.10

// A loss is a ratio that fell.
type loss struct {
	row, what    string
	before, fell float64
}

// String says what was lost in words.
func (l loss) String() string {
	return fmt.Sprintf("%s: %s fell from %.2f to %.2f (%+.0f %%)", l.row, l.what, l.before, l.fell, 100*(l.fell/l.before-1))
}

// losses compares the ratios of the rows that both have. Processor time is
// hardly disturbed by other work on the machine, rates are: one of these is
// lost only if no round came up to what the median was.
func losses(before, now *results) []loss {
	var all []loss
	for _, f := range now.Rows {
		old := before.row(f.Name)
		if old == nil {
			continue
		}
		note := func(what string, was, is spread) {
			if is.Median < was.Median*(1-tolerance) && is.Most < was.Median {
				all = append(all, loss{f.Name, what, was.Median, is.Median})
			}
		}
		note("the reference's processor time as a share of its own", spread{Median: old.CPURatio}, spread{Median: f.CPURatio})
		if f.OfAppends != nil && old.OfAppends != nil {
			note("its rate as a multiple of durable appends", *old.OfAppends, *f.OfAppends)
		} else {
			note("its share of the reference's rate", old.OfReference, f.OfReference)
		}
	}
	return all
}

// check measures the rows and compares them with the saved results. What seems
// lost is measured once more, since machines have moods; what is lost twice is
// an error.
func check(ctx context.Context, s *settings) error {
	before, err := loadRows(".")
	if err != nil {
		return fmt.Errorf("there is nothing to compare with: %w", err)
	}
	now, err := measure(ctx, s)
	if err != nil {
		return err
	}
	report(os.Stdout, now.sections...)
	lost := losses(before, now)
	if len(lost) == 0 {
		fmt.Println("no ratio lost more than a tenth")
		return nil
	}
	names := make([]string, len(lost))
	for i, l := range lost {
		say("%v; measuring again", l)
		names[i] = regexp.QuoteMeta(l.row)
	}
	again := *s
	again.rows = regexp.MustCompile("^(" + strings.Join(names, "|") + ")$")
	if now, err = measure(ctx, &again); err != nil {
		return err
	}
	var errs []error
	for _, l := range losses(before, now) {
		errs = append(errs, errors.New(l.String()))
	}
	return errors.Join(errs...)
}
