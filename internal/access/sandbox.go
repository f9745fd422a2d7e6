package access

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
)

// A Sandbox has the properties of a workspace that expires.
type Sandbox struct {
	ExpiresAt time.Time `json:"expiresAt"` // when it is removed
	Catalogue string    `json:"-"`         // with which it was created
}

// A NewSandbox describes a sandbox that is to be created.
type NewSandbox struct {
	Workspace Workspace // without an id
	Keys      []Key     // with ids and hashes that are new
	From      string    // the address of the client
	Rows      []petstore.Unit

	// Most is how many sandboxes may exist at once, and PerAddress how many may be
	// created from one address within an hour; 0 means no limit.
	Most, PerAddress int
}

// Sandboxes are the workspaces that expire. Each method but RemoveBeyond and EndSandboxes is one
// transaction, durable when it returns.
type Sandboxes interface {
	// CreateSandbox creates a sandbox with the rows, which have ids. It returns
	// CodeSandboxesFull or CodeTooManySandboxes, with the time to wait, if a limit of n
	// is reached.
	CreateSandbox(ctx context.Context, n NewSandbox) (Workspace, error)

	// ResetSandbox gives a sandbox a new shop with the rows and without events, in which
	// ids begin at 1 again. It returns the former shop, to which nothing is written any
	// more. It returns CodeNotASandbox for any other workspace. Store.Resume then removes the
	// former rows.
	ResetSandbox(ctx context.Context, workspace int64, rows []petstore.Unit) (before int64, err error)

	// RemoveBeyond removes the rows of a former shop in many transactions, unless at most so
	// many former shops wait for Store.Resume.
	RemoveBeyond(ctx context.Context, most int, shop int64) error

	// EndSandboxes removes the sandboxes that have expired, with their keys, some hundreds
	// in a transaction. Store.Resume then removes their rows.
	EndSandboxes(ctx context.Context) error

	CountSandboxes(ctx context.Context) (int64, error)
}

// Current returns the entry of a key with the workspace as it is now, since another
// node may just have reset a sandbox. For other workspaces it reads nothing.
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

// SandboxHour is how long a sandbox counts for the address that created it.
const SandboxHour = time.Hour
