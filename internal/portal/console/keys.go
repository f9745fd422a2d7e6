package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

func keysPage(v *visit, p access.KeyPage) ([]page.KeyRow, error) {
	keys, err := v.Access.KeyPage(v.R.Context(), v.who.Workspace.ID, p)
	if err != nil {
		return nil, err
	}
	return page.KeyRows(v.Visit, keys)
}

func showKeys(v *visit) error {
	f := page.Filters{Query: v.R.URL.Query()}
	state := f.Add(page.Field{Name: "state", Label: "Show", Kind: "select", Options: []page.Option{{Label: "live keys"}, {Value: "all", Label: "all keys"}}})
	l := page.List{
		Title: "API keys", Lead: "All keys share the limits of the plan. A key is shown once, when you create it.",
		Columns: append(page.KeyColumns(), "Expires", ""), Numbers: map[int]bool{5: true}, CSV: "/console/keys.csv", Filters: f,
		New: &page.Link{Title: "Create a key", URL: "/console/keys/new"}, Empty: "There are no live keys.",
	}
	if f.Wrong() != nil {
		return v.List(l, nil)
	}
	rows, err := keysPage(v, access.KeyPage{Newest: true, Unrevoked: state != "all", After: f.Query.Get("after"), Limit: page.PageSize + 1})
	rows = page.Cut(&l, v.R.URL, rows, "after", func(last *page.KeyRow) string { return last.ID })
	for i := range rows {
		l.Rows = append(l.Rows, ownKeyCells(v, &rows[i]))
	}
	return v.List(l, err)
}

// ownKeyCells returns the row of a key of the workspace, with what its owner can do.
func ownKeyCells(v *visit, k *page.KeyRow) []page.Cell {
	row := append(k.Cells(), page.Cell{Text: "never"}, page.Cell{})
	if k.ID == v.who.Key.ID {
		row[0].Note = "you"
	}
	if !k.ExpiresAt.IsZero() {
		row[6] = page.Cell{At: k.ExpiresAt}
	}
	if k.RevokedAt.IsZero() {
		row[0].URL = "/console/keys/" + k.ID
		row[7].Links = keyLinks(v, &k.Key)
	}
	return row
}

// keyLinks are what can be done with a key.
func keyLinks(v *visit, k *access.Key) (links []page.Link) {
	at := "/console/keys/" + k.ID
	if k.CheckRotation(v.Now()) == nil {
		links = []page.Link{{Title: "Rotate", URL: at + "/rotate"}}
	}
	return append(links, page.Link{Title: "Revoke", URL: at + "/revoke", Danger: true})
}

func keysCSV(v *visit) error {
	head := []string{"id", "name", "prefix", "scopes", "state", "createdAt", "expiresAt", "revokedAt", "lastUsedAt", "admittedToday", "refusedToday"}
	return pagesCSV(v, head, func(last *page.KeyRow) ([]page.KeyRow, error) {
		p := access.KeyPage{Newest: true, Limit: rowsTogether}
		if last != nil {
			p.After = last.ID
		}
		return keysPage(v, p)
	}, keyLine)
}

func keyLine(k page.KeyRow) []string {
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return []string{
		k.ID, page.CSVText(k.Name), k.Prefix, k.Scopes.String(), k.State, instant(k.CreatedAt), instant(k.ExpiresAt), instant(k.RevokedAt),
		instant(k.Use.LastUsed), page.Text(k.Use.Admitted), page.Text(k.Use.Refused),
	}
}

func newKey(v *visit) (page.Form, error) {
	return page.Form{
		Title: "Create a key", Submit: "Create the key", Back: page.Link{Title: "API keys", URL: "/console/keys"},
		Lead: "It cannot have a scope that the key you signed in with does not have.",
		Fields: []page.Field{
			{Name: "name", Label: "Name", Kind: "text", Required: true, Max: access.MaxName, Hint: "What uses it, such as: web shop, production."},
			page.ScopeField("scope", v.who.Key.Scopes),
			{Name: "expires", Label: "Expires", Kind: "select", Options: keyEnds(v)},
		},
		Send: func(in *page.Input) error { return createKey(v, in) },
	}, nil
}

// keyEnds returns when a new key may end, in hours: not after the key that makes it.
func keyEnds(v *visit) []page.Option {
	latest := page.Option{Value: "0", Label: "never"}
	if !v.who.Key.ExpiresAt.IsZero() {
		latest.Label = "with the key that you signed in with, " + v.who.Key.ExpiresAt.UTC().Format("2 January 2006, 15:04") + " UTC"
	}
	all := []page.Option{latest}
	for _, o := range page.Lifetimes() {
		hours, _ := strconv.Atoi(o.Value)
		if v.who.Key.CheckGrant(0, v.Now().Add(time.Duration(hours)*time.Hour)) == nil {
			all = append(all, o)
		}
	}
	return all
}

func createKey(v *visit, in *page.Input) error {
	scopes, err := access.ParseScopes(strings.Join(v.R.PostForm["scope"], ","))
	if err != nil || !v.who.Key.Scopes.Has(scopes) {
		in.Faults["scope"], scopes = "Choose at least one.", 0 // so that Create refuses it, with what else is wrong
	}
	n := access.NewKey{Name: strings.TrimSpace(in.Text("name")), Scopes: scopes}
	if life := in.Hours("expires"); life > 0 {
		n.ExpiresAt = petstore.At(v.Now().Add(life))
	}
	made, err := v.keyring().Create(v.R.Context(), v.who.Workspace.ID, n, v.OnceHere())
	return showMade(v, made, scopes, err)
}

// keyring returns the keys of the workspace, as far as the one may change them that is signed in with.
func (v *visit) keyring() access.Keyring {
	return access.Keyring{Store: v.Access, Now: v.Now, By: access.Actor(v.actor()), Maker: &v.who.Key, Secret: v.Token}
}

// showMade shows a new key with the scopes, this once, unless it failed: nothing of it is kept, in the browser neither.
func showMade(v *visit, k access.IssuedKey, scopes access.Scopes, err error) error {
	if err != nil {
		return err
	}
	return page.ShowKey(v.Visit, "Your new key", k.Secret, baseURL(v), scopes, page.Link{Title: "To the keys", URL: "/console/keys"})
}

// keyInPath returns the key in the path, if it is of the workspace and not revoked. The
// error tells nothing of other workspaces' keys.
func keyInPath(v *visit) (access.Key, error) {
	return v.keyring().Key(v.R.Context(), v.ID)
}

func rotateKey(v *visit) (page.Form, error) {
	k, err := keyInPath(v)
	if err == nil && v.R.Method != http.MethodPost { // else the rotation checks it, unless it was made by this form
		err = k.CheckRotation(v.Now())
	}
	if err != nil {
		return page.Form{}, err
	}
	f := page.RotateForm()
	f.Back = page.Link{Title: "API keys", URL: "/console/keys"}
	f.Send = func(in *page.Input) error {
		made, err := v.keyring().Rotate(v.R.Context(), k.ID, in.Hours("overlap"), v.OnceHere())
		return showMade(v, made, k.Scopes, err)
	}
	f.Facts, err = page.KeyFacts(v.Visit, k)
	return f, err
}

func revokeKey(v *visit) (page.Form, error) {
	k, err := keyInPath(v)
	if err != nil {
		return page.Form{}, err
	}
	facts, err := whatBreaks(v, k)
	f := page.Form{
		Title: "Revoke this key?", Lead: "Whatever still uses it stops working within a second. This cannot be undone.", Submit: "Revoke the key", Danger: true,
		Back: page.Link{Title: access.Printable(k.Name), URL: "/console/keys/" + k.ID}, Facts: facts,
		Send: func(*page.Input) error {
			err := v.keyring().Revoke(v.R.Context(), k.ID, petstore.Condition{})
			return v.ThenRefresh("/console/keys", "The key was revoked.", err)
		},
	}
	if k.ID == v.who.Key.ID {
		f.Lead += " It is the key that you signed in with: you will be signed out."
	}
	return f, err
}
