package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// A Desk is an [Operator] on a store.
type Desk struct {
	Store  access.Store
	Counts Counts
	Now    func() time.Time
	By     access.Actor
	Secret string // what By was recognised by, if keys are made once
}

var _ Operator = (*Desk)(nil)

// Of returns the workspace as operators see it.
func Of(w access.Workspace) Workspace {
	return Workspace{w.ID, w.Name, w.Plan, w.Quota.PerMinute, w.Quota.PerDay, instant(w.CreatedAt)}
}

func of(w access.Workspace, err error) (Workspace, error) {
	if err != nil {
		return Workspace{}, err
	}
	return Of(w), nil
}

// CreateWorkspace implements [Operator].
func (d *Desk) CreateWorkspace(ctx context.Context, n NewWorkspace) (Workspace, error) {
	quota, fields := n.check()
	if err := petstore.Invalid(fields); err != nil {
		return Workspace{}, err
	}
	return of(d.Store.CreateWorkspace(ctx, access.Workspace{Name: n.Name, Plan: n.Plan.Plan, Quota: quota, CreatedAt: d.Now()}, d.By))
}

// Workspaces implements [Operator].
func (d *Desk) Workspaces(ctx context.Context) ([]Workspace, error) {
	all, err := d.Store.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	views := make([]Workspace, len(all))
	for i, w := range all {
		views[i] = Of(w)
	}
	return views, nil
}

// Find implements [Operator].
func (d *Desk) Find(ctx context.Context, name string) (Workspace, error) {
	return of(d.Store.Workspace(ctx, name))
}

// Rename implements [Operator].
func (d *Desk) Rename(ctx context.Context, name, to string) (Workspace, error) {
	if err := petstore.Invalid(access.CheckNameMember(nil, &to)); err != nil {
		return Workspace{}, err
	}
	return of(d.Store.RenameWorkspace(ctx, name, to, d.By))
}

// SetPlan implements [Operator].
func (d *Desk) SetPlan(ctx context.Context, name string, p Plan) (Workspace, error) {
	quota, fields := p.check()
	if err := petstore.Invalid(fields); err != nil {
		return Workspace{}, err
	}
	return of(d.Store.SetPlan(ctx, name, p.Plan, quota, d.By))
}

// Reset implements [Operator].
func (d *Desk) Reset(ctx context.Context, name string) error {
	return d.Store.ResetWorkspace(ctx, name, d.By)
}

// Delete implements [Operator].
func (d *Desk) Delete(ctx context.Context, name string) error {
	return d.Store.DeleteWorkspace(ctx, name, d.By)
}

// Workspace implements [Operator].
func (d *Desk) Workspace(ctx context.Context, name string) (Detail, error) {
	w, err := d.Store.Workspace(ctx, name)
	if err != nil {
		return Detail{}, err
	}
	has, err := d.Store.Contents(ctx, w.ID)
	if err != nil {
		return Detail{}, err
	}
	keys, err := d.Store.Keys(ctx, w.ID)
	if err != nil {
		return Detail{}, err
	}
	counted, err := d.Counts(ctx)
	if err != nil {
		return Detail{}, err
	}
	v := Detail{Workspace: Of(w), Categories: has.Categories, Pets: has.Pets, Orders: has.Orders}
	var last time.Time
	for _, k := range keys {
		if k.RevokedAt.IsZero() && !k.Expired(d.Now()) {
			v.Keys++
		}
		if used := counted.Key(k.ID).LastUsed; used.After(last) {
			last = used
		}
	}
	v.LastUsedAt = instant(last)
	v.Minute, v.Day = counted.Windows(w)
	return v, nil
}

// Keys implements [Operator].
func (d *Desk) Keys(ctx context.Context, workspace string) ([]Key, error) {
	w, err := d.Store.Workspace(ctx, workspace)
	if err != nil {
		return nil, err
	}
	keys, err := d.Store.Keys(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	return d.Used(ctx, keys)
}

// Used returns keys with what they did today.
func (d *Desk) Used(ctx context.Context, keys []access.Key) ([]Key, error) {
	counted, err := d.Counts(ctx)
	if err != nil {
		return nil, err
	}
	views := make([]Key, len(keys))
	for i, k := range keys {
		used := counted.Key(k.ID)
		views[i] = d.view(k)
		views[i].LastUsedAt, views[i].UsedToday, views[i].RefusedToday = instant(used.LastUsed), used.Admitted, used.Refused
	}
	return views, nil
}

func (d *Desk) view(k access.Key) Key {
	v := Key{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scopes: k.Scopes.List(), State: k.State(d.Now()),
		CreatedAt: instant(k.CreatedAt), ExpiresAt: instant(k.ExpiresAt), RevokedAt: instant(k.RevokedAt), RotatedTo: k.RotatedTo,
	}
	if k.Ban != nil && d.Now().Before(k.Ban.Until) {
		v.BannedUntil, v.BanReason = instant(k.Ban.Until), k.Ban.Reason
	}
	return v
}

// ring returns all keys there are.
func (d *Desk) ring() access.Keyring {
	return access.Keyring{Store: d.Store, Now: d.Now, By: d.By, Secret: d.Secret}
}

// CreateKey implements [Operator].
func (d *Desk) CreateKey(ctx context.Context, workspace string, n NewKey) (Key, error) {
	k, _, err := d.CreateKeyOnce(ctx, workspace, n, nil)
	return k, err
}

// CreateKeyOnce is CreateKey for a request that must happen once. again reports
// that it did before.
func (d *Desk) CreateKeyOnce(ctx context.Context, workspace string, n NewKey, once *petstore.Idempotency) (k Key, again bool, err error) {
	w, err := d.Store.Workspace(ctx, workspace)
	if err != nil {
		return Key{}, false, err
	}
	scopes, fields := n.scopes()
	if err := petstore.Invalid(fields); err != nil {
		return Key{}, false, err
	}
	asked := access.NewKey{Name: n.Name, Scopes: scopes}
	if n.ExpiresAt != nil {
		asked.ExpiresAt = *n.ExpiresAt
	}
	made, err := d.ring().Create(ctx, w.ID, asked, once)
	return d.told(ctx, made, err)
}

// RotateKey implements [Operator].
func (d *Desk) RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error) {
	k, _, err := d.RotateKeyOnce(ctx, id, overlap, nil)
	return k, err
}

// RotateKeyOnce is RotateKey for a request that must happen once.
func (d *Desk) RotateKeyOnce(ctx context.Context, id string, overlap time.Duration, once *petstore.Idempotency) (k Key, again bool, err error) {
	made, err := d.ring().Rotate(ctx, id, overlap, once)
	return d.told(ctx, made, err)
}

// told returns a new key with its secret.
func (d *Desk) told(ctx context.Context, made access.MadeKey, err error) (Key, bool, error) {
	if err == nil && made.Replayed {
		made.Key, err = d.Store.Key(ctx, made.ID)
	}
	if err != nil {
		return Key{}, false, err
	}
	v := d.view(made.Key)
	v.Key, v.Workspace = made.Secret, d.nameOf(ctx, made.Key.WorkspaceID)
	return v, made.Replayed, nil
}

// nameOf returns the name of a workspace, or "" if it cannot be read: what was
// done to a key must be told all the same.
func (d *Desk) nameOf(ctx context.Context, id int64) string {
	w, err := d.Store.WorkspaceByID(ctx, id)
	if err != nil {
		return ""
	}
	return w.Name
}

// Key returns a key, a revoked one too.
func (d *Desk) Key(ctx context.Context, id string) (Key, error) {
	k, err := d.Store.Key(ctx, id)
	if err != nil {
		return Key{}, err
	}
	all, err := d.Used(ctx, []access.Key{k})
	if err != nil {
		return Key{}, err
	}
	all[0].Workspace = d.nameOf(ctx, k.WorkspaceID)
	return all[0], nil
}

// UpdateKey changes the name and the end of a key.
func (d *Desk) UpdateKey(ctx context.Context, id string, p access.KeyPatch) (Key, error) {
	if _, err := d.ring().Update(ctx, id, p, petstore.Condition{}); err != nil {
		return Key{}, err
	}
	return d.Key(ctx, id)
}

// RevokeKey implements [Operator].
func (d *Desk) RevokeKey(ctx context.Context, id string) (Key, error) {
	if err := d.ring().Revoke(ctx, id, petstore.Condition{}); err != nil {
		return Key{}, err
	}
	return d.Key(ctx, id)
}

// BanKey implements [Operator].
func (d *Desk) BanKey(ctx context.Context, id string, b NewBan) (Key, error) {
	if err := petstore.Invalid(b.check()); err != nil {
		return Key{}, err
	}
	now := d.Now()
	if err := d.Store.SetBan(ctx, access.Ban{KeyID: id, From: now, Until: now.Add(b.For), Reason: b.Reason, By: ratelimit.ByOperator}, d.By); err != nil {
		return Key{}, err
	}
	return d.Key(ctx, id)
}

// UnbanKey implements [Operator]. A key without a ban is left as it is.
func (d *Desk) UnbanKey(ctx context.Context, id string) (Key, error) {
	if err := d.Store.LiftBan(ctx, id, d.By); err != nil {
		return Key{}, err
	}
	return d.Key(ctx, id)
}

func (b *NewBan) check() (fields []petstore.Field) {
	if b.For <= 0 {
		fields = append(fields, petstore.Field{Pointer: "/for", Code: petstore.OutOfRange, Message: "for must be longer than 0."})
	}
	if err := CheckReason(b.Reason); err != nil {
		fields = append(fields, petstore.Field{Pointer: "/reason", Code: petstore.InvalidFormat, Message: "reason " + err.Error() + "."})
	}
	return fields
}

// MaxReason is the greatest number of characters in the reason of a ban.
const MaxReason = 1000

// CheckReason returns why a text cannot be the reason of a ban: it is shown to
// operators, and PostgreSQL keeps valid UTF-8 alone.
func CheckReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return errors.New("must not be blank")
	case utf8.RuneCountInString(reason) > MaxReason:
		return fmt.Errorf("must have at most %d characters", MaxReason)
	case !utf8.ValidString(reason):
		return errors.New("must be valid UTF-8")
	case strings.ContainsFunc(reason, unicode.IsControl):
		return errors.New("must not contain control characters")
	}
	return nil
}
