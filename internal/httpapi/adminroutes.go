package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"golang.org/x/text/unicode/norm"
)

// Backups are the scheduled backups of a server. Their methods return
// CodeBackupUnavailable if the server makes no backups, or is making one now.
type Backups interface {
	Start(ctx context.Context) (Backup, error) // returns when it is made and verified
	List(ctx context.Context) ([]Backup, error)
}

// A Backup describes a backup that was made.
type Backup struct {
	File      string    `json:"file"`
	CreatedAt time.Time `json:"createdAt"`
	Bytes     int64     `json:"bytes"`
}

func (a *Admin) routes() []route {
	const root, workspaces = operator.Root, operator.Root + "/workspaces"
	const workspace, key = workspaces + "/{workspaceId}", root + "/keys/{keyId}"
	keys := list(readKeyPage, a.keys, func(k operator.Key) position { return position(k.ID) })
	audit := list((*listRequest).pageQuery, a.audit, func(e access.AuditEntry) position { return numbered(e.ID) })
	all := list(readWorkspaceQuery, a.workspaces, func(w access.Workspace) position { return numbered(w.ID) })
	return []route{
		{at: "GET " + root + "/openapi.yaml", handle: document("application/yaml", api.AdminYAML()), public: true},
		{at: "GET " + workspaces, id: "listWorkspaces", handle: all, query: []string{"limit", "cursor", "name"}},
		{at: "POST " + workspaces, id: "createWorkspace", handle: withBody(decode(operator.NewWorkspace{}), a.createWorkspace), body: jsonBody},
		{at: "GET " + workspace, id: "getWorkspace", handle: a.getWorkspace},
		{at: "PATCH " + workspace, id: "renameWorkspace", handle: changing(a, workspaceID, decode(newName{}), rename), body: patchBody},
		{at: "DELETE " + workspace, id: "deleteWorkspace", handle: a.removing((*operator.Local).Delete)},
		{at: "PUT " + workspace + "/plan", id: "setPlan", body: jsonBody,
			handle: changing(a, workspaceID, decode(operator.Plan{}), (*operator.Local).SetPlan)},
		{at: "POST " + workspace + "/reset", id: "resetWorkspace", handle: a.removing((*operator.Local).Reset)},
		{at: "GET " + workspace + "/keys", id: "listKeys", handle: keys, query: pageOnly},
		{at: "POST " + workspace + "/keys", id: "createKey", body: jsonBody,
			handle: making(a, workspaceID, readNewKey, (*operator.Local).CreateKey)},
		{at: "GET " + key, id: "getKey", handle: a.ofKey((*operator.Local).Key)},
		{at: "PATCH " + key, id: "updateKey", handle: changing(a, keyID, readKeyPatch, (*operator.Local).UpdateKey), body: patchBody},
		{at: "DELETE " + key, id: "revokeKey", handle: a.ofKey((*operator.Local).RevokeKey)},
		{at: "POST " + key + "/rotate", id: "rotateKey", handle: making(a, keyID, readRotation, rotate), body: optionalBody},
		{at: "PUT " + key + "/ban", id: "banKey", body: jsonBody,
			handle: changing(a, keyID, decode(operator.NewBan{}), (*operator.Local).BanKey)},
		{at: "DELETE " + key + "/ban", id: "unbanKey", handle: a.ofKey((*operator.Local).UnbanKey)},
		{at: "GET " + root + "/audit", id: "listAudit", handle: audit, query: pageOnly},
		{at: "GET " + root + "/backups", id: "listBackups", handle: a.listBackups},
		{at: "POST " + root + "/backups", id: "startBackup", handle: a.startBackup},
	}
}

// operator returns an operator.Local that acts for the token that was sent, or as o.As.
func (a *Admin) operator(x *exchange) *operator.Local {
	op := &operator.Local{Store: a.o.Access, Counts: a.o.Counts, Now: a.o.Now, By: a.o.As}
	if x.operator != nil {
		_, secret, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
		op.By, op.Secret = access.Actor("token:"+x.operator.ID), strings.TrimSpace(secret)
	}
	return op
}

func workspaceID(x *exchange) int64 { return x.param }
func keyID(x *exchange) string      { return x.pathID }

// changing returns a handler that reads the body, calls do with it and the id of the
// path, and answers with the result.
func changing[ID, T, R any](a *Admin, id func(*exchange) ID, read reader[T], do func(*operator.Local, context.Context, ID, T) (R, error)) handler {
	return withBody(read, func(x *exchange, t T) error {
		return x.sendFound(do(a.operator(x), x.ctx, id(x), t))
	})
}

// ofKey returns a handler that calls do with the id of the path, and answers with the result.
func (a *Admin) ofKey(do func(*operator.Local, context.Context, string) (operator.Key, error)) handler {
	return func(x *exchange) error {
		return x.sendFound(do(a.operator(x), x.ctx, x.pathID))
	}
}

// removing returns the handler that removes a workspace, or its contents.
func (a *Admin) removing(do func(*operator.Local, context.Context, int64) error) handler {
	return func(x *exchange) error {
		return x.sendDone(do(a.operator(x), x.ctx, x.param))
	}
}

// A workspaceQuery asks for a page of the workspaces with one of the names, or of all.
type workspaceQuery struct {
	petstore.Page
	names []string
}

func readWorkspaceQuery(l *listRequest) (q workspaceQuery, err error) {
	if name, named := l.query.one("name"); named {
		q.names = []string{norm.NFC.String(name)}
	}
	q.Page, err = l.pageQuery()
	return q, err
}

func (a *Admin) workspaces(x *exchange, q workspaceQuery) ([]access.Workspace, error) {
	return a.o.Access.WorkspacePage(x.ctx, q.After, q.Limit, q.names...)
}

func (a *Admin) createWorkspace(x *exchange, n operator.NewWorkspace) error {
	w, err := a.operator(x).CreateWorkspace(x.ctx, n)
	if err != nil {
		return err
	}
	x.set("Location", operator.Root+"/workspaces/"+decimal(w.ID))
	return x.sendJSON(http.StatusCreated, w)
}

// A newName is the body of renameWorkspace.
type newName struct {
	Name string `json:"name"`
}

func rename(o *operator.Local, ctx context.Context, id int64, to newName) (access.Workspace, error) {
	return o.Rename(ctx, id, to.Name)
}

func (a *Admin) getWorkspace(x *exchange) error {
	return x.sendFound(a.operator(x).Workspace(x.ctx, x.param))
}

func (a *Admin) keys(x *exchange, p access.KeyPage) ([]operator.Key, error) {
	w, err := a.o.Access.WorkspaceByID(x.ctx, x.param)
	if err != nil {
		return nil, err
	}
	found, err := a.o.Access.KeyPage(x.ctx, w.ID, p)
	if err != nil {
		return nil, err
	}
	return a.operator(x).WithUse(x.ctx, found)
}

// making returns a handler like that of changing, for an operation that creates a key.
func making[ID, T any](
	a *Admin, id func(*exchange) ID, read reader[T], do func(*operator.Local, context.Context, ID, T) (operator.Key, error),
) handler {
	return withNew(read, func(x *exchange, t T, once *petstore.Idempotency) error {
		op := a.operator(x)
		op.Once = once
		k, err := do(op, x.ctx, id(x), t)
		if err != nil {
			return err
		}
		x.set("Location", operator.Root+"/keys/"+k.ID)
		x.setReplayed(k.Replayed)
		return x.sendJSON(http.StatusCreated, k)
	})
}

func rotate(o *operator.Local, ctx context.Context, id string, r rotation) (operator.Key, error) {
	return o.RotateKey(ctx, id, r.Overlap)
}

func (a *Admin) audit(x *exchange, p petstore.Page) ([]access.AuditEntry, error) {
	return a.o.Access.AuditPage(x.ctx, 0, p.After, p.Limit)
}

func (a *Admin) listBackups(x *exchange) error {
	return x.sendFound(a.o.Backups.List(x.ctx))
}

func (a *Admin) startBackup(x *exchange) error {
	made, err := a.o.Backups.Start(x.ctx)
	if err != nil {
		return err
	}
	note := access.AuditEntry{Actor: a.operator(x).By, Action: "backup.start", Subject: made.File, Detail: decimal(made.Bytes) + " bytes"}
	if err := a.o.Access.Note(x.ctx, note); err != nil {
		return err
	}
	return x.sendJSON(http.StatusCreated, made)
}
