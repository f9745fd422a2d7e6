package interchange

import (
	"context"

	"example.com/petstore/internal/petstore"
)

// Try does what Run does and keeps nothing: what it reports would be kept, changed or left, and its faults are those of Run,
// unless somebody changes the workspace meanwhile. It looks at the workspace as it is at one instant, and notes what should be
// confirmed.
func (i *Import) Try(ctx context.Context) (report Report, err error) {
	if err := i.resume(ctx); err != nil {
		return report, err
	}
	err = i.To.Rehearse(ctx, i.Workspace, func(in petstore.Bulk) error {
		dry := *i
		dry.To, dry.File, dry.Resumed = in, "", false
		var err error
		if report, err = dry.copy(ctx); err != nil {
			return err
		}
		report.Notes.compare(dry.known)
		return report.Notes.ask(ctx, in, i.Workspace)
	})
	report.Notes.Stock, report.Notes.Categories = append([]StockChange{}, report.Notes.Stock...), append([]NewCategory{}, report.Notes.Categories...)
	report.Notes.Questions = append([]string{}, report.Notes.Questions...)
	return report, err
}
