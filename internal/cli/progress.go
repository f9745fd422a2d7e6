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
