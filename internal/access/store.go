package access

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
)

// Errors that stores return for what they do not have or have already.
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

// A Store keeps workspaces and keys. Each method is one transaction, durable
// when it returns, and all may be called concurrently and beside a server in
// another process. What changes a workspace, a key or a ban writes an audit
// entry in the same transaction and changes AccessState.
//
// Methods return CodeWorkspaceNotFound or CodeKeyNotFound for a name or an id
// that does not exist. What changes a workspace goes by its id: its name may become
// another's between two transactions.
type Store interface {
	Sandboxes

	// CreateWorkspace returns CodeWorkspaceExists if the name is taken.
	CreateWorkspace(ctx context.Context, w Workspace, by Actor) (Workspace, error)
	Workspaces(ctx context.Context) ([]Workspace, error) // by name
	CountWorkspaces(ctx context.Context) (int64, error)
	// CountOverQuota returns how many workspaces have used up their minute or their day,
	// as servers have saved it: half a second late.
	CountOverQuota(ctx context.Context) (int64, error)
	// WorkspacesFrom returns at most limit of those by name, without the first ones.
	WorkspacesFrom(ctx context.Context, from, limit int) ([]Workspace, error)
	// WorkspacePage returns at most limit workspaces with ids greater than after, in
	// their order; only those with one of the names, if any are given.
	WorkspacePage(ctx context.Context, after int64, limit int, names ...string) ([]Workspace, error)
	Workspace(ctx context.Context, name string) (Workspace, error)
	WorkspaceByID(ctx context.Context, id int64) (Workspace, error)
	SetPlan(ctx context.Context, workspace int64, p Plan, q Quota, by Actor) (Workspace, error)
	// RenameWorkspace returns CodeWorkspaceExists if another one has the new name.
	RenameWorkspace(ctx context.Context, workspace int64, to string, by Actor) (Workspace, error)
	// SetLowStock sets with how many units the stock of a pet is low, 0 to MaxLowStock.
	SetLowStock(ctx context.Context, workspace, units int64, by Actor) (Workspace, error)
	// Contents counts what a workspace has. Its cost grows with that.
	Contents(ctx context.Context, workspace int64) (Contents, error)
	// ResetWorkspace removes the categories, pets, orders, ledger and receipts
	// of a workspace, and keeps its keys and its ids: none is issued again. It does
	// so in many transactions, beside which others do not wait for long. From the
	// first to the last of them the workspace is Resetting and writes to it return
	// the error of Resetting. What ctx or the end of the process breaks off is
	// resumed by Resume, or by another call.
	ResetWorkspace(ctx context.Context, workspace int64, by Actor) error
	// DeleteWorkspace removes a workspace with all that it has. It and its keys are
	// gone with the first transaction; its rows follow as those of ResetWorkspace.
	DeleteWorkspace(ctx context.Context, workspace int64, by Actor) error
	// Resume ends what ResetWorkspace and DeleteWorkspace have begun.
	Resume(ctx context.Context) error

	// MakeKey adds a key, in the place of another if m says so. It returns
	// CodeTooManyKeys if more than MaxKeys keys of the workspace were live then;
	// of a rotation the error of CheckRotation; of m.Once those of Replay; and of
	// m.Holder that of CheckHolder, also if nothing else would be made.
	MakeKey(ctx context.Context, m KeyRequest) (CreatedKey, error)
	Keys(ctx context.Context, workspace int64) ([]Key, error) // revoked ones too, as Sorted
	// KeyPage returns a page of the keys of a workspace.
	KeyPage(ctx context.Context, workspace int64, p KeyPage) ([]Key, error)
	Key(ctx context.Context, id string) (Key, error)
	// UpdateKey keeps the name, the expiry and the revocation that edit gives a
	// key, for a holder as of a KeyRequest. The error of edit changes nothing. edit may
	// be called again.
	UpdateKey(ctx context.Context, id string, by Actor, holder string, edit func(holder, k *Key) error) (Key, error)
	// SetBan replaces the key's ban. One of the limiter leaves a ban that runs as it is: several
	// nodes may refuse one client at once, and an operator's ban holds.
	SetBan(ctx context.Context, b Ban, by Actor) error
	LiftBan(ctx context.Context, keyID string, by Actor) error

	// AccessState returns a number that is another one after each change of what LiveKeys
	// returns of a key that there was. Reading it is cheap.
	AccessState(ctx context.Context) (int64, error)
	// LiveKeys returns the keys with one of the ids or of the hashes that are not
	// revoked, in no order, and their workspaces. It is made for some hundreds.
	LiveKeys(ctx context.Context, ids []string, hashes []Hash) ([]Key, []Workspace, error)
	// BannedKeys returns the ids of the keys that are not revoked and whose bans run, in
	// the order of their ends.
	BannedKeys(ctx context.Context) ([]string, error)
	// KeyUses returns what those of the keys did that were used, by their ids, as
	// servers have saved it by usage.Store: some seconds late.
	KeyUses(ctx context.Context, keys []Key) (map[string]Use, error)
	// BusiestKeys returns at most limit keys that were used today and are not revoked,
	// of as many workspaces, those that used most of their quota of the day, in that
	// order.
	BusiestKeys(ctx context.Context, limit int) ([]Use, error)

	// Followed tells that the server goes by what was stored when AccessState was this.
	Followed(ctx context.Context, state int64) error
	// AwaitFollower returns true when the server on this database goes by every
	// change, or none runs; false if it has not within a second. A store
	// that many servers may use does not wait: they follow within a second.
	AwaitFollower(ctx context.Context) (bool, error)

	// Secret returns 32 random bytes made with the store, for signing cursors.
	Secret(ctx context.Context) ([]byte, error)

	// AuditPage returns the latest entries before the one with the id, or of all if
	// that is 0, the newest first.
	AuditPage(ctx context.Context, before int64, limit int) ([]AuditEntry, error)
	// Note adds an entry for what changed nothing here, such as a link that was
	// issued. The store says when it was.
	Note(ctx context.Context, e AuditEntry) error

	// UseLink uses a link up and adds the entry. It reports false, and adds
	// none, if the link was used before, in any process. Links that ended are
	// forgotten in time: who calls it refuses them first.
	UseLink(ctx context.Context, l Link, e AuditEntry) (first bool, err error)

	// FormAnswer returns what KeepFormAnswer kept as the answer to a form that was sent
	// to a console, or nil. It is forgotten as the receipts of requests are. The first
	// answer stays. The workspace of an operator's form is 0.
	FormAnswer(ctx context.Context, workspace int64, form string) ([]byte, error)
	KeepFormAnswer(ctx context.Context, workspace int64, form string, answer []byte) error

	// AddToken keeps a token of an operator's.
	AddToken(ctx context.Context, t Token, by Actor) error
	Tokens(ctx context.Context) ([]Token, error) // in the order of their creation
	// TokenOf returns CodeTokenNotFound unless there is a token with the hash,
	// which may have ended.
	TokenOf(ctx context.Context, h Hash) (Token, error)
	// RevokeToken returns CodeTokenNotFound unless there is one with the id. Again:
	// no error, the first instant stays.
	RevokeToken(ctx context.Context, id string, at time.Time, by Actor) (Token, error)
	// StartSession adds a session, and forgets those that ended.
	StartSession(ctx context.Context, s Session) error
	// Session returns CodeSessionNotFound if the session ended, by whatever.
	Session(ctx context.Context, hash [32]byte) (Session, error)
	EndSession(ctx context.Context, hash [32]byte) error
	EndSessions(ctx context.Context, keyID string) error // all of that key
}

// Contents are how much a workspace has of each kind.
type Contents struct{ Categories, Pets, Orders int64 }

// MaxKeys is how many live keys a workspace can have, and how many that expired
// and were not revoked: of more, those that expired first are revoked.
const MaxKeys = 100

// A Use is what a key did on all nodes.
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

// A KeyRequest is a key that is to be made.
type KeyRequest struct {
	Key      Key       // with an id and a hash that are new
	Replaces string    // the id of the key whose workspace, name, scopes, expiry and ban it takes over, or ""
	Until    time.Time // when the key that is replaced ends, unless it would sooner
	Holder   string    // the id of the key in whose name it is made, which must be valid then; "" is the operator
	// May is asked in the transaction: about the holder as it is then, nil for the
	// operator, and the key that is replaced, nil if there is none. It may be nil.
	May  func(holder, old *Key) error
	Once *petstore.Idempotency // nil unless it must happen once; of the workspace that Key names
	By   Actor
}

// A CreatedKey is a key that was made, by this request or by the same one before.
type CreatedKey struct {
	Key      Key    // as it is; without a request that did it before
	Body     []byte // its canonical form, as first answered
	Replayed bool
}

// A Token lets an operator use the operator's API.
type Token struct {
	ID        string // public: "op_" and 16 base62 characters
	Name      string
	Prefix    string // its first 8 characters, for display
	Hash      Hash
	CreatedAt time.Time
	ExpiresAt time.Time // every token ends
	RevokedAt time.Time // zero: not revoked
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

// A Session is somebody who is signed in to a console.
type Session struct {
	Hash    [32]byte // of its token
	KeyID   string   // "" of an operator's
	Started time.Time
	Until   time.Time
}

// MaxSessions is how many sessions a key can have. Of more the oldest ends.
const MaxSessions = 20

// A Link signs somebody in once.
type Link struct {
	Hash  [32]byte // of what makes it this link
	Until time.Time
}

// LinkGrace is how long a used link is remembered after its end, for nodes
// whose clocks are behind.
const LinkGrace = time.Hour

// An Actor says on whose behalf a store is changed, for the audit log:
// "cli", "console:KEYID", "operator", "limiter".
type Actor string

// An AuditEntry is a line of the audit log.
type AuditEntry struct {
	ID      int64     `json:"id"` // ascending
	At      time.Time `json:"at"` // in UTC
	Actor   Actor     `json:"actor"`
	Action  string    `json:"action"`           // "key.create", "workspace.set_plan", "ban.set", "operator.sign_in", …
	Subject string    `json:"subject"`          // the id or the name of what it was done to
	Detail  string    `json:"detail,omitempty"` // in words, without secrets
}
