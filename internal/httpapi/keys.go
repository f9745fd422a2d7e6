package httpapi

import (
	"net/http"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// keyRoutes returns the operations on the keys of the caller's workspace. access.Keyring says
// what the caller's key allows.
func (a *API) keyRoutes() []route {
	return []route{
		{at: "GET /keys", id: "listKeys", scope: access.Manage, handle: list(readKeyPage, a.keyPage, positionOfKey), query: pageOnly},
		{at: "POST /keys", id: "createKey", scope: access.Manage, handle: withNew(readNewKey, a.createKey), body: jsonBody},
		{at: "GET /keys/{keyId}", id: "getKey", scope: access.Manage, handle: a.getKey},
		{at: "PATCH /keys/{keyId}", id: "updateKey", scope: access.Manage, handle: withChange(readKeyPatch, a.updateKey), body: patchBody},
		{at: "DELETE /keys/{keyId}", id: "revokeKey", scope: access.Manage, handle: withCondition(a.revokeKey)},
		{at: "POST /keys/{keyId}/rotate", id: "rotateKey", scope: access.Manage, handle: withNew(readRotation, a.rotateKey), body: optionalBody},
	}
}

// ring returns the Keyring of the caller.
func (a *API) ring(x *exchange) access.Keyring {
	secret, _ := presentedKey(x.r.Header) // the key was verified before
	return access.Keyring{Store: a.o.Access, Now: a.o.Now, By: access.Actor(x.caller()), Caller: &x.entry.Key, Secret: secret}
}

// refreshKeys has this node use changed keys at once, if it uses keys; the others do so within a second.
func (x *exchange) refreshKeys(live *access.Directory[*ratelimit.Caller]) {
	if live == nil {
		return
	}
	if err := live.Refresh(x.ctx); err != nil {
		x.env.log.WarnContext(x.ctx, "keys could not be refreshed", "request_id", x.id, "err", err) // the directory will try again in a moment
	}
}

// readKeyPage returns the page to ask the store for. It is one key longer than the client's.
func readKeyPage(l *listRequest) (access.KeyPage, error) {
	after, err := l.position()
	return access.KeyPage{After: string(after), Limit: l.limit + 1}, err
}

func (a *API) keyPage(x *exchange, p access.KeyPage) ([]access.KeyView, error) {
	p.Unrevoked = true
	found, err := a.o.Access.KeyPage(x.ctx, x.workspace(), p)
	shown := make([]access.KeyView, len(found))
	for i := range found {
		shown[i] = found[i].View(a.o.Now())
	}
	return shown, err
}

func positionOfKey(k access.KeyView) position { return position(k.ID) }

func (a *API) getKey(x *exchange) error {
	one, err := a.ring(x).Key(x.ctx, x.pathID)
	return x.sendResource(one.View(a.o.Now()), err)
}

func (a *API) createKey(x *exchange, n access.NewKey, once *petstore.Idempotency) error {
	made, err := a.ring(x).Create(x.ctx, x.workspace(), n, once)
	return a.sendMadeKey(x, made, err)
}

func (a *API) rotateKey(x *exchange, r rotation, once *petstore.Idempotency) error {
	if !access.WellFormedID(x.pathID) {
		return access.NoKey(x.pathID)
	}
	made, err := a.ring(x).Rotate(x.ctx, x.pathID, r.Overlap, once)
	return a.sendMadeKey(x, made, err)
}

// sendMadeKey answers with a new key.
func (a *API) sendMadeKey(x *exchange, made access.IssuedKey, err error) error {
	if err != nil {
		return err
	}
	x.refreshKeys(a.o.Keys)
	x.set("Location", x.env.baseURL+"/keys/"+made.ID)
	return x.sendOnce(http.StatusCreated, petstore.TagOf(made.Body), made.WithSecret(), made.Replayed)
}

func (a *API) updateKey(x *exchange, p access.KeyPatch, on petstore.Condition) error {
	now, err := a.ring(x).Update(x.ctx, x.pathID, p, on)
	if err == nil {
		x.refreshKeys(a.o.Keys)
	}
	return x.sendChanged(now.View(a.o.Now()), err)
}

func (a *API) revokeKey(x *exchange, on petstore.Condition) error {
	err := a.ring(x).Revoke(x.ctx, x.pathID, on)
	if err == nil {
		x.refreshKeys(a.o.Keys)
	}
	return x.sendDone(err)
}

// readOnlyOfKey are the members of a key that clients may not set.
var readOnlyOfKey = []string{"id", "key", "prefix", "state", "createdAt", "rotatedTo", "bannedUntil"}

// scopes reads the names of scopes, each at most once.
func (f *form) scopes(m member) (all access.Scopes) {
	f.strings(m, func(pointer, name string) {
		switch one := access.ScopeOf(name); {
		case one == 0:
			f.add(pointer, petstore.InvalidEnum, "scopes may have read, write and manage, not %.40q.", name)
		case all.Has(one):
			f.add(pointer, petstore.InvalidFormat, "scopes has %s twice.", name)
		default:
			all |= one
		}
	})
	return all
}

// Readers of the bodies for keys.
var (
	readNewKey   = decode(access.NewKey{Scopes: access.Read | access.Write}, readOnlyOfKey...)
	readKeyPatch = decode(access.KeyPatch{}, append(readOnlyOfKey, "scopes")...)
	readRotation = decode(rotation{Overlap: 24 * time.Hour})
)

// A rotation is the body of rotateKey.
type rotation struct {
	Overlap time.Duration `json:"overlap,omitzero" most:"8760h"`
}
