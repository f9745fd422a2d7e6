package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/usage"
)

// A keyPage is one key: what it may do, what it did, and what can be done with it.
type keyPage struct {
	Title string
	Links []link
	Forms []form
	Facts []fact
	Days  []keyDay
	Sum   string // of the days
	Uses  []keyUse
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

// shownDays is how many days the page of a key shows.
const shownDays = 14

func renameForm(k *access.Key, now time.Time) form {
	return form{
		Heading: "Rename", Action: "/console/keys/" + k.ID, Submit: "Save the name",
		Fields: []field{{Name: "name", Label: "Name", Kind: "text", Value: access.Printable(k.Name), Required: true, Max: access.MaxName}, versionOf(access.KeyAt{Key: *k, At: now})},
	}
}

// keyPage reads the page of the key in the path.
func (v *visit) keyPage() (keyPage, access.Key, error) {
	k, err := v.key()
	if err != nil {
		return keyPage{}, k, err
	}
	facts, err := v.keyFacts(k)
	if err != nil {
		return keyPage{}, k, err
	}
	p := keyPage{Title: access.Printable(k.Name), ID: k.ID, Facts: facts, Links: v.keyLinks(&k), Uses: v.usesOf(k.ID)}
	days, err := v.Usage.KeyDays(v.r.Context(), v.who.Workspace.ID, k.ID, v.Now().AddDate(0, 0, 1-shownDays))
	p.Days, p.Sum = daysOf(days)
	return p, k, err
}

// daysOf returns the days as they are shown, the latest first.
func daysOf(days []usage.KeyDay) (shown []keyDay, sum string) {
	most, total := int64(1), int64(0)
	for i := range days {
		most, total = max(most, days[i].Total()), total+days[i].Total()
	}
	for _, d := range slices.Backward(days) {
		failed, refused := d.Requests[usage.ClientError]+d.Requests[usage.ServerError], d.Requests[usage.Limited]
		shown = append(shown, keyDay{
			At: time.Unix(d.Day, 0).UTC(), Good: number(d.Total() - failed - refused), Failed: number(failed), Refused: number(refused),
			Share: d.Total() * 100 / most, FailedShare: (failed + refused) * 100 / most, LimitShare: refused * 100 / most,
		})
	}
	return shown, number(total)
}

// keyFacts are what there is to know of a key.
func (v *visit) keyFacts(k access.Key) (facts []fact, err error) {
	rows, err := v.rowsOf([]access.Key{k})
	cells := rows[0].cells()
	for i, title := range keyColumns() {
		facts = append(facts, fact{title, cells[i]})
	}
	facts = append(facts, fact{"Created", cell{At: k.CreatedAt}})
	if !k.ExpiresAt.IsZero() {
		facts = append(facts, fact{"Expires", cell{At: k.ExpiresAt}})
	}
	return facts, err
}

// usesOf returns what a key was used for in the log, the most frequent first. What was refused by a limit is no use.
func (v *visit) usesOf(keyID string) []keyUse {
	uses := map[string]*keyUse{}
	for _, e := range v.Usage.Latest(v.who.Workspace.ID) {
		if e.KeyID != keyID || usage.ClassOf(e.Status) == usage.Limited {
			continue
		}
		what := cmp.Or(e.Operation, e.Method+" "+e.Path)
		if uses[what] == nil {
			uses[what] = &keyUse{What: what, Last: e.At, Deprecated: e.Deprecated}
		}
		uses[what].Times++
		if e.Status >= http.StatusBadRequest {
			uses[what].Failed++
		}
	}
	var list []keyUse
	for _, u := range uses {
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b keyUse) int { return cmp.Or(b.Times-a.Times, cmp.Compare(a.What, b.What)) })
	return list[:min(len(list), pageSize)]
}

func showKey(v *visit) (form, error) {
	p, k, err := v.keyPage()
	f := renameForm(&k, v.Now())
	f.page = func(status int, f form) error {
		p.Forms = []form{f}
		return v.render(status, "key", p.Title, p)
	}
	f.send = func(in *input) error {
		patch := access.KeyPatch{Name: petstore.Some(strings.TrimSpace(in.text("name")))}
		_, err := v.keyring().Update(v.r.Context(), k.ID, patch, in.condition())
		return v.changed(f.Action, "The key was renamed.", err)
	}
	return f, err
}

// whatBreaks says, of a key that is to be revoked, what still uses it.
func (v *visit) whatBreaks(k access.Key) ([]fact, error) {
	days, err := v.Usage.KeyDays(v.r.Context(), v.who.Workspace.ID, k.ID, v.Now().AddDate(0, 0, -6))
	if err != nil {
		return nil, err
	}
	_, sum := daysOf(days)
	facts, err := v.keyFacts(k)
	facts = append(facts, fact{"Requests in the last 7 days", cell{Text: sum}})
	var uses []string
	for _, u := range v.usesOf(k.ID) {
		uses = append(uses, u.What)
	}
	if len(uses) > 0 {
		facts = append(facts, fact{"Recent use", cell{Text: strings.Join(uses[:min(len(uses), few)], ", ")}})
	}
	return facts, err
}
