package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// A keyPage is one key: what it may do, what it did, and what can be done with it.
type keyPage struct {
	Title string
	Links []page.Link
	Forms []page.Form
	Facts []page.Fact
	Days  []keyDay
	Sum   string // of the days
	Uses  []keyUse
	Since time.Time // the oldest of what Uses were counted from
	ID    string
}

// A keyDay is what a key did on a UTC day.
type keyDay struct {
	At                      time.Time
	Good, Failed, Refused   string
	Share                   int64 // of the busiest day, in percent
	FailedShare, LimitShare int64
}

// A keyUse is what a key was used for lately.
type keyUse struct {
	What       string
	Times      int
	Failed     int
	Last       time.Time
	Deprecated bool
}

const shownDays = 14

func renameForm(k *access.Key, now time.Time) page.Form {
	return page.Form{
		Heading: "Rename", Action: "/console/keys/" + k.ID, Submit: "Save the name",
		Fields: []page.Field{{Name: "name", Label: "Name", Kind: "text", Value: access.Printable(k.Name), Required: true, Max: access.MaxName}, page.VersionField(access.KeyView{Key: *k, At: now})},
	}
}

func readKeyPage(v *visit, k access.Key) (keyPage, error) {
	facts, err := page.KeyFacts(v.Visit, k)
	if err != nil {
		return keyPage{}, err
	}
	p := keyPage{Title: access.Printable(k.Name), ID: k.ID, Facts: facts, Links: keyLinks(v, &k)}
	p.Uses, p.Since = usesOf(v, k.ID)
	days, err := v.Usage.KeyDays(v.R.Context(), v.who.Workspace.ID, k.ID, v.Now().AddDate(0, 0, 1-shownDays))
	p.Days, p.Sum = daysOf(days)
	return p, err
}

// daysOf returns the days as they are shown, the latest first.
func daysOf(days []usage.KeyDay) (shown []keyDay, sum string) {
	most, total := int64(1), int64(0)
	for i := range days {
		most, total = max(most, days[i].Total()), total+days[i].Total()
	}
	for _, d := range slices.Backward(days) {
		if d.Total() == 0 { // it was used in the console alone
			continue
		}
		failed, refused := d.Requests[usage.ClientError]+d.Requests[usage.ServerError], d.Requests[usage.Limited]
		shown = append(shown, keyDay{
			At: time.Unix(d.Day, 0).UTC(), Good: page.Number(d.Total() - failed - refused), Failed: page.Number(failed), Refused: page.Number(refused),
			Share: d.Total() * 100 / most, FailedShare: (failed + refused) * 100 / most, LimitShare: refused * 100 / most,
		})
	}
	return shown, page.Counted(total, "request", "requests")
}

// usesOf returns what a key was used for in the log, the most frequent first, and when the oldest of that was. What was
// refused by a limit is no use.
func usesOf(v *visit, keyID string) (list []keyUse, since time.Time) {
	uses := map[string]*keyUse{}
	for _, e := range v.Usage.Latest(v.who.Workspace.ID) {
		if e.KeyID != keyID || e.Console || usage.ClassOf(e.Status) == usage.Limited {
			continue
		}
		since = e.At
		what := cmp.Or(e.Operation, e.Method+" "+e.Path)
		if uses[what] == nil {
			uses[what] = &keyUse{What: what, Last: e.At, Deprecated: e.Deprecated}
		}
		uses[what].Times++
		if e.Status >= http.StatusBadRequest {
			uses[what].Failed++
		}
	}
	for _, u := range uses {
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b keyUse) int { return cmp.Or(b.Times-a.Times, cmp.Compare(a.What, b.What)) })
	return list[:min(len(list), page.PageSize)], since
}

func showKey(v *visit) (page.Form, error) {
	k, err := keyInPath(v)
	f := renameForm(&k, v.Now())
	f.Page = func(status int, f page.Form) error {
		p, err := readKeyPage(v, k)
		if err != nil {
			return err
		}
		p.Forms = []page.Form{f}
		return v.Render(status, "key", p.Title, p)
	}
	f.Send = func(in *page.Input) error {
		patch := access.KeyPatch{Name: petstore.Some(strings.TrimSpace(in.Text("name")))}
		_, err := v.keyring().Update(v.R.Context(), k.ID, patch, in.Condition())
		return v.ThenRefresh(f.Action, "The key was renamed.", err)
	}
	return f, err
}

// whatBreaks says, of a key that is to be revoked, what still uses it.
func whatBreaks(v *visit, k access.Key) ([]page.Fact, error) {
	days, err := v.Usage.KeyDays(v.R.Context(), v.who.Workspace.ID, k.ID, v.Now().AddDate(0, 0, -6))
	if err != nil {
		return nil, err
	}
	_, sum := daysOf(days)
	facts, err := page.KeyFacts(v.Visit, k)
	facts = append(facts, page.Fact{Title: "In the last 7 days", Cell: page.Cell{Text: sum}})
	var uses []string
	list, since := usesOf(v, k.ID)
	for _, u := range list {
		uses = append(uses, u.What)
	}
	if len(uses) > 0 {
		facts = append(facts, page.Fact{Title: "In the log of this server", Cell: page.Cell{Text: strings.Join(uses[:min(len(uses), few)], ", "), Note: "since", At: since}})
	}
	return facts, err
}
