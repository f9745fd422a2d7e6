package interchange

import (
	"context"

	"example.com/petstore/internal/petstore"
)

// DryRun reads and checks the stream as Run does, but writes nothing. It works on a snapshot of the workspace. Its
// report says what Run would add, change and leave unchanged, and its faults are those of Run, unless the workspace
// changes meanwhile. The report also has the questions that the user should confirm before Run.
func (i *Import) DryRun(ctx context.Context) (report Report, err error) {
	if err := i.resume(ctx); err != nil {
		return report, err
	}
	err = i.To.DryRun(ctx, i.Workspace, func(in petstore.Bulk) error {
		dry := *i
		dry.To, dry.File, dry.Resumed = in, "", false
		var err error
		if report, err = dry.copy(ctx); err != nil {
			return err
		}
		report.Notes.findSimilar(dry.known)
		return report.Notes.findQuestions(ctx, in, i.Workspace)
	})
	report.Notes.Stock, report.Notes.Categories = append([]StockChange{}, report.Notes.Stock...), append([]NewCategory{}, report.Notes.Categories...)
	report.Notes.Questions = append([]string{}, report.Notes.Questions...)
	return report, err
}
