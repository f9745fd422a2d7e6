package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// newBar returns a bar on a terminal, of work of so many parts; elsewhere it shows
// nothing.
func (a *app) newBar(parts int64, more ...progressbar.Option) *progressbar.ProgressBar {
	bar := progressbar.NewOptions64(parts, append(more,
		progressbar.OptionSetWriter(a.err),
		progressbar.OptionSetVisibility(terminal(a.err)),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)...)
	bar.StartWithoutRender() // its clock
	return bar
}

// steps are the bars of work in several steps, of which each counts the same
// rows.
type steps struct {
	*app
	step string
	bar  *progressbar.ProgressBar
}

func newSteps(a *app) *steps { return &steps{app: a, bar: a.newBar(0)} }

// update shows a step and how many of all rows it has done.
func (s *steps) update(step string, done, all int64) {
	if step != s.step {
		s.bar.Finish() // a terminal that cannot be written shows nothing anyway
		s.step, s.bar = step, s.newBar(all,
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("rows"),
			progressbar.OptionSetDescription(step),
		)
	}
	_ = s.bar.Set64(done) // as above
}
