package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/ratelimit"
)

// Why a key signs nobody in.
const (
	errRevoked page.Notice = "The key that you signed in with is no longer valid: it was revoked, or its workspace is gone."
	errExpired page.Notice = "The key that you signed in with has expired."
	errNoRead  page.Notice = "This key cannot read. The console needs a key with the scope read."
)

// entryOf returns the entry of a key that may use the console.
func entryOf(v *visit, id string) (*access.Entry[*ratelimit.Caller], error) {
	e := v.Keys.Entry(id)
	if e != nil {
		var err error
		if e, err = access.Current(v.R.Context(), v.Access, e); petstore.CodeOf(err) == petstore.CodeServiceUnavailable {
			return nil, err
		}
	}
	switch {
	case e == nil:
		return nil, errRevoked
	case e.Key.Expired(v.Now()) && !e.Key.ExpiresAt.IsZero():
		return nil, errExpired
	case !e.Key.Scopes.Has(access.Read):
		return nil, errNoRead
	default:
		return e, nil
	}
}

// A signInForm is the page on which a key is entered. Entered is a form that was sent without a session: it goes on with
// the key, in the same form.
type signInForm struct {
	Error, Next string
	Entered     url.Values
}

func showSignIn(v *visit) error {
	return v.Render(http.StatusOK, "signin", "Sign in", signInForm{Next: v.R.URL.Query().Get("next")})
}

// AskAgain implements page.Guest.
func (v *visit) AskAgain(why page.Notice) error {
	return v.Render(http.StatusForbidden, "signin", "Sign in", signInForm{string(why), v.R.URL.RequestURI(), enteredIn(v)})
}

// enteredIn returns what a request has of another form than that to sign in, if it has one.
func enteredIn(v *visit) url.Values {
	if !v.R.PostForm.Has(page.OnceField) {
		return nil
	}
	entered := maps.Clone(v.R.PostForm)
	for _, own := range []string{"user", "key", "next"} {
		delete(entered, own)
	}
	return entered
}

func signIn(v *visit) error {
	form := signInForm{Next: v.R.PostFormValue("next"), Entered: enteredIn(v)}
	if len(form.Next) > page.MaxQuery {
		form.Next = ""
	}
	if wait := v.gate.Wait(); wait > 0 {
		v.RetryAfter(page.WholeSeconds(wait))
		form.Error = "Too many attempts came from your address. Wait " + page.Text(page.WholeSeconds(wait)) + " seconds."
		return v.Render(http.StatusTooManyRequests, "signin", "Sign in", form)
	}
	entry, err := v.Keys.Verify(strings.TrimSpace(v.R.PostFormValue("key")))
	if err == nil {
		entry, err = entryOf(v, entry.Key.ID)
	}
	if err != nil {
		form.Error = messageOf(err)
		return v.Render(http.StatusUnprocessableEntity, "signin", "Sign in", form)
	}
	used := access.AuditEntry{Actor: access.Actor("console:" + entry.Key.ID), Action: "console.sign_in", Workspace: entry.Workspace.ID, Subject: entry.Key.ID, Detail: "with the key, from " + v.gate.Addr().String()}
	if err := v.Access.Note(v.R.Context(), used); err != nil {
		return err
	}
	if err := v.StartSession(entry.Key.ID); err != nil {
		return err
	}
	v.Log.Info("signed in to the console", "audit", used.Action, "workspace", entry.Workspace.ID, "key", entry.Key.ID)
	if form.Entered != nil {
		return v.Resend(inside(form.Next))
	}
	return v.Redirect(inside(form.Next))
}

// messageOf returns what is said of an error to who caused it.
func messageOf(err error) string {
	if e, ok := errors.AsType[*petstore.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// inside returns the address if it is of the console, else the console's first page.
func inside(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !page.Within("/console", u.Path) || !page.Within("/console", path.Clean(u.Path)) {
		return "/console"
	}
	return u.String()
}

func signOutEverywhere(v *visit) (page.Form, error) {
	f := page.EverywhereForm("Every session that was begun with the key " + access.Printable(v.who.Key.Name) + " ends, in all browsers. The key goes on working.")
	f.Send = func(*page.Input) error { return v.SignOut(true) }
	return f, nil
}

func useLink(v *visit) error {
	who, link, ok := v.OpenLink()
	if !ok {
		return v.linkEnded()
	}
	if workspace, err := page.NumberOf(who); err == nil {
		return letOwnerIn(v, workspace, link)
	}
	entry, err := entryOf(v, who)
	if err != nil {
		return v.linkEnded()
	}
	used := access.AuditEntry{Actor: access.Actor("console:" + who), Action: "console.sign_in", Workspace: entry.Workspace.ID, Subject: who}
	return v.UseLink(link, who, used, v.linkEnded)
}

func (v *visit) linkEnded() error {
	return v.Render(http.StatusGone, "signin", "Sign in", signInForm{Error: "This link has been used, or its time is over. Sign in with a key, or ask for another link."})
}

// letOwnerIn makes the owner of a workspace a key by a link that was not used before, and signs in with it. The page that
// used the link may send it again, and is shown the same key.
func letOwnerIn(v *visit, workspace int64, link access.Link) error {
	w, err := v.Access.WorkspaceByID(v.R.Context(), workspace)
	if err != nil {
		return v.linkEnded()
	}
	secret := v.R.PostFormValue("token") + v.R.PostFormValue("nonce")
	sum := sha256.Sum256([]byte(secret))
	use := hex.EncodeToString(sum[:])
	return v.Sending(use, func() error {
		const owner access.Actor = "owner"
		used := access.AuditEntry{Actor: owner, Action: "workspace.owner", Workspace: w.ID, Subject: w.Name, Detail: "let in by a link, from " + v.gate.Addr().String()}
		first, err := v.Access.UseLink(v.R.Context(), link, used)
		if err != nil {
			return err
		}
		before, err := v.Access.FormAnswer(v.R.Context(), workspace, use)
		if err != nil {
			return err
		}
		if before == nil && !first {
			return v.linkEnded()
		}
		ring := access.Keyring{Store: v.Access, Now: v.Now, By: owner, Secret: secret}
		all := access.Read | access.Write | access.Manage
		made, err := ring.Create(v.R.Context(), workspace, access.NewKey{Name: "owner", Scopes: all}, &petstore.Idempotency{Operation: "owner", Key: use})
		if err == nil {
			err = v.Access.KeepFormAnswer(v.R.Context(), workspace, use, []byte(made.ID))
		}
		if err == nil {
			err = v.StartSession(made.ID)
		}
		maker := page.KeyMaker{Visit: v.Visit, Service: baseURL(v), Back: page.Link{Title: "the console", URL: "/console"}}
		return maker.Show("Your key to "+access.Printable(w.Name), made.Secret, all, err)
	})
}
