package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A keyRow is a key with what it did.
type keyRow struct {
	access.Key
	state string
	use   access.Use
}

// keyRows returns a page of the keys of the workspace.
func (v *visit) keyRows(p access.KeyPage) ([]keyRow, error) {
	keys, err := v.Access.KeyPage(v.r.Context(), v.who.Workspace.ID, p)
	if err != nil {
		return nil, err
	}
	return v.rowsOf(keys)
}

// rowsOf returns keys with what they did.
func (v *visit) rowsOf(keys []access.Key) ([]keyRow, error) {
	uses, err := v.Access.KeyUses(v.r.Context(), keys)
	rows := make([]keyRow, len(keys))
	for i, k := range keys {
		rows[i] = keyRow{k, k.State(v.Now()), uses[k.ID]}
	}
	return rows, err
}

// keyColumns are what cells returns of a key.
func keyColumns() []string { return []string{"Name", "Key", "Scopes", "State", "Last used", "Today"} }

func (k *keyRow) cells() []cell {
	state, used, today := cell{Text: k.state, Badge: k.state}, cell{Text: "never"}, cell{Text: number(k.use.Admitted)}
	if k.state == "banned" {
		state.Note, state.At = "until", k.Ban.Until
	}
	if !k.use.LastUsed.IsZero() {
		used = cell{At: k.use.LastUsed}
	}
	if k.use.Refused > 0 {
		today.Note = number(k.use.Refused) + " refused"
	}
	return []cell{
		{Text: access.Printable(k.Name), Name: true}, {Text: k.Prefix + "…", Code: true}, {Text: strings.Join(k.Scopes.List(), ", ")}, state, used, today,
	}
}

func showKeys(v *visit) error {
	query := v.r.URL.Query()
	state := query.Get("state")
	l := list{
		Title: "API keys", Lead: "All keys share the limits of the plan. A key is shown once, when you create it.",
		Columns: append(keyColumns(), "Expires", ""), Numbers: map[int]bool{5: true}, CSV: "/console/keys.csv",
		Filters: []field{{Name: "state", Label: "Show", Kind: "select", Options: choose([]option{{Label: "live keys"}, {Value: "all", Label: "all keys"}}, state)}},
		New:     &link{Title: "Create a key", URL: "/console/keys/new"}, Empty: "There are no live keys.",
	}
	rows, err := v.keyRows(access.KeyPage{Newest: true, Unrevoked: state != "all", After: query.Get("after"), Limit: pageSize + 1})
	rows = pageOf(v, &l, rows, "after", func(last *keyRow) string { return last.ID })
	for i := range rows {
		l.Rows = append(l.Rows, v.ownKeyCells(&rows[i]))
	}
	return v.list(l, err)
}

// ownKeyCells returns the row of a key of the workspace, with what its owner can do.
func (v *visit) ownKeyCells(k *keyRow) []cell {
	row := append(k.cells(), cell{Text: "never"}, cell{})
	if k.ID == v.who.Key.ID {
		row[0].Note = "you"
	}
	if !k.ExpiresAt.IsZero() {
		row[6] = cell{At: k.ExpiresAt}
	}
	if k.RevokedAt.IsZero() {
		row[0].URL = "/console/keys/" + k.ID
		row[7].Links = v.keyLinks(&k.Key)
	}
	return row
}

// keyLinks are what can be done with a key.
func (v *visit) keyLinks(k *access.Key) (links []link) {
	at := "/console/keys/" + k.ID
	if k.CheckRotation(v.Now()) == nil {
		links = []link{{Title: "Rotate", URL: at + "/rotate"}}
	}
	return append(links, link{Title: "Revoke", URL: at + "/revoke", Danger: true})
}

func keysCSV(v *visit) error {
	head := []string{"id", "name", "prefix", "scopes", "state", "createdAt", "expiresAt", "revokedAt", "lastUsedAt", "admittedToday", "refusedToday"}
	return pagesCSV(v, head, func(last *keyRow) ([]keyRow, error) {
		page := access.KeyPage{Newest: true, Limit: rowsARequest}
		if last != nil {
			page.After = last.ID
		}
		return v.keyRows(page)
	}, keyRow.line)
}

func (k keyRow) line() []string {
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return []string{
		k.ID, plain(k.Name), k.Prefix, k.Scopes.String(), k.state, instant(k.CreatedAt), instant(k.ExpiresAt), instant(k.RevokedAt),
		instant(k.use.LastUsed), text(k.use.Admitted), text(k.use.Refused),
	}
}

func newKey(v *visit) (form, error) {
	return form{
		Title: "Create a key", Submit: "Create the key", Back: link{Title: "API keys", URL: "/console/keys"},
		Lead: "It cannot have a scope that the key you signed in with does not have.",
		Fields: []field{
			{Name: "name", Label: "Name", Kind: "text", Required: true, Max: access.MaxName, Hint: "What uses it, such as: web shop, production."},
			scopeField("scope", v.who.Key.Scopes),
			{Name: "expires", Label: "Expires", Kind: "select", Options: v.ends()},
		},
		send: v.createKey,
	}, nil
}

// scopeField offers the scopes that a new key may have.
func scopeField(name string, most access.Scopes) field {
	labels := map[string]string{"read": "read: see pets, categories, stock, orders and events", "write": "write: change pets, categories, stock and orders", "manage": "manage: see and change keys, and with read also webhooks"}
	f := field{Name: name, Label: "Scopes", Kind: "checks", Hint: "A webhook belongs to the workspace: it goes on when the key that created it ends."}
	for _, s := range most.List() {
		f.Options = append(f.Options, option{Value: s, Label: labels[s], Chosen: s != "manage"})
	}
	return f
}

// lifetimes returns how long a new key may be valid, in hours.
func lifetimes() []option {
	return []option{{Value: "24", Label: "in a day"}, {Value: "168", Label: "in 7 days"}, {Value: "720", Label: "in 30 days"}, {Value: "2160", Label: "in 90 days"}, {Value: "8760", Label: "in a year"}}
}

// ends returns when a new key may end, in hours: not after the key that makes it.
func (v *visit) ends() []option {
	latest := option{Value: "0", Label: "never"}
	if !v.who.Key.ExpiresAt.IsZero() {
		latest.Label = "with the key that you signed in with, " + v.who.Key.ExpiresAt.UTC().Format("2 January 2006, 15:04") + " UTC"
	}
	all := []option{latest}
	for _, o := range lifetimes() {
		hours, _ := strconv.Atoi(o.Value)
		if v.who.Key.CheckGrant(0, v.Now().Add(time.Duration(hours)*time.Hour)) == nil {
			all = append(all, o)
		}
	}
	return all
}

func (v *visit) createKey(in *input) error {
	scopes, err := access.ParseScopes(strings.Join(v.r.PostForm["scope"], ","))
	if err != nil || !v.who.Key.Scopes.Has(scopes) {
		in.faults["scope"], scopes = "Choose at least one.", 0 // so that Create refuses it, with what else is wrong
	}
	n := access.NewKey{Name: strings.TrimSpace(in.text("name")), Scopes: scopes}
	if life := in.hours("expires"); life > 0 {
		n.ExpiresAt = petstore.At(v.Now().Add(life))
	}
	made, err := v.keyring().Create(v.r.Context(), v.who.Workspace.ID, n, nil)
	if err != nil {
		return err
	}
	return v.made(made)
}

// keyring returns the keys of the workspace, as far as the one may change them that is signed in with.
func (v *visit) keyring() access.Keyring {
	return access.Keyring{Store: v.Access, Now: v.Now, By: access.Actor(v.actor()), Maker: &v.who.Key}
}

// made shows a new key, this once: nothing of it is kept, in the browser neither.
func (v *visit) made(k access.MadeKey) error {
	page := newKeyPage(k.Secret, link{Title: "To the keys", URL: "/console/keys"})
	if k.Key.Scopes.Has(access.Read) {
		page.Call = "export PETSTORE_KEY=" + k.Secret + "\ncurl -H \"Authorization: Bearer $PETSTORE_KEY\" " + quoted(v.base()+"/pets?limit=3")
	}
	return v.madeFor(page)
}

// A madeKey is a new key or secret, and where to go on.
type madeKey struct {
	Lead   string
	Secret string
	Call   string // a first request with it, or ""
	Next   link
}

func newKeyPage(secret string, next link) madeKey {
	return madeKey{Lead: "Copy it now: it is not stored, and you cannot see it again.", Secret: secret, Next: next}
}

func (v *visit) madeFor(page madeKey) error {
	v.follow()
	return v.render(http.StatusOK, "made", "Your new key", page)
}

// key returns the key in the path, if it is of the workspace and not revoked. The
// error tells nothing of other workspaces' keys.
func (v *visit) key() (access.Key, error) {
	return v.keyring().Key(v.r.Context(), v.id)
}

// rotateForm asks for how long a key lasts beside the one that takes its place.
func rotateForm() form {
	return form{
		Title: "Rotate this key?", Lead: "A new key takes over its name, scopes and expiry. Both work for the time that you choose; then the old key stops working.",
		Submit: "Create the new key",
		Fields: []field{{Name: "overlap", Label: "The old key ends", Kind: "select", Options: []option{
			{Value: "24", Label: "in a day"}, {Value: "0", Label: "at once"}, {Value: "1", Label: "in an hour"}, {Value: "168", Label: "in 7 days"},
		}}},
	}
}

func rotateKey(v *visit) (form, error) {
	k, err := v.key()
	if err == nil {
		err = k.CheckRotation(v.Now())
	}
	if err != nil {
		return form{}, err
	}
	f := rotateForm()
	f.Back = link{Title: "API keys", URL: "/console/keys"}
	f.send = func(in *input) error {
		made, err := v.keyring().Rotate(v.r.Context(), k.ID, in.hours("overlap"), nil)
		if err != nil {
			return err
		}
		return v.made(made)
	}
	f.Facts, err = v.keyFacts(k)
	return f, err
}

func revokeKey(v *visit) (form, error) {
	k, err := v.key()
	if err != nil {
		return form{}, err
	}
	facts, err := v.whatBreaks(k)
	f := form{
		Title: "Revoke this key?", Lead: "Whatever still uses it stops working within a second. This cannot be undone.", Submit: "Revoke the key", Danger: true,
		Back: link{Title: access.Printable(k.Name), URL: "/console/keys/" + k.ID}, Facts: facts,
		send: func(*input) error {
			err := v.keyring().Revoke(v.r.Context(), k.ID, petstore.Condition{})
			return v.changed("/console/keys", "The key was revoked.", err)
		},
	}
	if k.ID == v.who.Key.ID {
		f.Lead += " It is the key that you signed in with: you will be signed out."
	}
	return f, err
}
