package console

import (
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// How many pets or categories are offered, how many categories before the user types, and among how many matches an
// exact one is looked for.
const (
	maxPicks   = 10
	maxOffered = 50
	maxFound   = 1000
)

// A choice is a pet or a category that can be chosen.
type choice struct {
	id         int64
	name, note string
}

// String returns the text that is offered and entered for a choice: its name with its
// number.
func (c choice) String() string { return pickName(c.name, c.id) }

func pickName(name string, id int64) string { return name + " #" + page.Text(id) }

// A picker finds pets or categories by name or number. Its fields are named after the member of the API.
type picker struct {
	what, label, member string
	path                string // of the page that returns choices to the script
	offers              int    // how many are offered before the user types
	find                func(v *visit, ids []int64, part string, most int) ([]choice, error)
}

var petPicker = &picker{what: "pet", label: "Pet", member: "petId", path: "/console/pets/find", find: findPets}

var categoryPicker = &picker{what: "category", label: "Category", member: "categoryId", path: "/console/categories/find", offers: maxOffered, find: findCategories}

func findPets(v *visit, ids []int64, part string, most int) (found []choice, err error) {
	pets, err := v.Service.Pets(v.R.Context(), v.shop(), petstore.PetQuery{Page: petstore.Page{Limit: most}, IDs: ids, Name: part})
	for _, p := range pets {
		found = append(found, choice{p.ID, p.Name, string(p.Status)})
	}
	return found, err
}

func findCategories(v *visit, ids []int64, part string, most int) (found []choice, err error) {
	if len(ids) > 0 { // there is one at most
		name, err := categoryName(v, ids[0])
		if name == "" {
			return nil, err
		}
		return []choice{{id: ids[0], name: name}}, nil
	}
	all, err := v.Service.Categories(v.R.Context(), v.shop(), petstore.CategoryQuery{Page: petstore.Page{Limit: most}, Name: part})
	for _, c := range all {
		found = append(found, choice{id: c.ID, name: c.Name})
	}
	return found, err
}

// field returns a field for a name or a number. Its options are offered until the script requests others.
func (p *picker) field(v *visit, value string, required bool) (page.Field, error) {
	f := page.Field{Name: p.member, Label: p.label, Kind: "pick", Find: p.path, Value: value, Required: required, Hint: "Name or number"}
	if p.offers == 0 {
		return f, nil
	}
	found, err := p.find(v, nil, "", p.offers)
	for _, c := range found {
		f.Options = append(f.Options, page.Option{Value: c.String()})
	}
	return f, err
}

// pickedID returns the number that was entered, with or without a #, or 0.
func pickedID(entered string) int64 {
	id, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(entered), "#"), 10, 64)
	if err != nil || id < 1 {
		return 0
	}
	return id
}

// meant returns the id for what was entered: a number, a name with its number, or an unambiguous name. Otherwise it
// returns the choices with the name or, if there are none, with a part of it.
func (p *picker) meant(v *visit, entered string) (id int64, others []choice, err error) {
	entered = strings.TrimSpace(entered)
	if id = pickedID(entered); id > 0 || entered == "" {
		return id, nil, nil
	}
	if i := strings.LastIndexByte(entered, '#'); i > 0 && pickedID(entered[i:]) > 0 {
		found, err := p.find(v, []int64{pickedID(entered[i:])}, "", 1)
		if err != nil || len(found) > 0 && sameName(found[0].name, entered[:i]) {
			return pickedID(entered[i:]), nil, err
		}
	}
	others, err = p.find(v, nil, petstore.Fold(entered), maxFound)
	same := slices.DeleteFunc(slices.Clone(others), func(c choice) bool { return !sameName(c.name, entered) })
	switch {
	case err == nil && len(same) == 1:
		return same[0].id, nil, nil
	case len(same) > 0:
		others = same
	}
	return 0, others[:min(len(others), maxPicks)], err
}

func sameName(a, b string) bool {
	return petstore.Fold(strings.TrimSpace(a)) == petstore.Fold(strings.TrimSpace(b))
}

// pick returns the id that a form gives by number or by the whole name, or 0 for a new name, if that is allowed. If
// the name is ambiguous or only a part of names, it adds a field to the form to choose one of them, and returns an
// error.
func (p *picker) pick(v *visit, in *page.Input, mayBeNew bool) (int64, error) {
	entered := in.Text(p.member)
	if chosen := pickedID(in.R.PostForm.Get("which")); chosen > 0 && in.R.PostForm.Get("asked") == entered {
		return chosen, nil
	}
	id, others, err := p.meant(v, entered)
	switch {
	case err != nil || id > 0 || mayBeNew && (len(others) == 0 || !sameName(others[0].name, entered)):
		return id, err
	case strings.TrimSpace(entered) == "":
		return 0, page.FieldError(p.member, "Enter the name of a "+p.what+".")
	case len(others) == 0:
		return 0, page.FieldError(p.member, "There is no "+p.what+" with this name. Enter a part of its name, or its number.")
	}
	options := make([]page.Option, len(others))
	for i, c := range others {
		options[i] = page.Option{Value: page.Text(c.id), Label: strings.TrimSuffix(c.String()+", "+c.note, ", ")}
	}
	f := &in.Form
	at := 1 + slices.IndexFunc(f.Fields, func(field page.Field) bool { return field.Name == p.member })
	f.Fields = slices.Insert(f.Fields, at, page.Field{Name: "which", Label: "Which one?", Kind: "select", Options: options}, page.Field{Name: "asked", Kind: "hidden", Value: entered})
	which := "Choose the " + p.what + " that is meant."
	if len(others) == maxPicks {
		which += " There may be more than these: enter more of the name to see them."
	}
	return 0, page.FieldError("which", which)
}

// tell answers the script with the choices whose names contain the entered text.
func (p *picker) tell(v *visit) error {
	names := []string{}
	if part := strings.TrimSpace(v.R.URL.Query().Get("name")); part != "" {
		found, err := p.find(v, nil, petstore.Fold(part), maxPicks)
		if err != nil {
			return err
		}
		for _, c := range found {
			names = append(names, c.String())
		}
	}
	return v.RenderJSON(names)
}

// filter adds a filter to a list, and returns the id that was entered, or 0. For an ambiguous name it adds a link to
// the list of each.
func (p *picker) filter(v *visit, f *page.Filters) (id int64, err error) {
	field, err := p.field(v, "", false)
	if err != nil {
		return 0, err
	}
	entered := f.Add(field)
	id, others, err := p.meant(v, entered)
	switch {
	case err != nil || id > 0 || entered == "":
		return id, err
	case len(others) == 1:
		return others[0].id, nil
	case len(others) == 0:
		f.Fault("There is no " + p.what + " with this name.")
		return 0, nil
	}
	f.Fault("Several have this in their names.")
	query := v.R.URL.Query()
	query.Del("after")
	for _, c := range others {
		query.Set(p.member, c.String())
		f.Choices = append(f.Choices, page.Link{Title: c.String(), URL: page.Address(v.R.URL.Path, query)})
	}
	return 0, nil
}
