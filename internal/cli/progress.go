package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"example.com/petstore/internal/interchange"
)

// A progress is the bar on a terminal; elsewhere it shows nothing.
type progress struct {
	bar   *progressbar.ProgressBar // nil if nothing is shown
	now   func() time.Time
	began time.Time
}

// newProgress returns the progress through a file of so many bytes, or of an
// unknown number if it is negative.
func (a *app) newProgress(size int64) *progress {
	p := &progress{now: a.now, began: a.now()}
	if terminal(a.err) {
		p.bar = progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(a.err),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// reader counts what is read from r.
func (p *progress) reader(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	return io.TeeReader(r, p.bar)
}

// update shows what is kept so far, and how fast.
func (p *progress) update(r interchange.Report) {
	if p.bar == nil {
		return
	}
	rate := float64(r.Rows()) / max(p.now().Sub(p.began).Seconds(), 0.001)
	p.bar.Describe(fmt.Sprintf("%d rows, %.0f/s", r.Rows(), rate))
}

// clear makes room for a message.
func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear() // a terminal that cannot be written shows nothing anyway
	}
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.Finish() // as with clear
	}
}

// steps are the bars of work in several steps, of which each counts the same
// rows; elsewhere than on a terminal they show nothing.
type steps struct {
	*progress
	step string
}

func (a *app) newSteps() *steps { return &steps{progress: &progress{now: a.now}} }

// update shows a step and how many of all rows it has done.
func (s *steps) update(to io.Writer) func(step string, done, all int64) {
	if !terminal(to) {
		return func(string, int64, int64) {}
	}
	return func(step string, done, all int64) {
		if step != s.step {
			s.end()
			s.step, s.began = step, s.now()
			s.bar = progressbar.NewOptions64(all,
				progressbar.OptionSetWriter(to),
				progressbar.OptionShowCount(),
				progressbar.OptionShowIts(),
				progressbar.OptionSetItsString("rows"),
				progressbar.OptionSetPredictTime(true),
				progressbar.OptionFullWidth(),
				progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish(),
				progressbar.OptionSetDescription(step),
			)
		}
		_ = s.bar.Set64(done) // a terminal that cannot be written shows nothing anyway
	}
}
