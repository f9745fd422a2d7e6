package console

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

func keysPage(v *visit, p access.KeyPage) ([]page.KeyRow, error) {
	keys, err := v.Access.KeyPage(v.R.Context(), v.who.Workspace.ID, p)
	if err != nil {
		return nil, err
	}
	return page.KeyRows(v.Visit, keys)
}

func listKeys(v *visit) (page.List, error) {
	f := page.Filters{Query: v.R.URL.Query()}
	state := f.Add(page.Field{Name: "state", Label: "Show", Kind: "select", Options: []page.Option{{Label: "live keys"}, {Value: "all", Label: "all keys"}}})
	l := page.List{
		Title: "API keys", Lead: "All keys share the limits of the plan. A key is shown once, when you create it.",
		Columns: append(page.KeyColumns(), "Expires", ""), Numbers: map[int]bool{5: true}, CSV: "/console/keys.csv", Filters: f,
		New: &page.Link{Title: "Create a key", URL: "/console/keys/new"}, Empty: "There are no live keys.",
	}
	if f.Wrong() != nil {
		return l, nil //nolint:nilerr // the list says it
	}
	rows, err := keysPage(v, access.KeyPage{Newest: true, Unrevoked: state != "all", After: f.Query.Get("after"), Limit: page.PageSize + 1})
	rows = page.Cut(&l, v.R.URL, rows, "after", func(last *page.KeyRow) string { return last.ID })
	for i := range rows {
		l.Rows = append(l.Rows, ownKeyCells(v, &rows[i]))
	}
	return l, err
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
		p := access.KeyPage{Newest: true, Limit: downloadPage}
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

// keyring returns the keys of the workspace, as far as the one may change them that is signed in with.
func (v *visit) keyring() access.Keyring {
	return access.Keyring{Store: v.Access, Now: v.Now, By: access.Actor(v.actor()), Caller: &v.who.Key, Secret: v.Token}
}

func keyMaker(v *visit) page.KeyMaker {
	return page.KeyMaker{Visit: v.Visit, Ring: v.keyring(), Service: baseURL(v), Back: page.Link{Title: "API keys", URL: "/console/keys"}}
}

func newKey(v *visit) (page.Form, error) {
	return keyMaker(v).Form(v.who.Workspace.ID, "It cannot have a scope that the key you signed in with does not have."), nil
}

// keyInPath returns the key in the path, if it is of the workspace and not revoked. The
// error tells nothing of other workspaces' keys.
func keyInPath(v *visit) (access.Key, error) {
	return v.keyring().Key(v.R.Context(), v.ID)
}

// rotateKey asks for how long a key lasts beside the one that takes its place.
func rotateKey(v *visit) (page.Form, error) {
	k, err := keyInPath(v)
	if err == nil && v.R.Method != http.MethodPost { // else the rotation checks it, unless it was made by this form
		err = k.CheckRotation(v.Now())
	}
	if err != nil {
		return page.Form{}, err
	}
	facts, err := page.KeyFacts(v.Visit, k)
	return page.Form{
		Title: "Rotate this key?", Lead: "A new key takes over its name, scopes and expiry. Both work for the time that you choose; then the old key stops working.",
		Submit: "Create the new key", Heading: access.Printable(k.Name), Back: page.Link{Title: "API keys", URL: "/console/keys"}, Facts: facts,
		Fields: []page.Field{{Name: "overlap", Label: "The old key ends", Kind: "select", Options: []page.Option{
			{Value: "24", Label: "in a day"}, {Value: "0", Label: "at once"}, {Value: "1", Label: "in an hour"}, {Value: "168", Label: "in 7 days"},
		}}},
		Send: func(in *page.Input) error {
			made, err := v.keyring().Rotate(v.R.Context(), k.ID, in.Hours("overlap"), v.OnceHere())
			return keyMaker(v).Show("The new key", made.Secret, k.Scopes, err)
		},
	}, err
}

// revokeKey asks whether to revoke a key.
func revokeKey(v *visit) (page.Form, error) {
	k, err := keyInPath(v)
	if err != nil {
		return page.Form{}, err
	}
	f := page.Form{
		Title: "Revoke this key?", Lead: "Whatever still uses it stops working within a second. This cannot be undone.", Submit: "Revoke the key", Danger: true,
		Heading: access.Printable(k.Name), Back: page.Link{Title: access.Printable(k.Name), URL: "/console/keys/" + k.ID},
		Send: func(*page.Input) error {
			return v.Then("/console/keys", "The key was revoked.", v.keyring().Revoke(v.R.Context(), k.ID, petstore.Condition{}))
		},
	}
	if k.ID == v.who.Key.ID {
		f.Lead += " It is the key that you signed in with: you will be signed out."
	}
	f.Facts, err = whatBreaks(v, k)
	return f, err
}

// keySheet returns what a key did by day, the latest first.
func keySheet(v *visit, k access.Key) (page.List, error) {
	l := page.NewList("Use by day", "", "No program used it in the last 14 days.", "Day (UTC)", "Answered", "Errors", "Refused")
	l.Numbers = map[int]bool{1: true, 2: true, 3: true}
	days, err := usedSince(v, k.ID, v.Now().AddDate(0, 0, -13))
	for _, d := range slices.Backward(days) {
		if d.Total() == 0 { // it was used in the console alone
			continue
		}
		failed, refused := d.Requests[usage.ClientError]+d.Requests[usage.ServerError], d.Requests[usage.Limited]
		l.Rows = append(l.Rows, []page.Cell{
			{Text: time.Unix(d.Start, 0).UTC().Format("2 Jan")}, {Text: page.Number(d.Total() - failed - refused)}, {Text: page.Number(failed)}, {Text: page.Number(refused)},
		})
	}
	if len(l.Rows) > 0 {
		l.Lead = page.Counted(total(days), "request", "requests") + " in the last 14 days. Forms of this console are not among them."
	}
	return l, err
}

func showKey(v *visit) (page.Form, error) {
	k, err := keyInPath(v)
	if err != nil {
		return page.Form{}, err
	}
	f := page.Form{
		Title: access.Printable(k.Name), State: &page.Cell{Text: k.State(v.Now()), Badge: k.State(v.Now())}, Back: page.Link{Title: "API keys", URL: "/console/keys"}, Links: keyLinks(v, &k), Below: true,
		Heading: "Rename", Submit: "Save the name", Fields: []page.Field{
			{Name: "name", Label: "Name", Kind: "text", Value: access.Printable(k.Name), Required: true, Max: access.MaxName}, page.VersionField(k.View(v.Now())),
		},
		Send: func(in *page.Input) error {
			patch := access.KeyPatch{Name: petstore.Some(strings.TrimSpace(in.Text("name")))}
			_, err := v.keyring().Update(v.R.Context(), k.ID, patch, in.Condition())
			return v.Then("/console/keys/"+k.ID, "The key was renamed.", err)
		},
	}
	if f.Facts, err = page.KeyFacts(v.Visit, k); err != nil {
		return f, err
	}
	f.Facts = append(f.Facts, inLog("Requests", k, ""), inLog("Errors", k, "&outcome=errors"), inLog("Refusals", k, "&outcome=429"))
	days, err := keySheet(v, k)
	f.Sheets = []page.List{days}
	return f, err
}

// inLog is a fact with a link to the requests of a key in the log.
func inLog(title string, k access.Key, filter string) page.Fact {
	return page.Fact{Title: title, Cell: page.Cell{Text: "In the log", URL: "/console/requests?key=" + k.ID + filter}}
}

// whatBreaks says, of a key that is to be revoked, what still uses it.
func whatBreaks(v *visit, k access.Key) ([]page.Fact, error) {
	days, err := usedSince(v, k.ID, v.Now().AddDate(0, 0, -6))
	if err != nil {
		return nil, err
	}
	facts, err := page.KeyFacts(v.Visit, k)
	facts = append(facts, page.Fact{Title: "In the last 7 days", Cell: page.Cell{Text: page.Counted(total(days), "request", "requests")}})
	if uses, since := usesOf(v, k.ID); len(uses) > 0 {
		facts = append(facts, page.Fact{Title: "In the log of this server", Cell: page.Cell{Text: strings.Join(uses[:min(len(uses), few)], ", "), Note: "since", At: since}})
	}
	return facts, err
}

// usesOf returns what a key was used for in the log, the most frequent first, and when the oldest of that was. What was
// refused by a limit is no use.
func usesOf(v *visit, keyID string) (uses []string, since time.Time) {
	times := map[string]int{}
	for _, e := range v.Usage.Latest(v.who.Workspace.ID) {
		if e.KeyID == keyID && !e.Console && usage.ClassOf(e.Status) != usage.Limited {
			since = e.At
			times[cmp.Or(e.Operation, e.Method+" "+e.Path)]++
		}
	}
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int { return cmp.Or(times[b]-times[a], cmp.Compare(a, b)) }), since
}
