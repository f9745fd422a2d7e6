package access

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// A Keyring creates and changes keys on behalf of the operator, who may change all
// keys, or of a caller with a key, who may change those of its workspace within the
// limits of CheckGrant. The API, the consoles and the commands all use it.
//
// Its methods return CodeKeyNotFound for a key that the caller may not see: one of
// another workspace, or a revoked one. Methods that change something return the error
// of CheckValid if the caller's key is no longer valid.
type Keyring struct {
	Store  Store
	Now    func() time.Time
	By     Actor
	Caller *Key   // the caller's key; nil for the operator
	Secret string // of Caller; needed for calls with an Idempotency
}

// A NewKey describes a key that is to be created.
type NewKey struct {
	Name      string        `json:"name"`
	Scopes    Scopes        `json:"scopes,omitzero"`
	ExpiresAt petstore.Time `json:"expiresAt,omitzero"` // not valid: never, or with the key that creates it
}

// A KeyPatch says what to change of a key.
type KeyPatch struct {
	Name      petstore.Optional[string]        `json:"name,omitzero"`
	ExpiresAt petstore.Optional[petstore.Time] `json:"expiresAt,omitzero"` // null: never
}

// An IssuedKey is a new key with its secret, which is not stored.
type IssuedKey struct {
	CreatedKey
	ID     string
	Secret string // the key itself
}

// WithSecret returns the canonical form of the key, with the key itself at its end.
func (m IssuedKey) WithSecret() []byte {
	b := append(make([]byte, 0, len(m.Body)+64), m.Body[:len(m.Body)-1]...)
	return append(petstore.AppendString(append(b, `,"key":`...), m.Secret), '}')
}

// Create creates a key of the workspace. If once is not nil, repeating the call has the
// same result.
func (r Keyring) Create(ctx context.Context, workspace int64, n NewKey, once *petstore.Idempotency) (IssuedKey, error) {
	if err := petstore.Invalid(n.check(r.Now())); err != nil {
		return IssuedKey{}, err
	}
	end := n.ExpiresAt.UTC()
	if r.Caller != nil && end.IsZero() {
		end = r.Caller.ExpiresAt
	}
	k := Key{WorkspaceID: workspace, Name: n.Name, Scopes: n.Scopes, ExpiresAt: end}
	return r.mint(ctx, KeyRequest{Key: k, Once: once, May: func(caller, _ *Key) error {
		if caller == nil {
			return nil
		}
		return caller.CheckGrant(n.Scopes, end)
	}})
}

// Rotate creates a key that replaces the one with the id. Both are valid for the
// overlap. If once is not nil, repeating the call has the same result.
func (r Keyring) Rotate(ctx context.Context, id string, overlap time.Duration, once *petstore.Idempotency) (IssuedKey, error) {
	m := KeyRequest{Replaces: id, Until: r.Now().Add(overlap), Once: once, May: func(caller, old *Key) error {
		if err := r.sees(*old); err != nil || caller == nil {
			return err
		}
		if err := old.CheckRotation(r.Now()); err != nil {
			return err
		}
		if caller.CheckGrant(old.Scopes, old.ExpiresAt) != nil {
			return petstore.Errorf(CodeInsufficientScope, "The key %s has more scopes or lasts longer than the key that you use, so you can only revoke it.", old.ID)
		}
		return nil
	}}
	if r.Caller != nil {
		m.Key.WorkspaceID = r.Caller.WorkspaceID
	} else if once != nil { // the receipt needs the workspace
		old, err := r.Store.Key(ctx, id)
		if err != nil {
			return IssuedKey{}, err
		}
		m.Key.WorkspaceID = old.WorkspaceID
	}
	return r.mint(ctx, m)
}

// mint gives a key its secret and has the store add it.
func (r Keyring) mint(ctx context.Context, m KeyRequest) (IssuedKey, error) {
	m.By, m.Caller, m.Key.ID, m.Key.CreatedAt = r.By, r.callerID(), MintID(), r.Now()
	secret, prefix := Mint()
	if m.Once != nil {
		secret, prefix = deriveKey(r.Secret, m.Key.ID, m.Once)
	}
	m.Key.Prefix, m.Key.Hash = prefix, HashOf(secret)
	made, err := r.Store.MakeKey(ctx, m)
	if err != nil || !made.Replayed {
		return IssuedKey{made, m.Key.ID, secret}, err
	}
	var first struct{ ID string }
	if err := json.Unmarshal(made.Body, &first); err != nil {
		return IssuedKey{}, fmt.Errorf("the receipt of a key: %w", err)
	}
	secret, _ = deriveKey(r.Secret, first.ID, m.Once)
	return IssuedKey{made, first.ID, secret}, nil
}

// Key returns a key.
func (r Keyring) Key(ctx context.Context, id string) (Key, error) {
	k, err := r.Store.Key(ctx, id)
	if err == nil {
		err = r.sees(k)
	}
	return k, err
}

// Update changes what the patch names, if the condition holds. It returns the error of
// CheckRotation for a new expiry of a key that has expired, or was rotated or revoked.
func (r Keyring) Update(ctx context.Context, id string, p KeyPatch, on petstore.Condition) (Key, error) {
	if err := petstore.Invalid(p.check(r.Now())); err != nil {
		return Key{}, err
	}
	return r.change(ctx, id, on, func(caller, k *Key) error {
		if p.Name.Present {
			k.Name = p.Name.Value
		}
		if !p.ExpiresAt.Present {
			return nil
		}
		if err := k.CheckRotation(r.Now()); err != nil {
			return err
		}
		end := p.ExpiresAt.Value.UTC()
		longer := !k.ExpiresAt.IsZero() && (end.IsZero() || end.After(k.ExpiresAt))
		k.ExpiresAt = end
		if longer && caller != nil {
			return caller.CheckGrant(k.Scopes, end)
		}
		return nil
	})
}

// Revoke revokes a key, if the condition holds. The operator may revoke a key again;
// the first instant is kept.
func (r Keyring) Revoke(ctx context.Context, id string, on petstore.Condition) error {
	_, err := r.change(ctx, id, on, func(_, k *Key) error {
		if k.RevokedAt.IsZero() {
			k.RevokedAt = r.Now()
		}
		return nil
	})
	return err
}

func (r Keyring) change(ctx context.Context, id string, on petstore.Condition, edit func(caller, k *Key) error) (Key, error) {
	return r.Store.UpdateKey(ctx, id, r.By, r.callerID(), func(caller, k *Key) error {
		if err := r.sees(*k); err != nil {
			return err
		}
		if err := on.Check(k.View(r.Now())); err != nil {
			return err
		}
		return edit(caller, k)
	})
}

// callerID returns the id of the caller's key, "" for the operator.
func (r Keyring) callerID() string {
	if r.Caller == nil {
		return ""
	}
	return r.Caller.ID
}

// sees returns CodeKeyNotFound for a key that the caller may not see.
func (r Keyring) sees(k Key) error {
	if r.Caller == nil || k.WorkspaceID == r.Caller.WorkspaceID && k.RevokedAt.IsZero() {
		return nil
	}
	return NoKey(k.ID)
}

// NoKey returns the error for a key that does not exist, or that the caller may not
// see.
func NoKey(id string) error {
	if strings.HasPrefix(id, Prefix) { // a secret, which the message must not contain
		return petstore.Errorf(CodeKeyNotFound, "This is a key, not its id. Ids of keys begin with key_.")
	}
	return petstore.Errorf(CodeKeyNotFound, "There is no key with the id %.60q.", id)
}

func (n *NewKey) check(now time.Time) []petstore.Field {
	fields := CheckNameMember(nil, &n.Name)
	if n.Scopes == 0 {
		fields = append(fields, petstore.Field{Pointer: "/scopes", Code: petstore.TooShort, Message: "scopes must have at least one of read, write and manage."})
	}
	return checkEnd(fields, n.ExpiresAt, now)
}

func (p *KeyPatch) check(now time.Time) (fields []petstore.Field) {
	if petstore.RefuseNull(&fields, "/name", p.Name) {
		fields = CheckNameMember(fields, &p.Name.Value)
	}
	return checkEnd(fields, p.ExpiresAt.Value, now)
}

func checkEnd(fields []petstore.Field, end petstore.Time, now time.Time) []petstore.Field {
	if end.Valid && !end.UTC().After(now) {
		fields = append(fields, petstore.Field{Pointer: "/expiresAt", Code: petstore.OutOfRange,
			Message: fmt.Sprintf("expiresAt must be later than now, not %s.", end)})
	}
	return fields
}

// A KeyView is a key as it is shown at an instant.
type KeyView struct {
	Key
	State       string    `json:"state"`
	Successor   string    `json:"rotatedTo,omitzero"`
	BannedUntil time.Time `json:"bannedUntil,omitzero"`
}

// View returns the key as it is shown at an instant.
func (k Key) View(at time.Time) KeyView {
	v := KeyView{Key: k, State: k.State(at), Successor: k.RotatedTo}
	if v.State == "banned" {
		v.BannedUntil = k.Ban.Until
	}
	return v
}
