package main

import (
	"bytes"
	"fmt"
	"html"
)

// The measures of the picture, in its own units.
const (
	pictureWide = 860
	labelWide   = 240
	barHigh     = 26
	lineHigh    = 22
)

// palette returns the colour of the n-th largest part; it is told from its
// neighbours on a light page and on a dark one.
func palette(n int) string {
	colours := []string{"#3b82c4", "#e0823d", "#3fa36b", "#b65fb0", "#c9a227", "#d2555a", "#5fb3b3", "#8d7bd6", "#9a7b5b", "#6b8e23", "#c77d9b", "#808890", "#a8b0b8"}
	return colours[n%len(colours)]
}

// picture draws a bar for each row, one beside the other in size, and the
// legend. Its text takes the colour that the reader's scheme asks for.
func picture(all []breakdown) []byte {
	order := partsBySize(all)
	longest := 1.0
	for _, b := range all {
		longest = max(longest, b.total)
	}
	high := 30 + len(all)*(barHigh+12) + 14 + (len(order)+1)/2*lineHigh + 10
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t">
<title id="t">Where the processor time of a request goes, in microseconds</title>
<style>text{font:13px system-ui,sans-serif;fill:#1f2328}.n{font-size:11px;fill:#fff}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.n{fill:#fff}}</style>
`, pictureWide, high)
	fmt.Fprintf(&out, `<text x="0" y="16">Microseconds of processor time a request</text>`+"\n")
	y := 30
	for _, b := range all {
		bar(&out, b, order, y, longest)
		y += barHigh + 12
	}
	legend(&out, order, y+14)
	fmt.Fprintln(&out, `</svg>`)
	return out.Bytes()
}

// bar draws the parts of one row from left to right.
func bar(out *bytes.Buffer, b breakdown, order []int, y int, longest float64) {
	scale := (pictureWide - labelWide - 60) / longest
	fmt.Fprintf(out, `<text x="0" y="%d">%s</text>`+"\n", y+17, html.EscapeString(shorten(describeRow(b.row))))
	x := float64(labelWide)
	for n, i := range order {
		wide := b.parts[i] * scale
		fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s: %.1f µs</title></rect>`+"\n",
			x, y, wide, barHigh, palette(n), html.EscapeString(partsOf()[i].name), b.parts[i])
		if wide > 30 {
			fmt.Fprintf(out, `<text class="n" x="%.1f" y="%d">%.1f</text>`+"\n", x+4, y+17, b.parts[i])
		}
		x += wide
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%d">%.0f</text>`+"\n", x+6, y+17, b.total)
}

// legend names the parts in two columns.
func legend(out *bytes.Buffer, order []int, y int) {
	for n, i := range order {
		x, at := n%2*pictureWide/2, y+n/2*lineHigh
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="14" height="14" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			x, at, palette(n), x+22, at+12, html.EscapeString(partsOf()[i].name))
	}
}

// shorten leaves Markdown's quotes out, and what does not fit.
func shorten(s string) string {
	var out []rune
	for _, r := range s {
		if r != '`' {
			out = append(out, r)
		}
	}
	if len(out) > 38 {
		out = append(out[:37], '…')
	}
	return string(out)
}
