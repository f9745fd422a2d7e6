package console

import (
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
)

func newWorkspaceForm() form {
	return form{
		Title: "Create a workspace", Lead: "A shop of its own, with its catalogue, orders and keys.", Submit: "Create the workspace",
		Back:   link{Title: "Workspaces", URL: "/console/workspaces"},
		Fields: append([]field{{Name: "name", Label: "Name", Required: true, Max: access.MaxName}}, planFields(access.Free)...),
	}
}

func newWorkspace(v *visit) error { return v.show(newWorkspaceForm()) }

func createWorkspace(v *visit) error {
	f, in := newWorkspaceForm(), v.input()
	n := operator.NewWorkspace{Name: strings.TrimSpace(in.text("name")), Plan: in.plan()}
	if len(in.faults) > 0 {
		return v.again(f, in)
	}
	w, err := v.acting().CreateWorkspace(v.r.Context(), n)
	if err != nil {
		return v.retry(f, in, err)
	}
	v.follow()
	return v.done(workspacePath(w.ID), "The workspace was created. It needs a key.")
}

func (v *visit) nameForm() (form, operator.Detail, error) {
	w, err := v.workspace()
	return form{
		Title: "Rename the workspace", Lead: "Its keys, orders and pets stay as they are.", Submit: "Rename",
		Back:   link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)},
		Fields: []field{{Name: "name", Label: "Name", Value: w.Name, Required: true, Max: access.MaxName}},
	}, w, err
}

func showName(v *visit) error {
	f, _, err := v.nameForm()
	return v.ask(f, err)
}

func saveName(v *visit) error {
	f, w, err := v.nameForm()
	if err != nil {
		return err
	}
	in := v.input()
	if _, err := v.acting().Rename(v.r.Context(), w.ID, strings.TrimSpace(in.text("name"))); err != nil {
		return v.retry(f, in, err)
	}
	v.follow()
	return v.done(workspacePath(w.ID), "The workspace was renamed.")
}

func (v *visit) workspaceKeyForm() (form, operator.Detail, error) {
	w, err := v.workspace()
	scopes := field{Name: "scopes", Label: "Scopes", Kind: "checks"}
	for _, s := range (access.Read | access.Write | access.Manage).List() {
		scopes.Options = append(scopes.Options, option{Value: s, Label: scopeLabel(s), Chosen: s != "manage"})
	}
	return form{
		Title: "Create a key", Lead: "For the workspace " + access.Printable(w.Name) + ". It is shown once.", Submit: "Create the key",
		Back: link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)},
		Fields: []field{
			{Name: "name", Label: "Name", Required: true, Max: access.MaxName, Hint: "What uses it, such as: web shop, production."},
			scopes,
			{Name: "expires", Label: "Expires", Kind: "select", Options: append([]option{{Value: "0", Label: "never"}}, lifetimes()...)},
		},
	}, w, err
}

func newWorkspaceKey(v *visit) error {
	f, _, err := v.workspaceKeyForm()
	return v.ask(f, err)
}

func createWorkspaceKey(v *visit) error {
	f, w, err := v.workspaceKeyForm()
	if err != nil {
		return err
	}
	in := v.input()
	n := operator.NewKey{Name: strings.TrimSpace(in.text("name")), Scopes: append([]string{}, v.r.PostForm["scopes"]...)}
	hours, ok := offered(f.Fields[2], in)
	if !ok {
		in.faults["expires"] = "Choose one of these."
		return v.again(f, in)
	}
	if hours > 0 {
		end := v.Now().Add(time.Duration(hours) * time.Hour)
		n.ExpiresAt = &end
	}
	k, err := v.acting().CreateKey(v.r.Context(), w.ID, n)
	if err != nil {
		return v.retry(f, in, err)
	}
	return v.madeFor(newKeyPage(k.Key, link{Title: "To the workspace", URL: workspacePath(w.ID)}))
}

// operatorKey returns the key in the path, its facts, and the way back to its workspace.
func (v *visit) operatorKey() (access.Key, []fact, link, error) {
	k, err := v.Access.Key(v.r.Context(), v.id)
	if err != nil {
		return k, nil, link{}, err
	}
	w, err := v.Access.WorkspaceByID(v.r.Context(), k.WorkspaceID)
	back := link{Title: access.Printable(w.Name), URL: workspacePath(w.ID)}
	return k, append([]fact{{"Workspace", workspaceCell(w.ID, w.Name)}}, keyFacts(k)...), back, err
}

func operatorRotateForm(v *visit) (form, error) {
	k, facts, back, err := v.operatorKey()
	if err == nil {
		err = k.CheckRotation(v.Now())
	}
	f := rotateForm(k)
	f.Facts, f.Back = facts, back
	return f, err
}

func askOperatorRotate(v *visit) error { return v.ask(operatorRotateForm(v)) }

func operatorRotate(v *visit) error {
	f, err := operatorRotateForm(v)
	if err != nil {
		return err
	}
	in := v.input()
	hours, ok := offered(f.Fields[0], in)
	if !ok {
		in.faults["overlap"] = "Choose one of these."
		return v.again(f, in)
	}
	k, err := v.acting().RotateKey(v.r.Context(), v.id, time.Duration(hours)*time.Hour)
	if err != nil {
		return v.retry(f, in, err)
	}
	return v.madeFor(newKeyPage(k.Key, link{Title: "To the workspace", URL: f.Back.URL}))
}

func operatorRevokeForm(v *visit) (form, error) {
	k, facts, back, err := v.operatorKey()
	if err == nil && !k.RevokedAt.IsZero() {
		err = access.NoKey(k.ID)
	}
	return form{
		Title: "Revoke this key?", Lead: "Requests with it are refused within a second. This cannot be undone.", Submit: "Revoke the key", Danger: true,
		Back: back, Facts: facts,
	}, err
}

func askOperatorRevoke(v *visit) error { return v.ask(operatorRevokeForm(v)) }

func operatorRevoke(v *visit) error {
	f, err := operatorRevokeForm(v)
	if err != nil {
		return err
	}
	if _, err := v.acting().RevokeKey(v.r.Context(), v.id); err != nil {
		return err
	}
	v.follow()
	return v.done(f.Back.URL, "The key was revoked.")
}

func banForm(v *visit) (form, error) {
	_, facts, back, err := v.operatorKey()
	hours := []option{}
	for _, h := range []int{1, 24, 7 * 24, 30 * 24} {
		hours = append(hours, option{Value: strconv.Itoa(h), Label: map[int]string{1: "an hour", 24: "a day", 168: "7 days", 720: "30 days"}[h]})
	}
	return form{
		Title: "Ban this key?", Lead: "Its requests are refused with 429 until the ban ends or is lifted.", Submit: "Ban the key", Danger: true, Back: back, Facts: facts,
		Fields: []field{
			{Name: "for", Label: "For", Kind: "select", Options: hours},
			{Name: "reason", Label: "Reason", Required: true, Max: operator.MaxReason, Hint: "Operators see it."},
		},
	}, err
}

func askBan(v *visit) error { return v.ask(banForm(v)) }

func banKey(v *visit) error {
	f, err := banForm(v)
	if err != nil {
		return err
	}
	in := v.input()
	hours, ok := offered(f.Fields[0], in)
	if !ok {
		in.faults["for"] = "Choose one of these."
		return v.again(f, in)
	}
	if _, err := v.acting().BanKey(v.r.Context(), v.id, operator.NewBan{For: time.Duration(hours) * time.Hour, Reason: strings.TrimSpace(in.text("reason"))}); err != nil {
		return v.retry(f, in, err)
	}
	v.follow()
	return v.done(f.Back.URL, "The key is banned.")
}
