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

// A Plan is the plan of a workspace. The quota is only for enterprise.
type Plan struct {
	Plan access.Plan `json:"plan"`
	access.Quota
}

// A NewWorkspace describes a workspace that is to be created.
type NewWorkspace struct {
	Name string `json:"name"`
	Plan
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

// A NewBan is a ban that is to be set.
type NewBan struct {
	For    time.Duration `json:"for" most:"87600h"`
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

// Check puts the name into the form in which it is kept. It returns the quota, and the members that are not valid.
func (n *NewWorkspace) Check() (access.Quota, []petstore.Field) {
	fields := access.CheckNameMember(nil, &n.Name)
	quota, faults := n.Plan.check()
	return quota, append(fields, faults...)
}

func (p *Plan) check() (access.Quota, []petstore.Field) {
	quota, err := access.QuotaFor(p.Plan, p.Quota)
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

// Instant returns t for JSON: nil for no instant.
func Instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
