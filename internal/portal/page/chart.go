package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/usage"
)

// A span is a range of time that a chart can show, in bars of the same width.
type span struct {
	Name, Title string
	Step        usage.Interval
	Width       time.Duration // of a bar
	bars        int
	Labels      string // the form of the times under it
}

// spans are the ranges that a chart can show.
var spans = []span{
	{"hour", "Last hour", usage.Minute, time.Minute, 60, "15:04"},
	{"day", "24 hours", usage.Minute, 15 * time.Minute, 96, "15:04"},
	{"week", "7 days", usage.Hour, 3 * time.Hour, 56, "2 Jan"},
	{"quarter", "90 days", usage.Hour, 24 * time.Hour, 90, "2 Jan"},
}

// A Chart is requests over time, stacked by class. Its own units are bars and requests.
type Chart struct {
	Span  span
	Spans []Link    // to the page with each of the spans
	From  time.Time // when the first bar begins
	Top   int64     // of the scale
	Bars  []usage.Counts
	Sum   usage.Counts
}

// ChartOf returns the requests of a workspace in the span that the query names, or in the first.
func ChartOf(v *Visit, workspace int64) (Chart, error) {
	s, now := spans[0], v.Now()
	for _, other := range spans {
		if other.Name == v.R.URL.Query().Get("range") {
			s = other
		}
	}
	rows, err := v.Usage.Usage(v.R.Context(), usage.Query{Workspace: workspace, Interval: s.Step, From: s.first(now), To: now})
	c := s.chart(rows, now)
	for _, other := range spans {
		c.Spans = append(c.Spans, Link{Title: other.Title, URL: v.R.URL.Path + "?range=" + other.Name, Current: other.Name == s.Name})
	}
	return c, err
}

// first returns when the first bar begins.
func (s span) first(now time.Time) time.Time {
	return now.UTC().Truncate(s.Width).Add(-time.Duration(s.bars-1) * s.Width)
}

// chart puts rows into the bars of a span.
func (s span) chart(rows []usage.Row, now time.Time) Chart {
	c, most := Chart{Span: s, From: s.first(now), Bars: make([]usage.Counts, s.bars)}, int64(1)
	for i := range rows {
		at := int(time.Unix(rows[i].Start, 0).Sub(c.From) / s.Width)
		if at >= 0 && at < len(c.Bars) {
			c.Bars[at].Add(&rows[i].Counts)
			c.Sum.Add(&rows[i].Counts)
			most = max(most, c.Bars[at].Total())
		}
	}
	c.Top = roundUp(most)
	return c
}

// Scale returns the numbers beside the chart, from the top down.
func (c Chart) Scale() []string {
	if c.Top == 1 {
		return []string{"1", "", "0"}
	}
	return []string{Number(c.Top), Number(c.Top / 2), "0"} // it is even
}

// Start returns when a bar begins.
func (c Chart) Start(bar int) time.Time { return c.From.Add(time.Duration(bar) * c.Span.Width) }

// Ticks returns the times under the chart.
func (c Chart) Ticks() (ticks []time.Time) {
	for i := range 5 {
		ticks = append(ticks, c.Start(i*(len(c.Bars)-1)/4))
	}
	return ticks
}

// Path draws the rectangles of a class, each on those of the classes before it.
func (c Chart) Path(class int) string {
	var path strings.Builder
	for i := range c.Bars {
		y := float64(c.Top)
		for _, n := range c.Bars[i].Requests[:class] {
			y -= c.height(n)
		}
		if height := c.height(c.Bars[i].Requests[class]); height > 0 {
			fmt.Fprintf(&path, "M%d %.6gh.75v-%.6gh-.75z", i, y, height)
		}
	}
	return path.String()
}

// height returns the height of a rectangle for n requests, of which few can be seen too.
func (c Chart) height(n int64) float64 { return max(float64(n), float64(min(n, 1)*c.Top)/200) }

// Says returns what a bar has, in words.
func (c Chart) Says(bar int) string {
	text := Number(c.Bars[bar].Total())
	for class, n := range c.Bars[bar].Requests {
		if n > 0 {
			text += fmt.Sprintf(", %s %s", usage.Class(class), Number(n))
		}
	}
	return text
}

// roundUp returns the least of 1, 2, 4, 6, 8, 10, 20, 40, … that is not less than n.
func roundUp(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, m := range []int64{1, 2, 4, 6, 8} {
			if m*unit >= n {
				return m * unit
			}
		}
	}
}

// Milliseconds returns d with two digits that count.
func Milliseconds(d time.Duration) string {
	ms, digits := float64(d)/float64(time.Millisecond), 0
	switch {
	case ms >= 1000:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	case ms < 1:
		digits = 2
	case ms < 10:
		digits = 1
	}
	return strconv.FormatFloat(ms, 'f', digits, 64) + " ms"
}

// Class returns the name of a class.
func (c Chart) Class(class int) string { return usage.Class(class).String() }

// Share returns which part of all requests a class is, in words.
func (c Chart) Share(class int) string {
	n, of := c.Sum.Requests[class], c.Sum.Total()
	switch {
	case n == 0:
		return "0 %"
	case n*100 < of:
		return "< 1 %"
	}
	return Number(n*100/of) + " %"
}

// Within returns within how long a part of the requests was answered, or a dash if there were none.
func (c Chart) Within(part float64) string {
	if c.Sum.Total() == 0 {
		return "–"
	}
	return Milliseconds(c.Sum.Quantile(part))
}
