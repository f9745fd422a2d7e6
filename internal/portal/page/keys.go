package page

import (
	"context"
	"net/http"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// A KeyRow is a key with its use.
type KeyRow struct {
	access.Key
	State string
	Use   access.Use
}

// KeyRows returns keys with their use.
func KeyRows(v *Visit, keys []access.Key) ([]KeyRow, error) {
	uses, err := v.Access.KeyUses(v.R.Context(), keys)
	rows := make([]KeyRow, len(keys))
	for i, k := range keys {
		rows[i] = KeyRow{k, k.State(v.Now()), uses[k.ID]}
	}
	return rows, err
}

// KeyColumns are what cells returns of a key.
func KeyColumns() []string { return []string{"Name", "Key", "Scopes", "State", "Last used", "Today"} }

// Cells returns the row of a key, in KeyColumns.
func (k *KeyRow) Cells() []Cell {
	state, used, today := Cell{Text: k.State, Badge: k.State}, Cell{Text: "never"}, Cell{Text: Number(k.Use.Admitted)}
	if k.State == "banned" {
		state.Note, state.At = "until", k.Ban.Until
	}
	if !k.Use.LastUsed.IsZero() {
		used = Cell{At: k.Use.LastUsed}
	}
	if k.Use.Refused > 0 {
		today.Note = Number(k.Use.Refused) + " refused"
	}
	return []Cell{
		{Text: access.Printable(k.Name), Name: true}, {Text: k.Prefix + "…", Code: true}, {Text: strings.Join(k.Scopes.List(), ", ")}, state, used, today,
	}
}

// KeyFacts are what there is to know of a key.
func KeyFacts(v *Visit, k access.Key) (facts []Fact, err error) {
	rows, err := KeyRows(v, []access.Key{k})
	cells := rows[0].Cells()
	for i, title := range KeyColumns() {
		facts = append(facts, Fact{title, cells[i]})
	}
	facts = append(facts, Fact{"Created", Cell{At: k.CreatedAt}})
	if !k.ExpiresAt.IsZero() {
		facts = append(facts, Fact{"Expires", Cell{At: k.ExpiresAt}})
	}
	return facts, err
}

// KeyNames returns the names of keys by their ids.
func KeyNames(keys []access.Key) map[string]string {
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = access.Printable(k.Name)
	}
	return names
}

// A KeyMaker makes keys, as far as its Ring may, and shows each of them once.
type KeyMaker struct {
	*Visit
	Ring    access.Keyring
	Service string // where programs reach the API
	Back    Link   // where to go on
}

// Form asks for a new key of the workspace, with what its maker may give.
func (f KeyMaker) Form(workspace int64, lead string) Form {
	maker := f.Ring.Caller
	if maker == nil {
		maker = &access.Key{Scopes: access.Read | access.Write | access.Manage}
	}
	labels := map[string]string{"read": "read: see pets, categories, stock, orders and events", "write": "write: change pets, categories, stock and orders", "manage": "manage: see and change keys, and with read also webhooks"}
	may := Field{Name: "scopes", Label: "Scopes", Kind: "checks", Hint: "A webhook belongs to the workspace: it goes on when the key that created it ends."}
	for _, s := range maker.Scopes.List() {
		may.Options = append(may.Options, Option{Value: s, Label: labels[s], Chosen: s != "manage"})
	}
	ends := Field{Name: "expiresAt", Label: "Expires", Kind: "select", Options: []Option{{Value: "0", Label: "never"}}} // in hours
	if !maker.ExpiresAt.IsZero() {
		ends.Options[0].Label = "with the key that you signed in with, " + maker.ExpiresAt.UTC().Format("2 January 2006, 15:04") + " UTC"
	}
	for _, o := range []Option{{Value: "24", Label: "in a day"}, {Value: "168", Label: "in 7 days"}, {Value: "720", Label: "in 30 days"}, {Value: "2160", Label: "in 90 days"}, {Value: "8760", Label: "in a year"}} {
		if hours, _ := time.ParseDuration(o.Value + "h"); maker.CheckGrant(0, f.Now().Add(hours)) == nil {
			ends.Options = append(ends.Options, o)
		}
	}
	return Form{Title: "Create a key", Lead: lead, Submit: "Create the key", Back: f.Back, Fields: []Field{
		{Name: "name", Label: "Name", Required: true, Max: access.MaxName, Hint: "What uses it, such as: web shop, production."}, may, ends,
	}, Send: func(in *Input) error {
		scopes, _ := access.ParseScopes(strings.Join(in.R.PostForm["scopes"], ",")) // none, which Create refuses, if one of them is unknown
		n := access.NewKey{Name: strings.TrimSpace(in.Text("name")), Scopes: scopes}
		if life := in.Hours("expiresAt"); life > 0 {
			n.ExpiresAt = petstore.At(f.Now().Add(life))
		}
		made, err := f.Ring.Create(f.R.Context(), workspace, n, f.OnceHere())
		return f.Show("The new key", made.Secret, scopes, err)
	}}
}

// Show shows a new key with the scopes, unless it failed, this once: nothing of it is kept, in the browser neither.
func (f KeyMaker) Show(title, secret string, scopes access.Scopes, err error) error {
	if err != nil {
		return err
	}
	s := Secret{Title: title, Secret: secret, Next: Link{Title: "To " + f.Back.Title, URL: f.Back.URL}, Lead: "Copy it now: it is not stored, and you cannot see it again. With it programs call the API"}
	if scopes.Has(access.Read) {
		s.Lead += ", and people sign in at " + f.Service + "/console"
		s.Call = "export PETSTORE_KEY=" + secret + "\ncurl -H \"Authorization: Bearer $PETSTORE_KEY\" '" + strings.ReplaceAll(f.Service, "'", "%27") + "/pets?limit=3'"
	}
	s.Lead += "."
	return ShowSecret(f.Visit, s)
}

// A Secret is a new key or secret, and where to go on.
type Secret struct {
	Title  string
	Lead   string
	Secret string
	Call   string // a first request with it, or ""
	Next   Link
}

// ShowSecret shows a new key or secret, this once.
func ShowSecret(v *Visit, page Secret) error {
	v.Refresh(v.R.Context())
	return v.Render(http.StatusOK, "made", page.Title, page)
}

// Refresh has this node use changed keys at once.
func (s *Site) Refresh(ctx context.Context) {
	if err := s.Keys.Refresh(ctx); err != nil {
		s.Log.Warn("keys could not be refreshed", "err", err) // the directory will try again in a moment
	}
}

// KeyLimits are the ban of a key and the windows of its workspace.
type KeyLimits struct{ ratelimit.Decision }

// Banned returns the end of the ban, or the zero time.
func (s KeyLimits) Banned() time.Time {
	if s.Outcome != ratelimit.Banned {
		return time.Time{}
	}
	return time.Unix(s.BannedUntil, 0).UTC()
}

// A Refusal says why there is no page, or on every page that the key cannot be used now, and until when if that is
// known. It is empty if nothing is refused.
type Refusal struct {
	Title, Text string
	Until       time.Time
}

// Note says why the key cannot ask now, and until when: until the end of the ban or of the full window, whichever is later.
func (s KeyLimits) Note() (why Refusal) {
	if banned := s.Banned(); !banned.IsZero() {
		why = Refusal{"This key is banned", "You can still look at these pages, but change or download nothing. The API refuses its requests.", banned}
	}
	for i, w := range []ratelimit.Window{s.Minute, s.Day} {
		name, afresh := []string{"minute", "day"}[i], time.Unix(w.Reset, 0).UTC()
		if w.Limit > 0 && w.Remaining() == 0 && afresh.After(why.Until) {
			text := "The plan has " + Counted(w.Limit, "request", "requests") + " a " + name + ", and what you change here counts too."
			why = Refusal{"The requests of this " + name + " are used up", text, afresh}
		}
	}
	return why
}

// A Gauge is one window of the limits.
type Gauge struct {
	Name              string
	Used, Limit, Left string
	Percent           int64
	Reset             time.Time
	Level             string // "ok", "high" or "full"
}

// Gauges returns the gauges of both windows.
func (s KeyLimits) Gauges() []Gauge {
	return []Gauge{GaugeOf("This minute", s.Minute), GaugeOf("Today (UTC)", s.Day)}
}

// GaugeOf returns the gauge of a window.
func GaugeOf(name string, w ratelimit.Window) Gauge {
	m := Gauge{
		Name: name, Used: Number(w.Used), Limit: Number(w.Limit), Left: Number(w.Remaining()),
		Percent: min(100, w.Used*100/max(w.Limit, 1)), Reset: time.Unix(w.Reset, 0).UTC(), Level: "ok",
	}
	switch {
	case w.Remaining() == 0:
		m.Level = "full"
	case m.Percent >= 80:
		m.Level = "high"
	}
	return m
}
