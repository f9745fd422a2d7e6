package console

import (
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
)

func newWorkspace(v *visit) (form, error) {
	return form{
		Title: "Create a workspace", Lead: "A workspace has its own pets, orders, keys and plan.", Submit: "Create the workspace",
		Back:   link{Title: "Workspaces", URL: "/console/workspaces"},
		Fields: append([]field{{Name: "name", Label: "Name", Required: true, Max: access.MaxName}}, planFields(access.Free)...),
		send: func(in *input) error {
			n := operator.NewWorkspace{Name: strings.TrimSpace(in.text("name")), Plan: in.plan()}
			w, err := v.acting().CreateWorkspace(v.r.Context(), n)
			return v.changed(workspacePath(w.ID), "The workspace was created. It needs a key.", err)
		},
	}, nil
}

func renameWorkspace(v *visit) (form, error) {
	w, err := v.workspace()
	return form{
		Title: "Rename the workspace", Lead: "Its keys, orders and pets stay as they are.", Submit: "Rename",
		Back:   link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)},
		Fields: []field{{Name: "name", Label: "Name", Value: w.Name, Required: true, Max: access.MaxName}},
		send: func(in *input) error {
			_, err := v.acting().Rename(v.r.Context(), w.ID, strings.TrimSpace(in.text("name")))
			return v.changed(workspacePath(w.ID), "The workspace was renamed.", err)
		},
	}, err
}

func newWorkspaceKey(v *visit) (form, error) {
	w, err := v.workspace()
	return form{
		Title: "Create a key", Lead: "For the workspace " + access.Printable(w.Name) + ". It is shown once.", Submit: "Create the key",
		Back: link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)},
		Fields: []field{
			{Name: "name", Label: "Name", Required: true, Max: access.MaxName, Hint: "What uses it, such as: web shop, production."},
			scopeField("scopes", access.Read|access.Write|access.Manage),
			{Name: "expires", Label: "Expires", Kind: "select", Options: append([]option{{Value: "0", Label: "never"}}, lifetimes()...)},
		},
		send: func(in *input) error {
			n := operator.NewKey{Name: strings.TrimSpace(in.text("name")), Scopes: append([]string{}, v.r.PostForm["scopes"]...)}
			if life := in.hours("expires"); life > 0 {
				end := v.Now().Add(life)
				n.ExpiresAt = &end
			}
			k, err := v.acting().CreateKey(v.r.Context(), w.ID, n)
			return v.madeByOperator(k, workspacePath(w.ID), err)
		},
	}, err
}

// madeByOperator shows a new key of a workspace, this once, unless it failed.
func (v *visit) madeByOperator(k operator.Key, workspace string, err error) error {
	if err != nil {
		return err
	}
	return v.madeFor(newKeyPage(k.Key, link{Title: "To the workspace", URL: workspace}))
}

// operatorKey returns the key in the path, its facts, and the way back to its workspace.
func (v *visit) operatorKey() (access.Key, []fact, link, error) {
	k, err := v.Access.Key(v.r.Context(), v.id)
	if err != nil {
		return k, nil, link{}, err
	}
	w, err := v.Access.WorkspaceByID(v.r.Context(), k.WorkspaceID)
	if err != nil {
		return k, nil, link{}, err
	}
	facts, err := v.keyFacts(k)
	back := link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)}
	return k, append([]fact{{"Workspace", workspaceCell(w.ID, w.Name)}}, facts...), back, err
}

func operatorRotate(v *visit) (form, error) {
	k, facts, back, err := v.operatorKey()
	if err == nil {
		err = k.CheckRotation(v.Now())
	}
	f := rotateForm()
	f.Facts, f.Back = facts, back
	f.send = func(in *input) error {
		made, err := v.acting().RotateKey(v.r.Context(), k.ID, in.hours("overlap"))
		return v.madeByOperator(made, back.URL, err)
	}
	return f, err
}

func operatorRevoke(v *visit) (form, error) {
	k, facts, back, err := v.operatorKey()
	if err == nil && !k.RevokedAt.IsZero() {
		err = access.NoKey(k.ID)
	}
	return form{
		Title: "Revoke this key?", Lead: "Requests with it are refused within a second. This cannot be undone.", Submit: "Revoke the key", Danger: true,
		Back: back, Facts: facts,
		send: func(*input) error {
			_, err := v.acting().RevokeKey(v.r.Context(), k.ID)
			return v.changed(back.URL, "The key was revoked.", err)
		},
	}, err
}

func banKey(v *visit) (form, error) {
	k, facts, back, err := v.operatorKey()
	return form{
		Title: "Ban this key?", Lead: "Its requests are refused with 429 until the ban ends or is lifted.", Submit: "Ban the key", Danger: true, Back: back, Facts: facts,
		Fields: []field{
			{Name: "for", Label: "For", Kind: "select", Options: []option{
				{Value: "1", Label: "an hour"}, {Value: "24", Label: "a day"}, {Value: "168", Label: "7 days"}, {Value: "720", Label: "30 days"},
			}},
			{Name: "reason", Label: "Reason", Required: true, Max: operator.MaxReason, Hint: "Operators see it."},
		},
		send: func(in *input) error {
			ban := operator.NewBan{For: in.hours("for"), Reason: strings.TrimSpace(in.text("reason"))}
			_, err := v.acting().BanKey(v.r.Context(), k.ID, ban)
			return v.changed(back.URL, "The key is banned.", err)
		},
	}, err
}
