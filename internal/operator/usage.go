package operator

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"example.com/petstore/internal/access"
)

// A WorkspaceUsage is a workspace with its windows.
type WorkspaceUsage struct {
	access.Workspace
	Minute Window `json:"minute"`
	Day    Window `json:"day"`
}

// ExceededWindow returns the window of which a workspace has used all, "day" or "minute", or ""
// if it may go on.
func (s *WorkspaceUsage) ExceededWindow() string {
	switch {
	case s.Day.Remaining == 0:
		return "day"
	case s.Minute.Remaining == 0:
		return "minute"
	}
	return ""
}

// WithUsage returns workspaces with their windows, in the same order.
func (l *Local) WithUsage(ctx context.Context, all []access.Workspace) ([]WorkspaceUsage, error) {
	counts, err := l.Counts(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]WorkspaceUsage, len(all))
	for i, w := range all {
		minute, day := windows(counts, w)
		list[i] = WorkspaceUsage{w, minute, day}
	}
	return list, nil
}

// ByUse sorts workspaces: those that are over their quota first, then those that
// used most of their day.
func ByUse(list []WorkspaceUsage) {
	over := map[string]int{"day": 0, "minute": 1, "": 2}
	slices.SortStableFunc(list, func(a, b WorkspaceUsage) int {
		return cmp.Or(cmp.Compare(over[a.ExceededWindow()], over[b.ExceededWindow()]), cmp.Compare(b.Day.Used*a.Day.Limit, a.Day.Used*b.Day.Limit), strings.Compare(a.Name, b.Name))
	})
}
