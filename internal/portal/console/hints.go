package console

import (
	"slices"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// A step is one of the first things to do in a workspace.
type step struct {
	Title string
	URL   string
	Done  bool
}

// stepsFor is for how long a workspace that has pets and orders, but has made no request, is told how.
const stepsFor = 7 * 24 * time.Hour

// firstSteps returns what to do first in a workspace, until it has pets and orders, and a program that asks for them; or nil.
func firstSteps(v *visit) ([]step, error) {
	ctx, workspace, shop, one := v.R.Context(), v.who.Workspace.ID, v.shop(), petstore.Page{Limit: 1}
	pets, err := v.Service.Pets(ctx, shop, petstore.PetQuery{Page: one})
	if err != nil {
		return nil, err
	}
	orders, err := v.Service.Orders(ctx, shop, petstore.OrderQuery{Page: one})
	if err != nil {
		return nil, err
	}
	filled := len(pets) > 0 && len(orders) > 0
	if filled && v.Now().Sub(v.who.Workspace.CreatedAt) > stepsFor {
		return nil, nil
	}
	days, err := v.Usage.KeyDays(ctx, workspace, "", v.Now().Add(-usage.KeepHours))
	days = slices.DeleteFunc(days, func(d usage.KeyDay) bool { return d.KeyID == usage.Forms || d.Total() == 0 })
	if err != nil || filled && len(days) > 0 {
		return nil, err
	}
	categories, err := v.Service.Categories(ctx, shop, petstore.CategoryQuery{Page: one})
	if err != nil {
		return nil, err
	}
	steps := []step{
		{"Add a category", "/console/categories/new", len(categories) > 0},
		{"Add a pet", "/console/pets/new", len(pets) > 0},
		{"Place an order", "/console/orders/new", len(orders) > 0},
	}
	if v.May(access.Manage) {
		keys, err := v.Access.KeyPage(ctx, workspace, access.KeyPage{Unrevoked: true, Limit: 2})
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{"Create a key for your program", "/console/keys/new", len(keys) > 1})
	}
	return append(steps, step{"Make the first request", "/docs/guides/first-request", len(days) > 0}), nil
}

// sunsetWatch returns the keys that used an operation that will end on days of a week, the busiest first: the key, how
// often, and on which day last.
func sunsetWatch(v *visit, days []usage.KeyDay) (page.List, error) {
	l := page.NewList("Keys that still call getPet, which is deprecated", "", "", "Key", "In 7 days", "Last (UTC)")
	l.Numbers[1], l.New = true, &page.Link{Title: "What to use instead", URL: "/docs/guides/sunset"}
	type use struct {
		id      string
		n, last int64
	}
	var uses []use
	for i := range days { // by key and day
		d := &days[i]
		if d.Deprecated == 0 {
			continue
		}
		if n := len(uses); n == 0 || uses[n-1].id != d.KeyID {
			uses = append(uses, use{id: d.KeyID})
		}
		last := &uses[len(uses)-1]
		last.n, last.last = last.n+d.Deprecated, d.Day
	}
	if len(uses) == 0 {
		return l, nil
	}
	keys, err := knownKeys(v.R.Context(), v)
	slices.SortStableFunc(uses, func(a, b use) int { return int(b.n - a.n) })
	names := page.KeyNames(keys)
	for _, u := range uses[:min(len(uses), few)] {
		key := page.Cell{Text: u.id, Name: true}
		if i := slices.IndexFunc(keys, func(k access.Key) bool { return k.ID == u.id }); i >= 0 {
			key.Text = names[u.id]
			if keys[i].RevokedAt.IsZero() {
				key.URL = "/console/keys/" + u.id
			}
		}
		l.Rows = append(l.Rows, []page.Cell{key, {Text: page.Number(u.n)}, {Text: time.Unix(u.last, 0).UTC().Format("2 Jan")}})
	}
	return l, err
}
