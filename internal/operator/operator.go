// Package operator manages the workspaces and keys of an installation: a [Local] on a
// store, a [Client] over HTTP. The operator's API, the console and the commands all use
// it, so that they behave in the same way.
package operator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// An Operator creates, returns, changes and removes workspaces and their keys.
// Workspaces are identified by their ids, since names may change; Find returns the
// workspace with a name. An invalid value returns validation_failed, which names the
// member of the type here; a missing workspace or key returns workspace_not_found or
// key_not_found.
type Operator interface {
	CreateWorkspace(ctx context.Context, n NewWorkspace) (Workspace, error)
	Workspaces(ctx context.Context) ([]Workspace, error) // by name
	Find(ctx context.Context, name string) (Workspace, error)
	Workspace(ctx context.Context, id int64) (WorkspaceDetail, error) // it reads all rows of the workspace
	Rename(ctx context.Context, id int64, to string) (Workspace, error)
	SetPlan(ctx context.Context, id int64, p Plan) (Workspace, error)
	Reset(ctx context.Context, id int64) error  // removes everything but its keys
	Delete(ctx context.Context, id int64) error // with its keys

	Keys(ctx context.Context, workspace int64) ([]Key, error) // revoked ones too, in the order of their creation
	CreateKey(ctx context.Context, workspace int64, n NewKey) (Key, error)
	RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error)
	RevokeKey(ctx context.Context, id string) (Key, error)
	BanKey(ctx context.Context, id string, b NewBan) (Key, error)
	UnbanKey(ctx context.Context, id string) (Key, error)
}

// A Plan is the plan of a workspace. The numbers are only for enterprise.
type Plan struct {
	Plan      access.Plan `json:"plan"`
	PerMinute int64       `json:"perMinute,omitempty"`
	PerDay    int64       `json:"perDay,omitempty"`
}

// A NewWorkspace describes a workspace that is to be created.
type NewWorkspace struct {
	Name string `json:"name"`
	Plan
}

// A Workspace is one store with its own catalogue, orders and keys.
type Workspace struct {
	ID        int64       `json:"id"`
	Name      string      `json:"name"`
	Plan      access.Plan `json:"plan"`
	PerMinute int64       `json:"perMinute"`
	PerDay    int64       `json:"perDay"`
	CreatedAt *time.Time  `json:"createdAt"`
	ExpiresAt *time.Time  `json:"expiresAt,omitempty"` // of a sandbox
}

// A WorkspaceDetail is a workspace with its use.
type WorkspaceDetail struct {
	WorkspaceUsage
	Keys       int        `json:"keys"` // live ones
	Categories int64      `json:"categories"`
	Pets       int64      `json:"pets"`
	Orders     int64      `json:"orders"`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty"`
}

// A Window is what was used of a window of the plan.
type Window struct {
	Limit     int64     `json:"limit"`
	Used      int64     `json:"used"`
	Remaining int64     `json:"remaining"`
	Reset     time.Time `json:"reset"`
}

// A NewKey is a key that is to be made.
type NewKey struct {
	Name      string     `json:"name"`
	Scopes    []string   `json:"scopes,omitempty"` // read and write if it is nil
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// A NewBan is a ban that is to be set.
type NewBan struct {
	For    time.Duration `json:"for" most:"87600h"` // MaxBan
	Reason string        `json:"reason"`
}

// A Key is an API key with what it did. Key is the key itself, which is known only
// when it is made; Replayed is whether an earlier request with the same
// Idempotency-Key has made it.
type Key struct {
	ID           string     `json:"id"`
	Key          string     `json:"key,omitempty"`
	Workspace    string     `json:"workspace,omitempty"`
	Name         string     `json:"name"`
	Prefix       string     `json:"prefix"`
	Scopes       []string   `json:"scopes"`
	State        string     `json:"state"`
	CreatedAt    *time.Time `json:"createdAt"`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty"`
	RevokedAt    *time.Time `json:"revokedAt,omitempty"`
	RotatedTo    string     `json:"rotatedTo,omitempty"`
	LastUsedAt   *time.Time `json:"lastUsedAt,omitempty"`
	UsedToday    int64      `json:"usedToday"`
	RefusedToday int64      `json:"refusedToday"`
	BannedUntil  *time.Time `json:"bannedUntil,omitempty"`
	BanReason    string     `json:"banReason,omitempty"`
	Replayed     bool       `json:"-"`
}

// check puts the name into the form in which it is kept.
func (n *NewWorkspace) check() (access.Quota, []petstore.Field) {
	fields := access.CheckNameMember(nil, &n.Name)
	quota, faults := n.Plan.check()
	return quota, append(fields, faults...)
}

func (p *Plan) check() (access.Quota, []petstore.Field) {
	quota, err := access.QuotaFor(p.Plan, access.Quota{PerMinute: p.PerMinute, PerDay: p.PerDay})
	bad, yes := errors.AsType[*access.QuotaError](err)
	if !yes {
		return quota, nil
	}
	code := petstore.OutOfRange
	if bad.Member == "plan" {
		code = petstore.InvalidEnum
	}
	return quota, []petstore.Field{{Pointer: "/" + bad.Member, Code: code, Message: err.Error() + "."}}
}

// scopes returns the scopes that are asked for.
func (n *NewKey) scopes() (all access.Scopes, fields []petstore.Field) {
	if n.Scopes == nil {
		return access.Read | access.Write, nil
	}
	for _, name := range n.Scopes {
		one := access.ScopeOf(name)
		if one == 0 {
			fields = append(fields, petstore.Field{Pointer: "/scopes", Code: petstore.InvalidEnum, Message: "scopes may have read, write and manage, not " + name + "."})
		}
		all |= one
	}
	return all, fields
}

func noWorkspace(name string) error {
	return petstore.Errorf(access.CodeWorkspaceNotFound, "There is no workspace named %.100q.", name)
}

// byName puts workspaces into the order of their names.
func byName(all []Workspace) []Workspace {
	slices.SortFunc(all, func(a, b Workspace) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Instant returns t for JSON: nil for no instant.
func Instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
