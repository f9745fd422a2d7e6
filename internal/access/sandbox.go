package access

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
)

// A Sandbox is what a workspace has that ends by itself.
type Sandbox struct {
	ExpiresAt time.Time // when it is removed
	Catalogue string    // what it began with
}

// A NewSandbox is a workspace that is to be made, and to be removed at its end.
type NewSandbox struct {
	Workspace Workspace // without an id
	Keys      []Key     // with ids and hashes that are new
	From      string    // the address that asks for it
	Rows      []petstore.Unit

	// There are at most so many sandboxes at once, and so many from one address within an
	// hour; 0 is no bound.
	Most, PerAddress int
}

// Sandboxes are the workspaces that end by themselves. Each method but RemoveShop is one
// transaction, durable when it returns.
type Sandboxes interface {
	// CreateSandbox makes a sandbox that has the rows, whose ids are given. It returns
	// CodeSandboxesFull or CodeTooManySandboxes, with the time to wait, if a bound of n
	// is reached.
	CreateSandbox(ctx context.Context, n NewSandbox) (Workspace, error)

	// ResetSandbox gives a sandbox a new shop that has the rows and no events, whose ids
	// begin at 1 again. From then on nothing is written to the shop that it had, which is
	// returned. It returns CodeNotASandbox for any other workspace.
	ResetSandbox(ctx context.Context, workspace int64, rows []petstore.Unit) (before int64, err error)

	// RemoveShop removes the rows of a shop that ResetSandbox or EndSandboxes returned, in
	// steps. What is broken off is resumed by Store.Resume.
	RemoveShop(ctx context.Context, shop int64) error

	// EndSandboxes removes the sandboxes that have expired, some hundreds at most, with
	// their keys, and returns the shops whose rows are still to be removed.
	EndSandboxes(ctx context.Context) (shops []int64, err error)

	// MostContents is Contents of a shop, in which a kind of which fewer ids than some were
	// issued has as many rows as ids. It costs no more with what there is until then.
	MostContents(ctx context.Context, shop, some int64) (Contents, error)

	CountSandboxes(ctx context.Context) (int64, error)
}

// Current returns the entry of a key with the workspace as it is now: another node may
// just have reset a sandbox. It reads nothing of other workspaces.
func Current[S any](ctx context.Context, store Store, e *Entry[S]) (*Entry[S], error) {
	if e.Workspace.Sandbox == nil {
		return e, nil
	}
	w, err := store.WorkspaceByID(ctx, e.Workspace.ID)
	if petstore.CodeOf(err) == CodeWorkspaceNotFound {
		return nil, invalidKey()
	}
	if err != nil {
		return nil, err
	}
	now := *e
	now.Workspace = &w
	return &now, nil
}

// SandboxHour is how long a sandbox counts for the address that made it.
const SandboxHour = time.Hour
