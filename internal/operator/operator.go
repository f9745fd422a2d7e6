// Package operator manages the workspaces and keys of an installation. The operator's
// API and the console use it, and the commands by that API, so that they behave in the
// same way.
package operator

import (
	"errors"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// Root is the path of the operator's API.
const Root = "/admin/v1"

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
	For    time.Duration
	Reason string
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

// Instant returns t for JSON: nil for no instant.
func Instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
