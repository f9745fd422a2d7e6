package operator

import (
	"context"
	"math"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// A Local creates, returns, changes and removes workspaces and their keys in a store.
// Workspaces are identified by their ids, since names may change. An invalid value
// returns validation_failed, which names the member of the type here; a missing workspace
// or key returns workspace_not_found or key_not_found.
type Local struct {
	Store  access.Store
	Counts Counts
	Now    func() time.Time
	By     access.Actor

	Once   *petstore.Idempotency // of the request, if it creates or rotates a key; nil for none
	Secret string                // the secret token of By; needed for Once
}

// CreateWorkspace creates a workspace.
func (l *Local) CreateWorkspace(ctx context.Context, n NewWorkspace) (access.Workspace, error) {
	quota, fields := n.Check()
	if err := petstore.Invalid(fields); err != nil {
		return access.Workspace{}, err
	}
	return l.Store.CreateWorkspace(ctx, access.Workspace{Name: n.Name, Plan: n.Plan.Plan, Quota: quota, CreatedAt: l.Now()}, l.By)
}

// Rename changes the name of a workspace.
func (l *Local) Rename(ctx context.Context, id int64, to string) (access.Workspace, error) {
	if err := petstore.Invalid(access.CheckNameMember(nil, &to)); err != nil {
		return access.Workspace{}, err
	}
	return l.Store.UpdateWorkspace(ctx, id, l.By, func(w *access.Workspace) { w.Name = to })
}

// SetPlan moves a workspace to another plan.
func (l *Local) SetPlan(ctx context.Context, id int64, p Plan) (access.Workspace, error) {
	quota, fields := p.check()
	if err := petstore.Invalid(fields); err != nil {
		return access.Workspace{}, err
	}
	return l.Store.UpdateWorkspace(ctx, id, l.By, func(w *access.Workspace) { w.Plan, w.Quota = p.Plan, quota })
}

// Reset removes everything of a workspace but its keys.
func (l *Local) Reset(ctx context.Context, id int64) error {
	return l.Store.ResetWorkspace(ctx, id, l.By)
}

// Delete removes a workspace with its keys.
func (l *Local) Delete(ctx context.Context, id int64) error {
	return l.Store.DeleteWorkspace(ctx, id, l.By)
}

// Workspace returns a workspace with its use. It reads all rows of the workspace.
func (l *Local) Workspace(ctx context.Context, id int64) (WorkspaceDetail, error) {
	w, err := l.Store.WorkspaceByID(ctx, id)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	has, err := l.Store.Contents(ctx, w.Shop, 0)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	keys, err := l.Store.KeyPage(ctx, w.ID, access.KeyPage{Limit: math.MaxInt})
	if err != nil {
		return WorkspaceDetail{}, err
	}
	uses, err := l.Store.KeyUses(ctx, keys)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	counts, err := l.Counts(ctx)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	v := WorkspaceDetail{WorkspaceUsage: WorkspaceUsage{Workspace: w}, Categories: has.Categories, Pets: has.Pets, Orders: has.Orders}
	var last time.Time
	for _, k := range keys {
		if k.RevokedAt.IsZero() && !k.Expired(l.Now()) {
			v.Keys++
		}
		if used := uses[k.ID].LastUsed; used.After(last) {
			last = used
		}
	}
	v.LastUsedAt = Instant(last)
	v.Minute, v.Day = windows(counts, w)
	return v, nil
}

// WithUse returns keys with their requests of today.
func (l *Local) WithUse(ctx context.Context, keys []access.Key) ([]Key, error) {
	uses, err := l.Store.KeyUses(ctx, keys)
	if err != nil {
		return nil, err
	}
	views := make([]Key, len(keys))
	for i, k := range keys {
		used := uses[k.ID]
		views[i] = l.view(k)
		views[i].LastUsedAt, views[i].UsedToday, views[i].RefusedToday = Instant(used.LastUsed), used.Admitted, used.Refused
	}
	return views, nil
}

func (l *Local) view(k access.Key) Key {
	v := Key{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scopes: k.Scopes.List(), State: k.State(l.Now()),
		CreatedAt: Instant(k.CreatedAt), ExpiresAt: Instant(k.ExpiresAt), RevokedAt: Instant(k.RevokedAt), RotatedTo: k.RotatedTo,
	}
	if k.Ban != nil && l.Now().Before(k.Ban.Until) {
		v.BannedUntil, v.BanReason = Instant(k.Ban.Until), k.Ban.Reason
	}
	return v
}

// ring returns the Keyring of the operator.
func (l *Local) ring() access.Keyring {
	return access.Keyring{Store: l.Store, Now: l.Now, By: l.By, Secret: l.Secret}
}

// CreateKey creates a key of a workspace.
func (l *Local) CreateKey(ctx context.Context, workspace int64, n access.NewKey) (Key, error) {
	made, err := l.ring().Create(ctx, workspace, n, l.Once)
	return l.withSecret(ctx, made, err)
}

// RotateKey creates a key that replaces another, which remains valid for the overlap.
func (l *Local) RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error) {
	made, err := l.ring().Rotate(ctx, id, overlap, l.Once)
	return l.withSecret(ctx, made, err)
}

// withSecret returns a new key with its secret.
func (l *Local) withSecret(ctx context.Context, made access.IssuedKey, err error) (Key, error) {
	if err == nil && made.Replayed {
		made.Key, err = l.Store.Key(ctx, made.ID)
	}
	if err != nil {
		return Key{}, err
	}
	v := l.view(made.Key)
	v.Key, v.Workspace, v.Replayed = made.Secret, l.nameOf(ctx, made.Key.WorkspaceID), made.Replayed
	return v, nil
}

// nameOf returns the name of a workspace, or "" if it cannot be read, since the change
// of a key has already succeeded.
func (l *Local) nameOf(ctx context.Context, id int64) string {
	w, err := l.Store.WorkspaceByID(ctx, id)
	if err != nil {
		return ""
	}
	return w.Name
}

// Key returns a key, also a revoked one.
func (l *Local) Key(ctx context.Context, id string) (Key, error) {
	k, err := l.Store.Key(ctx, id)
	if err != nil {
		return Key{}, err
	}
	all, err := l.WithUse(ctx, []access.Key{k})
	if err != nil {
		return Key{}, err
	}
	all[0].Workspace = l.nameOf(ctx, k.WorkspaceID)
	return all[0], nil
}

// UpdateKey changes the name and the expiry of a key.
func (l *Local) UpdateKey(ctx context.Context, id string, p access.KeyPatch) (Key, error) {
	if _, err := l.ring().Update(ctx, id, p, petstore.Condition{}); err != nil {
		return Key{}, err
	}
	return l.Key(ctx, id)
}

// RevokeKey revokes a key for good.
func (l *Local) RevokeKey(ctx context.Context, id string) (Key, error) {
	if err := l.ring().Revoke(ctx, id, petstore.Condition{}); err != nil {
		return Key{}, err
	}
	return l.Key(ctx, id)
}

// BanKey replaces the ban of a key.
func (l *Local) BanKey(ctx context.Context, id string, b NewBan) (Key, error) {
	if err := petstore.Invalid(b.check()); err != nil {
		return Key{}, err
	}
	now := l.Now()
	if err := access.SetBan(ctx, l.Store, access.Ban{KeyID: id, From: now, Until: now.Add(b.For), Reason: b.Reason, By: ratelimit.ByOperator}, l.By); err != nil {
		return Key{}, err
	}
	return l.Key(ctx, id)
}

// UnbanKey lifts the ban of a key. It does not change a key without one.
func (l *Local) UnbanKey(ctx context.Context, id string) (Key, error) {
	if err := access.LiftBan(ctx, l.Store, id, l.By); err != nil {
		return Key{}, err
	}
	return l.Key(ctx, id)
}

func (b *NewBan) check() (fields []petstore.Field) {
	if b.For <= 0 {
		fields = append(fields, petstore.Field{Pointer: "/for", Code: petstore.OutOfRange, Message: "for must be longer than 0s."})
	}
	return petstore.CheckText(fields, "/reason", &b.Reason, 1, maxReason)
}

// maxReason is the greatest number of characters in the reason of a ban.
const maxReason = 1000
