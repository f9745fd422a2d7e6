package admin

import (
	"net/http"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/portal/page"
)

func newWorkspace(v *visit) (page.Form, error) {
	return page.Form{
		Title: "Create a workspace", Lead: "A workspace has its own pets, orders, keys and plan.", Submit: "Create the workspace",
		Back:   page.Link{Title: "Workspaces", URL: "/console/workspaces"},
		Fields: append([]page.Field{{Name: "name", Label: "Name", Required: true, Max: access.MaxName}}, planFields(access.Free)...),
		Send: func(in *page.Input) error {
			plan, err := planOf(in)
			if err != nil {
				return err
			}
			n := operator.NewWorkspace{Name: strings.TrimSpace(in.Text("name")), Plan: plan}
			w, err := v.acting().CreateWorkspace(v.R.Context(), n)
			return v.ThenRefresh(workspacePath(w.ID)+"/owner", "The workspace was created.", err)
		},
	}, nil
}

func renameWorkspace(v *visit) (page.Form, error) {
	w, err := workspaceInPath(v)
	return page.Form{
		Title: "Rename the workspace", Lead: "Its keys, orders and pets stay as they are.", Submit: "Rename",
		Back:   page.Link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)},
		Fields: []page.Field{{Name: "name", Label: "Name", Value: w.Name, Required: true, Max: access.MaxName}},
		Send: func(in *page.Input) error {
			_, err := v.acting().Rename(v.R.Context(), w.ID, strings.TrimSpace(in.Text("name")))
			return v.ThenRefresh(workspacePath(w.ID), "The workspace was renamed.", err)
		},
	}, err
}

func newWorkspaceKey(v *visit) (page.Form, error) {
	w, err := workspaceInPath(v)
	return page.Form{
		Title: "Create a key", Lead: "For the workspace " + access.Printable(w.Name) + ". It is shown once.", Submit: "Create the key",
		Back: page.Link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)},
		Fields: []page.Field{
			{Name: "name", Label: "Name", Required: true, Max: access.MaxName, Hint: "What uses it, such as: web shop, production."},
			page.ScopeField("scopes", access.Read|access.Write|access.Manage),
			{Name: "expires", Label: "Expires", Kind: "select", Options: append([]page.Option{{Value: "0", Label: "never"}}, page.Lifetimes()...)},
		},
		Send: func(in *page.Input) error {
			n := operator.NewKey{Name: strings.TrimSpace(in.Text("name")), Scopes: append([]string{}, v.R.PostForm["scopes"]...)}
			if life := in.Hours("expires"); life > 0 {
				end := v.Now().Add(life)
				n.ExpiresAt = &end
			}
			k, _, err := v.acting().CreateKeyOnce(v.R.Context(), w.ID, n, v.OnceHere())
			return showMade(v, k, workspacePath(w.ID), err)
		},
	}, err
}

// showMade shows a new key of a workspace, this once, unless it failed.
func showMade(v *visit, k operator.Key, workspace string, err error) error {
	if err != nil {
		return err
	}
	scopes, _ := access.ParseScopes(strings.Join(k.Scopes, ",")) // it was made with them
	return page.ShowKey(v.Visit, "The new key", k.Key, v.public, scopes, page.Link{Title: "To the workspace", URL: workspace})
}

// ownerLife is how long a link for an owner holds.
const ownerLife = 7 * 24 * time.Hour

// letOwnerIn makes a link for the owner of a workspace.
func letOwnerIn(v *visit) (page.Form, error) {
	w, err := workspaceInPath(v)
	name := access.Printable(w.Name)
	return page.Form{
		Title: "Let the owner in", Submit: "Create the link", Back: page.Link{Title: name, URL: workspacePath(w.ID)},
		Lead: "A link to send to the owner of " + name + ". It works once, within 7 days: who opens it gets a key with the scopes read, write and manage, and is signed in to the console of the workspace.",
		Send: func(*page.Input) error {
			until := v.Now().Add(ownerLife)
			made := access.AuditEntry{Actor: actor, Action: "workspace.link", Subject: w.Name, Detail: "a link for the owner, until " + page.InWords(until)}
			if err := v.Access.Note(v.R.Context(), made); err != nil {
				return err
			}
			return page.ShowSecret(v.Visit, page.Secret{
				Title: "A link for the owner of " + name, Lead: "Send it to the owner. It works once, within 7 days, for whoever opens it first. It is not stored.",
				Secret: v.public + v.site.OwnerPath(w.ID, until), Next: page.Link{Title: "To the workspace", URL: workspacePath(w.ID)},
			})
		},
	}, err
}

// keyInPath returns the key in the path, its facts, and the way back to its workspace.
func keyInPath(v *visit) (access.Key, []page.Fact, page.Link, error) {
	k, err := v.Access.Key(v.R.Context(), v.ID)
	if err != nil {
		return k, nil, page.Link{}, err
	}
	w, err := v.Access.WorkspaceByID(v.R.Context(), k.WorkspaceID)
	if err != nil {
		return k, nil, page.Link{}, err
	}
	facts, err := page.KeyFacts(v.Visit, k)
	back := page.Link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)}
	return k, append([]page.Fact{{Title: "Workspace", Cell: workspaceCell(w.ID, w.Name)}}, facts...), back, err
}

func rotateKey(v *visit) (page.Form, error) {
	k, facts, back, err := keyInPath(v)
	if err == nil && v.R.Method != http.MethodPost {
		err = k.CheckRotation(v.Now())
	}
	f := page.RotateForm()
	f.Facts, f.Back = facts, back
	f.Send = func(in *page.Input) error {
		made, _, err := v.acting().RotateKeyOnce(v.R.Context(), k.ID, in.Hours("overlap"), v.OnceHere())
		return showMade(v, made, back.URL, err)
	}
	return f, err
}

func revokeKey(v *visit) (page.Form, error) {
	k, facts, back, err := keyInPath(v)
	if err == nil && !k.RevokedAt.IsZero() {
		err = access.NoKey(k.ID)
	}
	return page.Form{
		Title: "Revoke this key?", Lead: "Requests with it are refused within a second. This cannot be undone.", Submit: "Revoke the key", Danger: true,
		Back: back, Facts: facts,
		Send: func(*page.Input) error {
			_, err := v.acting().RevokeKey(v.R.Context(), k.ID)
			return v.ThenRefresh(back.URL, "The key was revoked.", err)
		},
	}, err
}

func banKey(v *visit) (page.Form, error) {
	k, facts, back, err := keyInPath(v)
	return page.Form{
		Title: "Ban this key?", Lead: "Its requests are refused with 429 until the ban ends or is lifted.", Submit: "Ban the key", Danger: true, Back: back, Facts: facts,
		Fields: []page.Field{
			{Name: "for", Label: "For", Kind: "select", Options: []page.Option{
				{Value: "1", Label: "an hour"}, {Value: "24", Label: "a day"}, {Value: "168", Label: "7 days"}, {Value: "720", Label: "30 days"},
			}},
			{Name: "reason", Label: "Reason", Required: true, Max: operator.MaxReason, Hint: "Operators see it."},
		},
		Send: func(in *page.Input) error {
			ban := operator.NewBan{For: in.Hours("for"), Reason: strings.TrimSpace(in.Text("reason"))}
			_, err := v.acting().BanKey(v.R.Context(), k.ID, ban)
			return v.ThenRefresh(back.URL, "The key is banned.", err)
		},
	}, err
}
