package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"golang.org/x/text/unicode/norm"
)

func (a *Admin) paths() []path {
	const at = operator.Root
	return []path{
		{pattern: at + "/openapi.yaml", routes: []route{{method: "GET", handle: document("application/yaml", api.AdminYAML()), public: true}}},
		{pattern: at + "/workspaces", routes: []route{
			{method: "GET", id: "listWorkspaces", handle: a.listWorkspaces, query: []string{"limit", "cursor", "name"}},
			{method: "POST", id: "createWorkspace", handle: a.createWorkspace, body: jsonBody},
		}},
		{pattern: at + "/workspaces/{workspaceId}", param: "workspaceId", routes: []route{
			{method: "GET", id: "getWorkspace", handle: a.on(a.getWorkspace)},
			{method: "PATCH", id: "renameWorkspace", handle: a.on(a.renameWorkspace), body: patchBody},
			{method: "DELETE", id: "deleteWorkspace", handle: a.on(a.deleteWorkspace)},
		}},
		{pattern: at + "/workspaces/{workspaceId}/plan", param: "workspaceId", routes: []route{
			{method: "PUT", id: "setPlan", handle: a.on(a.setPlan), body: jsonBody},
		}},
		{pattern: at + "/workspaces/{workspaceId}/reset", param: "workspaceId", routes: []route{
			{method: "POST", id: "resetWorkspace", handle: a.on(a.resetWorkspace)},
		}},
		{pattern: at + "/workspaces/{workspaceId}/keys", param: "workspaceId", routes: []route{
			{method: "GET", id: "listKeys", handle: a.on(a.listKeys), query: []string{"limit", "cursor"}},
			{method: "POST", id: "createKey", handle: a.on(a.createKey), body: jsonBody},
		}},
		{pattern: at + "/keys/{keyId}", param: "keyId", text: true, routes: []route{
			{method: "GET", id: "getKey", handle: a.getKey},
			{method: "PATCH", id: "updateKey", handle: a.updateKey, body: patchBody},
			{method: "DELETE", id: "revokeKey", handle: a.revokeKey},
		}},
		{pattern: at + "/keys/{keyId}/rotate", param: "keyId", text: true, routes: []route{
			{method: "POST", id: "rotateKey", handle: a.rotateKey, body: jsonBody},
		}},
		{pattern: at + "/keys/{keyId}/ban", param: "keyId", text: true, routes: []route{
			{method: "PUT", id: "banKey", handle: a.banKey, body: jsonBody},
			{method: "DELETE", id: "unbanKey", handle: a.unbanKey},
		}},
		{pattern: at + "/audit", routes: []route{{method: "GET", id: "listAudit", handle: a.listAudit, query: []string{"limit", "cursor"}}}},
		{pattern: at + "/backups", routes: []route{
			{method: "GET", id: "listBackups", handle: a.listBackups},
			{method: "POST", id: "startBackup", handle: a.startBackup},
		}},
	}
}

// on returns the handler for the workspace whose id is in the path.
func (a *Admin) on(do func(*exchange, access.Workspace) error) handler {
	return func(x *exchange) error {
		w, err := a.o.Access.WorkspaceByID(x.ctx, x.param)
		if err != nil {
			return err
		}
		return do(x, w)
	}
}

// changed answers with what was changed, and has this node go by it.
func changed[T any](a *Admin, x *exchange, status int) func(T, error) error {
	return func(now T, err error) error {
		if err != nil {
			return err
		}
		x.follow(a.o.Keys)
		return x.sendJSON(status, now)
	}
}

// sendPart answers with a page of a list. link is to the next one, or "".
func sendPart[T any](x *exchange, items []T, link string) error {
	body, err := marshal(items)
	if err != nil {
		return err
	}
	return x.sendPage(link, petstore.TagOf(body), body, nil)
}

func (a *Admin) listWorkspaces(x *exchange) error {
	l, err := newListing(x)
	if err != nil {
		return err
	}
	name, named := l.query.one("name")
	composed := norm.NFC.String(name) // as names are kept, but for old ones
	page, err := l.page()
	if err != nil {
		return err
	}
	all, err := a.operator(x).Workspaces(x.ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(w operator.Workspace) bool {
		return w.ID <= page.After || named && w.Name != name && w.Name != composed
	})
	slices.SortFunc(all, func(a, b operator.Workspace) int { return cmp.Compare(a.ID, b.ID) })
	all, link := cutPage(l, all, func(w operator.Workspace) int64 { return w.ID })
	return sendPart(x, all, link)
}

func (a *Admin) createWorkspace(x *exchange) error {
	var n operator.NewWorkspace
	var f form
	err := f.read(x.body, func(m member) bool {
		if m.name == "name" {
			n.Name = f.text(m)
			return true
		}
		return f.plan(m, &n.Plan)
	})
	if err != nil {
		return err
	}
	f.require("name", "plan")
	if err := f.err(nil); err != nil {
		return err
	}
	w, err := a.operator(x).CreateWorkspace(x.ctx, n)
	if err != nil {
		return err
	}
	x.set("Location", operator.Root+"/workspaces/"+strconv.FormatInt(w.ID, 10))
	return changed[operator.Workspace](a, x, http.StatusCreated)(w, nil)
}

// plan reads a member of a plan, and reports whether it is one.
func (f *form) plan(m member, p *operator.Plan) bool {
	switch m.name {
	case "plan":
		p.Plan = access.Plan(f.text(m))
	case "perMinute":
		p.PerMinute = f.integer(m)
	case "perDay":
		p.PerDay = f.integer(m)
	default:
		return false
	}
	return true
}

func (a *Admin) getWorkspace(x *exchange, w access.Workspace) error {
	detail, err := a.operator(x).Workspace(x.ctx, w.ID)
	if err != nil {
		return err
	}
	return x.sendJSON(http.StatusOK, detail)
}

func (a *Admin) renameWorkspace(x *exchange, w access.Workspace) error {
	var name string
	var f form
	err := f.read(x.body, func(m member) bool {
		if m.name != "name" {
			return false
		}
		name = f.text(m)
		return true
	})
	if err != nil {
		return err
	}
	f.require("name")
	if err := f.err(nil); err != nil {
		return err
	}
	return changed[operator.Workspace](a, x, http.StatusOK)(a.operator(x).Rename(x.ctx, w.ID, name))
}

func (a *Admin) setPlan(x *exchange, w access.Workspace) error {
	var p operator.Plan
	var f form
	if err := f.read(x.body, func(m member) bool { return f.plan(m, &p) }); err != nil {
		return err
	}
	f.require("plan")
	if err := f.err(nil); err != nil {
		return err
	}
	return changed[operator.Workspace](a, x, http.StatusOK)(a.operator(x).SetPlan(x.ctx, w.ID, p))
}

func (a *Admin) resetWorkspace(x *exchange, w access.Workspace) error {
	return a.removed(x, a.operator(x).Reset(x.ctx, w.ID))
}

func (a *Admin) deleteWorkspace(x *exchange, w access.Workspace) error {
	return a.removed(x, a.operator(x).Delete(x.ctx, w.ID))
}

func (a *Admin) removed(x *exchange, err error) error {
	if err != nil {
		return err
	}
	x.follow(a.o.Keys)
	x.sendEmpty(http.StatusNoContent)
	return nil
}

func (a *Admin) listKeys(x *exchange, w access.Workspace) error {
	l, err := newListing(x)
	if err != nil {
		return err
	}
	after, err := l.place()
	if err != nil {
		return err
	}
	keys, err := a.o.Access.KeyPage(x.ctx, w.ID, access.KeyPage{After: after, Limit: l.limit + 1})
	if err != nil {
		return err
	}
	keys, link := cutTexts(l, keys, func(k access.Key) string { return k.ID })
	shown, err := a.operator(x).Used(x.ctx, keys)
	if err != nil {
		return err
	}
	return sendPart(x, shown, link)
}

func (a *Admin) createKey(x *exchange, w access.Workspace) error {
	once, err := onceBy(x, x.operator.ID)
	if err != nil {
		return err
	}
	asked, err := readNewKey(x.body)
	if err != nil {
		return err
	}
	n := operator.NewKey{Name: asked.Name, Scopes: asked.Scopes.List()}
	if !asked.ExpiresAt.IsZero() {
		n.ExpiresAt = &asked.ExpiresAt
	}
	return a.sendMadeKey(x)(a.operator(x).CreateKeyOnce(x.ctx, w.ID, n, once))
}

func (a *Admin) rotateKey(x *exchange) error {
	once, err := onceBy(x, x.operator.ID)
	if err != nil {
		return err
	}
	overlap, err := readOverlap(x.body)
	if err != nil {
		return err
	}
	return a.sendMadeKey(x)(a.operator(x).RotateKeyOnce(x.ctx, x.pathID, overlap, once))
}

func (a *Admin) sendMadeKey(x *exchange) func(operator.Key, bool, error) error {
	return func(k operator.Key, again bool, err error) error {
		if err != nil {
			return err
		}
		x.set("Location", operator.Root+"/keys/"+k.ID)
		if again {
			x.set("Idempotency-Replayed", "true")
		}
		return changed[operator.Key](a, x, http.StatusCreated)(k, nil)
	}
}

func (a *Admin) getKey(x *exchange) error {
	k, err := a.operator(x).Key(x.ctx, x.pathID)
	if err != nil {
		return err
	}
	return x.sendJSON(http.StatusOK, k)
}

func (a *Admin) updateKey(x *exchange) error {
	p, err := readKeyPatch(x.body)
	if err != nil {
		return err
	}
	return changed[operator.Key](a, x, http.StatusOK)(a.operator(x).UpdateKey(x.ctx, x.pathID, p))
}

func (a *Admin) revokeKey(x *exchange) error {
	return changed[operator.Key](a, x, http.StatusOK)(a.operator(x).RevokeKey(x.ctx, x.pathID))
}

func (a *Admin) banKey(x *exchange) error {
	var b operator.NewBan
	var f form
	err := f.read(x.body, func(m member) bool {
		switch m.name {
		case "for":
			b.For = f.duration(m, operator.MaxBan)
		case "reason":
			b.Reason = f.text(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return err
	}
	f.require("for", "reason")
	if err := f.err(nil); err != nil {
		return err
	}
	return changed[operator.Key](a, x, http.StatusOK)(a.operator(x).BanKey(x.ctx, x.pathID, b))
}

func (a *Admin) unbanKey(x *exchange) error {
	return changed[operator.Key](a, x, http.StatusOK)(a.operator(x).UnbanKey(x.ctx, x.pathID))
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

func (a *Admin) listAudit(x *exchange) error {
	l, err := newListing(x)
	if err != nil {
		return err
	}
	page, err := l.page()
	if err != nil {
		return err
	}
	entries, err := a.o.Access.AuditPage(x.ctx, page.After, page.Limit)
	if err != nil {
		return err
	}
	entries, link := cutPage(l, entries, func(e access.AuditEntry) int64 { return e.ID })
	lines := make([]auditLine, len(entries))
	for i, e := range entries {
		lines[i] = auditLine(e)
		lines[i].At = e.At.UTC()
	}
	return sendPart(x, lines, link)
}

func (a *Admin) listBackups(x *exchange) error {
	all, err := a.o.Backups.List(x.ctx)
	if err != nil {
		return err
	}
	return x.sendJSON(http.StatusOK, all)
}

func (a *Admin) startBackup(x *exchange) error {
	made, err := a.o.Backups.Start(x.ctx)
	if err != nil {
		return err
	}
	note := access.AuditEntry{Actor: a.operator(x).By, Action: "backup.start", Subject: made.File, Detail: strconv.FormatInt(made.Bytes, 10) + " bytes"}
	if err := a.o.Access.Note(x.ctx, note); err != nil {
		return err
	}
	return x.sendJSON(http.StatusCreated, made)
}
