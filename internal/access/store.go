package access

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
)

// The codes of the errors of stores.
const (
	CodeWorkspaceNotFound petstore.Code = "workspace_not_found"
	CodeWorkspaceExists   petstore.Code = "workspace_exists"
	CodeKeyNotFound       petstore.Code = "key_not_found"
	CodeKeyRevoked        petstore.Code = "key_revoked"
	CodeKeyRotated        petstore.Code = "key_rotated"
	CodeKeyExpired        petstore.Code = "key_expired"
	CodeTooManyKeys       petstore.Code = "too_many_keys"
	CodeInsufficientScope petstore.Code = "insufficient_scope"
	CodeSessionNotFound   petstore.Code = "session_not_found"
	CodeTokenNotFound     petstore.Code = "token_not_found"
	CodeSandboxesFull     petstore.Code = "sandboxes_full"
	CodeTooManySandboxes  petstore.Code = "rate_limit_exceeded"
	CodeNotASandbox       petstore.Code = "not_a_sandbox"
)

// A Store keeps workspaces and keys. Each method is one transaction, durable when it
// returns. All may be called concurrently, also while a server in another process uses
// the store. A method that changes a workspace, a key or a ban writes an audit entry in
// the same transaction and changes AccessState.
//
// Methods return CodeWorkspaceNotFound or CodeKeyNotFound for a name or an id that does
// not exist. Methods that change a workspace take its id, since another workspace may
// get its name between two transactions.
type Store interface {
	Sandboxes

	// CreateWorkspace returns CodeWorkspaceExists if the name is taken.
	CreateWorkspace(ctx context.Context, w Workspace, by Actor) (Workspace, error)
	// Workspaces returns at most limit workspaces by name, without the first ones.
	Workspaces(ctx context.Context, from, limit int) ([]Workspace, error)
	CountWorkspaces(ctx context.Context) (int64, error)
	// CountOverQuota returns how many workspaces have used up their minute or their day.
	// Servers save that half a second late.
	CountOverQuota(ctx context.Context) (int64, error)
	// WorkspacePage returns at most limit workspaces with ids greater than after, in
	// their order; only those with one of the names, if any are given.
	WorkspacePage(ctx context.Context, after int64, limit int, names ...string) ([]Workspace, error)
	Workspace(ctx context.Context, name string) (Workspace, error)
	WorkspaceByID(ctx context.Context, id int64) (Workspace, error)
	// UpdateWorkspace stores the name, the plan with its quota, or LowStock, as edit sets
	// one of them. It returns CodeWorkspaceExists if another workspace has the new name.
	// edit may be called several times.
	UpdateWorkspace(ctx context.Context, workspace int64, by Actor, edit func(*Workspace)) (Workspace, error)
	// Contents counts the rows of a shop, by reading them. A kind of which fewer than few ids
	// were issued counts with the number of ids, and its rows are not read.
	Contents(ctx context.Context, shop, few int64) (Contents, error)
	// ResetWorkspace removes the categories, pets, orders, ledger and receipts of a
	// workspace. It keeps the keys, and no id is issued again. It gives the workspace
	// another shop, in one transaction; writes to the one before return the error of
	// Resetting. Resume then removes its rows.
	ResetWorkspace(ctx context.Context, workspace int64, by Actor) error
	// DeleteWorkspace removes a workspace with its keys, in one transaction. Resume then
	// removes its rows.
	DeleteWorkspace(ctx context.Context, workspace int64, by Actor) error
	// Resume removes the rows of the shops that resets and deletions have left, in many
	// short transactions, so that others do not wait for long. If ctx or the process ends
	// before, the next call continues.
	Resume(ctx context.Context) error

	// MakeKey adds a key, which may replace another one. It returns CodeTooManyKeys if
	// the workspace would have more than MaxKeys live keys; for a rotation the error of
	// CheckRotation; for m.Once the errors of Replay; and for m.Caller the error of
	// CheckValid, also if the request is repeated.
	MakeKey(ctx context.Context, m KeyRequest) (CreatedKey, error)
	// KeyPage returns a page of the keys of a workspace.
	KeyPage(ctx context.Context, workspace int64, p KeyPage) ([]Key, error)
	Key(ctx context.Context, id string) (Key, error)
	// UpdateKey stores the name and the expiry, the revocation, or the ban that edit sets.
	// caller is as in a KeyRequest. If edit returns an error, nothing is changed. edit may
	// be called several times.
	UpdateKey(ctx context.Context, id string, by Actor, caller string, edit func(caller, k *Key) error) (Key, error)

	// AccessState returns a number that changes whenever LiveKeys would return something
	// else about an existing key. Reading it is cheap.
	AccessState(ctx context.Context) (int64, error)
	// LiveKeys returns the keys with the ids or the hashes that are not revoked, in no
	// order, and their workspaces. It is meant for some hundreds of them.
	LiveKeys(ctx context.Context, ids []string, hashes []Hash) ([]Key, []Workspace, error)
	// BannedKeys returns the ids of the keys that are banned now and not revoked, in the
	// order in which their bans end.
	BannedKeys(ctx context.Context) ([]string, error)
	// KeyUses returns the uses of keys by their ids, without those that were never
	// used. Servers save them by usage.Store, some seconds late.
	KeyUses(ctx context.Context, keys []Key) (map[string]Use, error)
	// BusiestKeys returns at most limit keys that were used today and are not revoked,
	// at most one of each workspace. The first are those that have used the greatest
	// part of their daily quota.
	BusiestKeys(ctx context.Context, limit int) ([]Use, error)

	// SetAppliedState notes that the server uses the keys as they were when AccessState was
	// state.
	SetAppliedState(ctx context.Context, state int64) error
	// AwaitApplied waits until the server on this database uses the present keys. It
	// returns true then, or if no server is running, and false after a second. A store
	// that many servers may use does not wait: they use the keys within a second.
	AwaitApplied(ctx context.Context) (bool, error)

	// Secret returns 32 random bytes made with the store, for signing cursors.
	Secret(ctx context.Context) ([]byte, error)

	// AuditPage returns the latest entries about a workspace, or of all if that is 0,
	// before the one with the id, unless that is 0, the newest first.
	AuditPage(ctx context.Context, workspace, before int64, limit int) ([]AuditEntry, error)
	// Note adds an entry for an action that changes nothing in the store, such as
	// issuing a link. The store sets the time.
	Note(ctx context.Context, e AuditEntry) error

	// UseLink marks a link as used and adds the entry. It reports false, and adds
	// nothing, if the link was used before, in any process. Links are forgotten a day
	// after their end, so callers must refuse these first.
	UseLink(ctx context.Context, l Link, e AuditEntry) (first bool, err error)

	// FormAnswer returns the answer to a console's form that KeepFormAnswer has stored,
	// or nil. Answers are removed together with the receipts of requests. A second
	// answer does not replace the first. The workspace of an operator's form is 0.
	FormAnswer(ctx context.Context, workspace int64, form string) ([]byte, error)
	KeepFormAnswer(ctx context.Context, workspace int64, form string, answer []byte) error

	// AddToken adds an operator's token.
	AddToken(ctx context.Context, t Token, by Actor) error
	Tokens(ctx context.Context) ([]Token, error) // in the order of their creation
	// TokenOf returns the token with the hash, which may have expired or been revoked,
	// or CodeTokenNotFound.
	TokenOf(ctx context.Context, h Hash) (Token, error)
	// RevokeToken revokes a token, or returns CodeTokenNotFound. If the token was
	// revoked before, the first instant is kept.
	RevokeToken(ctx context.Context, id string, at time.Time, by Actor) (Token, error)
	// StartSession adds a session, and removes those that have ended.
	StartSession(ctx context.Context, s Session) error
	// Session returns CodeSessionNotFound if the session has ended for any reason.
	Session(ctx context.Context, hash [32]byte) (Session, error)
	EndSession(ctx context.Context, hash [32]byte) error
	EndSessions(ctx context.Context, keyID string) error // all of that key
}

// Contents are the numbers of rows of a shop.
type Contents struct{ Categories, Pets, Orders int64 }

// MaxKeys is how many live keys a workspace can have.
const MaxKeys = 100

// A Use counts the requests of a key on all nodes.
type Use struct {
	KeyID             string
	Admitted, Refused int64     // in the present UTC day; Refused are those answered with 429
	LastUsed          time.Time // the last request, admitted or not
}

// A KeyPage asks for at most Limit keys, in the order of their creation, that come
// after the key with the id After, or for the first if that is "".
type KeyPage struct {
	Newest    bool // the newest first
	Unrevoked bool // without those that were revoked
	After     string
	Limit     int
}

// A KeyRequest describes a key that is to be created.
type KeyRequest struct {
	Key      Key       // with a new id and a new hash
	Replaces string    // the id of the key that it replaces, whose workspace, name, scopes, expiry and ban it takes over; or ""
	Until    time.Time // when the replaced key ends at the latest
	Caller   string    // the id of the caller's key, which must be valid; "" for the operator
	// May is called in the transaction with the caller's key, nil for the operator, and
	// the key that is replaced, nil if there is none. If it returns an error, nothing
	// is changed. May may be nil.
	May  func(caller, old *Key) error
	Once *petstore.Idempotency // see [petstore.Idempotency]; in the workspace of Key; may be nil
	By   Actor
}

// A CreatedKey is a key that was created by this request, or by an earlier one with the
// same Idempotency.
type CreatedKey struct {
	Key      Key    // zero if Replayed
	Body     []byte // its canonical form, as it was first answered
	Replayed bool
}

// A Token lets an operator use the operator's API.
type Token struct {
	ID        string    `json:"id"` // public: "op_" and 16 base62 characters
	Name      string    `json:"name"`
	Prefix    string    `json:"prefix"` // its first 8 characters, for display
	Hash      Hash      `json:"-"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`          // never zero
	RevokedAt time.Time `json:"revokedAt,omitzero"` // zero: not revoked
}

// State returns "revoked", "expired" or "active".
func (t *Token) State(now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !now.Before(t.ExpiresAt):
		return "expired"
	}
	return "active"
}

// A Session is a user's session in a console.
type Session struct {
	Hash    [32]byte // of its token
	KeyID   string   // "" for an operator
	Started time.Time
	Until   time.Time
}

// MaxSessions is how many sessions a key can have. Of more the oldest ends.
const MaxSessions = 20

// A Link is a link that signs a user in once.
type Link struct {
	Hash  [32]byte // of the link's secret part
	Until time.Time
}

// An Actor names who changes a store, for the audit log: "cli", "console:KEYID",
// "operator", "limiter".
type Actor string

// An AuditEntry is a line of the audit log.
type AuditEntry struct {
	ID      int64     `json:"id"` // ascending
	At      time.Time `json:"at"` // in UTC
	Actor   Actor     `json:"actor"`
	Action  string    `json:"action"`           // "key.create", "workspace.set_plan", "ban.set", "operator.sign_in", …
	Subject string    `json:"subject"`          // the id or the name of the object
	Detail  string    `json:"detail,omitempty"` // in words, without secrets

	Workspace int64 `json:"-"` // that it is about, itself or one of its keys or webhooks; 0 for none
}
