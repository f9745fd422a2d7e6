package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"golang.org/x/text/unicode/norm"
)

// Backups are the scheduled backups of a server. Their methods return
// CodeBackupUnavailable if it makes none, or one is under way.
type Backups interface {
	Start(ctx context.Context) (Backup, error) // returns when it is made and verified
	List(ctx context.Context) ([]Backup, error)
}

// A Backup is one that was made.
type Backup struct {
	File      string    `json:"file"`
	CreatedAt time.Time `json:"createdAt"`
	Bytes     int64     `json:"bytes"`
}

// The administration is the operations of the operator's API.
type administration struct {
	store   access.Store
	keys    *access.Directory[*ratelimit.Caller]
	counts  operator.Counts
	backups Backups
	now     func() time.Time
}

func (a administration) paths() []path {
	const at = operator.Root
	return []path{
		{pattern: at + "/openapi.yaml", routes: []route{{method: "GET", handle: document("application/yaml", api.AdminYAML()), public: true}}},
		{pattern: at + "/workspaces", routes: []route{
			{method: "GET", id: "listWorkspaces", handle: a.listWorkspaces, query: []string{"limit", "cursor", "name"}},
			{method: "POST", id: "createWorkspace", handle: a.createWorkspace, body: jsonBody},
		}},
		{pattern: at + "/workspaces/{workspaceId}", param: "workspaceId", routes: []route{
			{method: "GET", id: "getWorkspace", handle: a.getWorkspace},
			{method: "PATCH", id: "renameWorkspace", handle: changing(a, workspaceID, readName, (*operator.Local).Rename), body: patchBody},
			{method: "DELETE", id: "deleteWorkspace", handle: a.removing((*operator.Local).Delete)},
		}},
		{pattern: at + "/workspaces/{workspaceId}/plan", param: "workspaceId", routes: []route{
			{method: "PUT", id: "setPlan", handle: changing(a, workspaceID, readPlan, (*operator.Local).SetPlan), body: jsonBody},
		}},
		{pattern: at + "/workspaces/{workspaceId}/reset", param: "workspaceId", routes: []route{
			{method: "POST", id: "resetWorkspace", handle: a.removing((*operator.Local).Reset)},
		}},
		{pattern: at + "/workspaces/{workspaceId}/keys", param: "workspaceId", routes: []route{
			{method: "GET", id: "listKeys", handle: a.listKeys, query: []string{"limit", "cursor"}},
			{method: "POST", id: "createKey", handle: a.createKey, body: jsonBody},
		}},
		{pattern: at + "/keys/{keyId}", param: "keyId", text: true, routes: []route{
			{method: "GET", id: "getKey", handle: a.getKey},
			{method: "PATCH", id: "updateKey", handle: changing(a, keyID, readKeyPatch, (*operator.Local).UpdateKey), body: patchBody},
			{method: "DELETE", id: "revokeKey", handle: a.changingKey((*operator.Local).RevokeKey)},
		}},
		{pattern: at + "/keys/{keyId}/rotate", param: "keyId", text: true, routes: []route{
			{method: "POST", id: "rotateKey", handle: a.rotateKey, body: jsonBody},
		}},
		{pattern: at + "/keys/{keyId}/ban", param: "keyId", text: true, routes: []route{
			{method: "PUT", id: "banKey", handle: changing(a, keyID, readBan, (*operator.Local).BanKey), body: jsonBody},
			{method: "DELETE", id: "unbanKey", handle: a.changingKey((*operator.Local).UnbanKey)},
		}},
		{pattern: at + "/audit", routes: []route{{method: "GET", id: "listAudit", handle: a.listAudit, query: []string{"limit", "cursor"}}}},
		{pattern: at + "/backups", routes: []route{
			{method: "GET", id: "listBackups", handle: a.listBackups},
			{method: "POST", id: "startBackup", handle: a.startBackup},
		}},
	}
}

// operator returns the operator whose token was sent.
func (a administration) operator(x *exchange) *operator.Local {
	_, secret, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	return &operator.Local{Store: a.store, Counts: a.counts, Now: a.now, By: access.Actor("token:" + x.operator.ID), Secret: strings.TrimSpace(secret)}
}

func workspaceID(x *exchange) int64 { return x.param }
func keyID(x *exchange) string      { return x.pathID }

// changing returns the handler that has the operator do something to what the path
// names, by what the body says, and answers with how it is then.
func changing[ID, T, R any](a administration, id func(*exchange) ID, read func(body []byte) (T, error), do func(*operator.Local, context.Context, ID, T) (R, error)) handler {
	return func(x *exchange) error {
		t, err := read(x.body)
		if err != nil {
			return err
		}
		now, err := do(a.operator(x), x.ctx, id(x), t)
		if err != nil {
			return err
		}
		return a.sendChanged(x, http.StatusOK, now)
	}
}

// changingKey is changing for what needs no body.
func (a administration) changingKey(do func(*operator.Local, context.Context, string) (operator.Key, error)) handler {
	return func(x *exchange) error {
		now, err := do(a.operator(x), x.ctx, x.pathID)
		if err != nil {
			return err
		}
		return a.sendChanged(x, http.StatusOK, now)
	}
}

// removing returns the handler that removes a workspace, or what it has.
func (a administration) removing(do func(*operator.Local, context.Context, int64) error) handler {
	return func(x *exchange) error {
		if err := do(a.operator(x), x.ctx, x.param); err != nil {
			return err
		}
		x.follow(a.keys)
		x.sendEmpty(http.StatusNoContent)
		return nil
	}
}

// sendChanged answers with what was changed, and has this node go by it.
func (a administration) sendChanged(x *exchange, status int, now any) error {
	x.follow(a.keys)
	return x.sendJSON(status, now)
}

// sendPart answers with a page of a list. link is to the next one, or "".
func sendPart[T any](x *exchange, items []T, link string) error {
	body, err := marshal(items)
	if err != nil {
		return err
	}
	return x.sendPage(link, link != "", petstore.TagOf(body), body, nil)
}

func (a administration) listWorkspaces(x *exchange) error {
	l, err := newListing(x)
	if err != nil {
		return err
	}
	name, named := l.query.one("name")
	page, err := l.page()
	if err != nil {
		return err
	}
	var names []string
	if named {
		names = []string{name, norm.NFC.String(name)} // as names are kept, but for old ones
	}
	all, err := a.operator(x).WorkspacePage(x.ctx, page.After, page.Limit, names...)
	if err != nil {
		return err
	}
	all, link := cutPage(l, all, func(w operator.Workspace) place { return numbered(w.ID) })
	return sendPart(x, all, link)
}

func (a administration) createWorkspace(x *exchange) error {
	n, err := readNewWorkspace(x.body)
	if err != nil {
		return err
	}
	w, err := a.operator(x).CreateWorkspace(x.ctx, n)
	if err != nil {
		return err
	}
	x.set("Location", operator.Root+"/workspaces/"+strconv.FormatInt(w.ID, 10))
	return a.sendChanged(x, http.StatusCreated, w)
}

func readNewWorkspace(body []byte) (operator.NewWorkspace, error) {
	var n operator.NewWorkspace
	var f form
	known := f.plan(&n.Plan)
	known["name"] = into(&n.Name, f.text)
	f.read(body, known, "name", "plan")
	return n, f.err(nil)
}

func readPlan(body []byte) (operator.Plan, error) {
	var p operator.Plan
	var f form
	f.read(body, f.plan(&p), "plan")
	return p, f.err(nil)
}

func (f *form) plan(p *operator.Plan) members {
	return members{
		"plan":      into(&p.Plan, func(m member) access.Plan { return access.Plan(f.text(m)) }),
		"perMinute": into(&p.PerMinute, f.integer),
		"perDay":    into(&p.PerDay, f.integer),
	}
}

func readName(body []byte) (string, error) {
	var name string
	var f form
	f.read(body, members{"name": into(&name, f.text)}, "name")
	return name, f.err(nil)
}

func (a administration) getWorkspace(x *exchange) error {
	detail, err := a.operator(x).Workspace(x.ctx, x.param)
	if err != nil {
		return err
	}
	return x.sendJSON(http.StatusOK, detail)
}

func (a administration) listKeys(x *exchange) error {
	w, err := a.store.WorkspaceByID(x.ctx, x.param)
	if err != nil {
		return err
	}
	l, after, err := placed(x)
	if err != nil {
		return err
	}
	keys, err := a.store.KeyPage(x.ctx, w.ID, access.KeyPage{After: string(after), Limit: l.limit + 1})
	if err != nil {
		return err
	}
	keys, link := cutPage(l, keys, func(k access.Key) place { return place(k.ID) })
	shown, err := a.operator(x).Used(x.ctx, keys)
	if err != nil {
		return err
	}
	return sendPart(x, shown, link)
}

func (a administration) createKey(x *exchange) error {
	once, asked, err := readOnce(x, readNewKey)
	if err != nil {
		return err
	}
	n := operator.NewKey{Name: asked.Name, Scopes: asked.Scopes.List()}
	if !asked.ExpiresAt.IsZero() {
		n.ExpiresAt = &asked.ExpiresAt
	}
	k, again, err := a.operator(x).CreateKeyOnce(x.ctx, x.param, n, once)
	if err != nil {
		return err
	}
	return a.sendMade(x, k, again)
}

func (a administration) rotateKey(x *exchange) error {
	once, overlap, err := readOnce(x, readOverlap)
	if err != nil {
		return err
	}
	k, again, err := a.operator(x).RotateKeyOnce(x.ctx, x.pathID, overlap, once)
	if err != nil {
		return err
	}
	return a.sendMade(x, k, again)
}

func (a administration) sendMade(x *exchange, k operator.Key, again bool) error {
	x.set("Location", operator.Root+"/keys/"+k.ID)
	x.setReplayed(again)
	return a.sendChanged(x, http.StatusCreated, k)
}

func (a administration) getKey(x *exchange) error {
	k, err := a.operator(x).Key(x.ctx, x.pathID)
	if err != nil {
		return err
	}
	return x.sendJSON(http.StatusOK, k)
}

func readBan(body []byte) (operator.NewBan, error) {
	var b operator.NewBan
	var f form
	f.read(body, members{
		"for":    into(&b.For, func(m member) time.Duration { return f.duration(m, operator.MaxBan) }),
		"reason": into(&b.Reason, f.text),
	}, "for", "reason")
	return b, f.err(nil)
}

// An auditLine is an entry of the audit log.
type auditLine struct {
	ID      int64        `json:"id"`
	At      time.Time    `json:"at"`
	Actor   access.Actor `json:"actor"`
	Action  string       `json:"action"`
	Subject string       `json:"subject"`
	Detail  string       `json:"detail,omitempty"`
}

func (a administration) listAudit(x *exchange) error {
	l, page, err := paged(x)
	if err != nil {
		return err
	}
	entries, err := a.store.AuditPage(x.ctx, page.After, page.Limit)
	if err != nil {
		return err
	}
	entries, link := cutPage(l, entries, func(e access.AuditEntry) place { return numbered(e.ID) })
	lines := make([]auditLine, len(entries))
	for i, e := range entries {
		lines[i] = auditLine(e)
		lines[i].At = e.At.UTC()
	}
	return sendPart(x, lines, link)
}

func (a administration) listBackups(x *exchange) error {
	all, err := a.backups.List(x.ctx)
	if err != nil {
		return err
	}
	return x.sendJSON(http.StatusOK, all)
}

func (a administration) startBackup(x *exchange) error {
	made, err := a.backups.Start(x.ctx)
	if err != nil {
		return err
	}
	note := access.AuditEntry{Actor: a.operator(x).By, Action: "backup.start", Subject: made.File, Detail: strconv.FormatInt(made.Bytes, 10) + " bytes"}
	if err := a.store.Note(x.ctx, note); err != nil {
		return err
	}
	return x.sendJSON(http.StatusCreated, made)
}
