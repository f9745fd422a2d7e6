package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/usage"
)

// A Span is a range of time that a chart can show, in bars of the same width.
type Span struct {
	Name, Title string
	Step        usage.Interval
	width       time.Duration // of a bar
	bars        int
	labels      string // the form of the times under it
}

// Spans are the ranges that a workspace's chart can show.
func Spans() []Span {
	return []Span{
		{"hour", "Last hour", usage.Minute, time.Minute, 60, "15:04"},
		{"day", "24 hours", usage.Minute, 15 * time.Minute, 96, "15:04"},
		{"week", "7 days", usage.Hour, 3 * time.Hour, 56, "2 Jan"},
		{"quarter", "90 days", usage.Hour, 24 * time.Hour, 90, "2 Jan"},
	}
}

// ShortSpans are those that an operator can choose: the rows of every workspace have to be read.
func ShortSpans() []Span {
	return []Span{Spans()[0], {"day", "24 hours", usage.Hour, time.Hour, 24, "15:04"}}
}

// SpanOf returns the span of that name, or the first.
func SpanOf(spans []Span, name string) Span {
	for _, s := range spans {
		if s.Name == name {
			return s
		}
	}
	return spans[0]
}

// Links returns the links to a page with each of the spans, of which s is shown.
func (s Span) Links(all []Span, page string) (links []NavLink) {
	for _, other := range all {
		links = append(links, NavLink{other.Title, page + "?range=" + other.Name, other.Name == s.Name})
	}
	return links
}

// First returns when the first bar begins.
func (s Span) First(now time.Time) time.Time {
	return now.UTC().Truncate(s.width).Add(-time.Duration(s.bars-1) * s.width)
}

// Query selects the rows of a workspace, or of all of them for 0.
func (s Span) Query(workspace int64, now time.Time) usage.Query {
	return usage.Query{Workspace: workspace, Interval: s.Step, From: s.First(now), To: now}
}

// A chart is requests over time, stacked by class.
type chart struct {
	From    time.Time // when the first bar begins
	Seconds int64     // how long each of them is
	Paths   [usage.Classes]string
	Titles  []string // what each bar has
	Top     string   // the number at the top of the scale
	Half    string
	Labels  []label
	Bars    []int // the left edge of each bar's column
	Column  int   // its width
}

// Start returns when a bar begins.
func (c chart) Start(bar int) time.Time {
	return c.From.Add(time.Duration(int64(bar)*c.Seconds) * time.Second)
}

// A label is a tick of the axis.
type label struct {
	At   time.Time
	Text string // in UTC
}

// The size of a chart in its own units.
const (
	chartWidth  = 960
	chartHeight = 200
)

// draw puts rows into the bars of a span and draws them.
func (s Span) draw(rows []usage.Row, now time.Time) chart {
	bars, first := make([]usage.Counts, s.bars), s.First(now)
	most := int64(1)
	for i := range rows {
		at := int(time.Unix(rows[i].Start, 0).Sub(first) / s.width)
		if at >= 0 && at < len(bars) {
			bars[at].Add(&rows[i].Counts)
			most = max(most, bars[at].Total())
		}
	}
	top := roundUp(most)
	c := chart{From: first, Seconds: int64(s.width / time.Second), Top: Number(top), Column: chartWidth / s.bars}
	if top > 1 { // then it is even
		c.Half = Number(top / 2)
	}
	var paths [usage.Classes]strings.Builder
	for i := range bars {
		left := i * chartWidth / s.bars
		stack(&paths, &bars[i], left, max(2, c.Column*3/4), float64(chartHeight)/float64(top))
		c.Bars = append(c.Bars, left)
		c.Titles = append(c.Titles, title(&bars[i]))
	}
	for i := range paths {
		c.Paths[i] = paths[i].String()
	}
	for i := range 5 {
		at := first.Add(time.Duration(i*(s.bars-1)/4) * s.width)
		c.Labels = append(c.Labels, label{at, at.Format(s.labels)})
	}
	return c
}

// stack draws one bar: a rectangle for each class, from the bottom up.
func stack(paths *[usage.Classes]strings.Builder, c *usage.Counts, left, width int, scale float64) {
	y := float64(chartHeight)
	for class, n := range c.Requests {
		if n == 0 {
			continue
		}
		height := max(float64(n)*scale, 1)
		fmt.Fprintf(&paths[class], "M%d %.1fh%dv%.1fh-%dz", left, y, width, -height, width)
		y -= height
	}
}

func title(c *usage.Counts) string {
	text := Number(c.Total())
	for class, n := range c.Requests {
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

// A Drawing is the requests of a span: a chart, their totals, and how fast they were answered.
type Drawing struct {
	Span    Span
	Chart   chart
	Totals  []total
	Latency []latency
}

// A total is the number of requests of one class.
type total struct{ Class, Count, Share string }

// A latency is within how long a part of the requests was answered.
type latency struct{ Name, Value string }

// DrawingOf returns what the rows of a span have.
func DrawingOf(rows []usage.Row, s Span, now time.Time) Drawing {
	var sum usage.Counts
	for i := range rows {
		sum.Add(&rows[i].Counts)
	}
	d := Drawing{Span: s, Chart: s.draw(rows, now)}
	for _, percent := range []int{50, 95, 99} {
		l := latency{fmt.Sprint("p", percent), "–"}
		if sum.Total() > 0 {
			l.Value = Milliseconds(sum.Quantile(float64(percent) / 100))
		}
		d.Latency = append(d.Latency, l)
	}
	for class, n := range sum.Requests {
		d.Totals = append(d.Totals, total{usage.Class(class).String(), Number(n), Percent(n, sum.Total())})
	}
	return d
}

// Percent returns a share in words.
func Percent(n, of int64) string {
	switch {
	case n == 0:
		return "0 %"
	case n*100 < of:
		return "< 1 %"
	}
	return Number(n*100/of) + " %"
}
