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

// A Local is an [Operator] on a store.
type Local struct {
	Store  access.Store
	Counts Counts
	Now    func() time.Time
	By     access.Actor

	Once   *petstore.Idempotency // of the request, if it creates or rotates a key; nil for none
	Secret string                // the secret token of By; needed for Once
}

var _ Operator = (*Local)(nil)

// ViewOf returns a workspace in the form for operators.
func ViewOf(w access.Workspace) Workspace {
	v := Workspace{ID: w.ID, Name: w.Name, Plan: w.Plan, PerMinute: w.Quota.PerMinute, PerDay: w.Quota.PerDay, CreatedAt: Instant(w.CreatedAt)}
	if w.Sandbox != nil {
		v.ExpiresAt = Instant(w.Sandbox.ExpiresAt)
	}
	return v
}

func viewOf(w access.Workspace, err error) (Workspace, error) {
	if err != nil {
		return Workspace{}, err
	}
	return ViewOf(w), nil
}

// CreateWorkspace implements [Operator].
func (l *Local) CreateWorkspace(ctx context.Context, n NewWorkspace) (Workspace, error) {
	quota, fields := n.check()
	if err := petstore.Invalid(fields); err != nil {
		return Workspace{}, err
	}
	return viewOf(l.Store.CreateWorkspace(ctx, access.Workspace{Name: n.Name, Plan: n.Plan.Plan, Quota: quota, CreatedAt: l.Now()}, l.By))
}

// Workspaces implements [Operator].
func (l *Local) Workspaces(ctx context.Context) ([]Workspace, error) {
	return viewsOf(l.Store.Workspaces(ctx))
}

// WorkspacesFrom is [access.Store]'s.
func (l *Local) WorkspacesFrom(ctx context.Context, from, limit int) ([]Workspace, error) {
	return viewsOf(l.Store.WorkspacesFrom(ctx, from, limit))
}

// WorkspacePage is [access.Store]'s.
func (l *Local) WorkspacePage(ctx context.Context, after int64, limit int, names ...string) ([]Workspace, error) {
	return viewsOf(l.Store.WorkspacePage(ctx, after, limit, names...))
}

func viewsOf(all []access.Workspace, err error) ([]Workspace, error) {
	if err != nil {
		return nil, err
	}
	views := make([]Workspace, len(all))
	for i, w := range all {
		views[i] = ViewOf(w)
	}
	return views, nil
}

// Find implements [Operator].
func (l *Local) Find(ctx context.Context, name string) (Workspace, error) {
	return viewOf(l.Store.Workspace(ctx, name))
}

// Rename implements [Operator].
func (l *Local) Rename(ctx context.Context, id int64, to string) (Workspace, error) {
	if err := petstore.Invalid(access.CheckNameMember(nil, &to)); err != nil {
		return Workspace{}, err
	}
	return viewOf(l.Store.UpdateWorkspace(ctx, id, l.By, func(w *access.Workspace) { w.Name = to }))
}

// SetPlan implements [Operator].
func (l *Local) SetPlan(ctx context.Context, id int64, p Plan) (Workspace, error) {
	quota, fields := p.check()
	if err := petstore.Invalid(fields); err != nil {
		return Workspace{}, err
	}
	return viewOf(l.Store.UpdateWorkspace(ctx, id, l.By, func(w *access.Workspace) { w.Plan, w.Quota = p.Plan, quota }))
}

// Reset implements [Operator].
func (l *Local) Reset(ctx context.Context, id int64) error {
	return l.Store.ResetWorkspace(ctx, id, l.By)
}

// Delete implements [Operator].
func (l *Local) Delete(ctx context.Context, id int64) error {
	return l.Store.DeleteWorkspace(ctx, id, l.By)
}

// Workspace implements [Operator].
func (l *Local) Workspace(ctx context.Context, id int64) (WorkspaceDetail, error) {
	w, err := l.Store.WorkspaceByID(ctx, id)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	has, err := l.Store.Contents(ctx, w.Shop)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	keys, err := l.Store.Keys(ctx, w.ID)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	uses, err := l.Store.KeyUses(ctx, keys)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	windows, err := l.Counts(ctx)
	if err != nil {
		return WorkspaceDetail{}, err
	}
	v := WorkspaceDetail{WorkspaceUsage: WorkspaceUsage{Workspace: ViewOf(w)}, Categories: has.Categories, Pets: has.Pets, Orders: has.Orders}
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
	v.Minute, v.Day = windows(w)
	return v, nil
}

// Keys implements [Operator].
func (l *Local) Keys(ctx context.Context, workspace int64) ([]Key, error) {
	keys, err := l.Store.Keys(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return l.WithUse(ctx, keys)
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

// CreateKey implements [Operator].
func (l *Local) CreateKey(ctx context.Context, workspace int64, n NewKey) (Key, error) {
	scopes, fields := n.scopes()
	if err := petstore.Invalid(fields); err != nil {
		return Key{}, err
	}
	asked := access.NewKey{Name: n.Name, Scopes: scopes}
	if n.ExpiresAt != nil {
		asked.ExpiresAt = petstore.At(*n.ExpiresAt)
	}
	made, err := l.ring().Create(ctx, workspace, asked, l.Once)
	return l.withSecret(ctx, made, err)
}

// RotateKey implements [Operator].
func (l *Local) RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return Key{}, petstore.Invalid([]petstore.Field{outOfRange("overlap", "from 0s", MaxOverlap)})
	}
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

// RevokeKey implements [Operator].
func (l *Local) RevokeKey(ctx context.Context, id string) (Key, error) {
	if err := l.ring().Revoke(ctx, id, petstore.Condition{}); err != nil {
		return Key{}, err
	}
	return l.Key(ctx, id)
}

// BanKey implements [Operator].
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

// UnbanKey implements [Operator]. It does not change a key without a ban.
func (l *Local) UnbanKey(ctx context.Context, id string) (Key, error) {
	if err := access.LiftBan(ctx, l.Store, id, l.By); err != nil {
		return Key{}, err
	}
	return l.Key(ctx, id)
}

func (b *NewBan) check() (fields []petstore.Field) {
	if b.For <= 0 || b.For > MaxBan {
		fields = append(fields, outOfRange("for", "longer than 0s", MaxBan))
	}
	if err := CheckReason(b.Reason); err != nil {
		fields = append(fields, petstore.Field{Pointer: "/reason", Code: petstore.InvalidFormat, Message: "reason " + err.Error() + "."})
	}
	return fields
}

// How long a rotated key can remain valid, and a ban can last.
const (
	MaxOverlap = 365 * 24 * time.Hour
	MaxBan     = 10 * 365 * 24 * time.Hour
)

func outOfRange(member, least string, most time.Duration) petstore.Field {
	return petstore.Field{Pointer: "/" + member, Code: petstore.OutOfRange,
		Message: fmt.Sprintf("%s must be %s, and at most %.0fh.", member, least, most.Hours())}
}

// MaxReason is the greatest number of characters in the reason of a ban.
const MaxReason = 1000

// CheckReason returns an error if a text cannot be the reason of a ban. It is shown to
// operators, and PostgreSQL stores only valid UTF-8.
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
