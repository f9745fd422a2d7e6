package console

import (
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// How many pets or categories are offered, how many an error names, how many categories are offered before the user types,
// and among how many matches an exact one is looked for.
const (
	maxPicks   = 10
	maxNamed   = 5
	maxOffered = 50
	maxFound   = 1000
)

// A choice is a pet or a category that can be chosen.
type choice struct {
	id   int64
	name string
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
		found = append(found, choice{p.ID, p.Name})
	}
	return found, err
}

func findCategories(v *visit, ids []int64, part string, most int) (found []choice, err error) {
	if len(ids) > 0 { // there is one at most
		name, err := categoryName(v, ids[0])
		if name == "" {
			return nil, err
		}
		return []choice{{ids[0], name}}, nil
	}
	all, err := v.Service.Categories(v.R.Context(), v.shop(), petstore.CategoryQuery{Page: petstore.Page{Limit: most}, Name: part})
	for _, c := range all {
		found = append(found, choice{c.ID, c.Name})
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
	f.Options = optionsOf(found)
	return f, err
}

func optionsOf(all []choice) (options []page.Option) {
	for _, c := range all {
		options = append(options, page.Option{Value: c.String()})
	}
	return options
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
	return 0, others, err
}

func sameName(a, b string) bool {
	return petstore.Fold(strings.TrimSpace(a)) == petstore.Fold(strings.TrimSpace(b))
}

// isIt asks which one of several is meant. It names the first of them as they can be entered, since not every browser shows
// the list, and a list of its own shows none that are spelled otherwise.
func isIt(all []choice) string {
	var names []string
	for _, c := range all[:min(len(all), maxNamed)] {
		names = append(names, c.String())
	}
	if n := len(names); len(all) > maxNamed {
		names = append(names, "or another")
	} else if n > 1 {
		names = append(names[:n-2], names[n-2]+" or "+names[n-1])
	}
	return "Is it " + strings.Join(names, ", ") + "? Enter one as it is written here, or its number."
}

// pick returns the id that a form gives by number or by the whole name, or 0 for a new name, if that is allowed. If the name
// is ambiguous or only a part of names, it returns an error, and the field offers those.
func (p *picker) pick(v *visit, in *page.Input, mayBeNew bool) (int64, error) {
	entered := in.Text(p.member)
	id, others, err := p.meant(v, entered)
	switch {
	case err != nil || id > 0 || mayBeNew && (len(others) == 0 || !sameName(others[0].name, entered)):
		return id, err
	case strings.TrimSpace(entered) == "":
		return 0, page.FieldError(p.member, "Enter the name of a "+p.what+".")
	case len(others) == 0:
		return 0, page.FieldError(p.member, "There is no "+p.what+" with this name. Enter a part of its name, or its number.")
	}
	fields := in.Form.Fields
	fields[slices.IndexFunc(fields, func(f page.Field) bool { return f.Name == p.member })].Options = optionsOf(others[:min(len(others), maxPicks)])
	return 0, page.FieldError(p.member, isIt(others))
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

// filter adds a filter to a list, and returns the id that was entered, or 0. For an ambiguous name the field offers those that
// have it.
func (p *picker) filter(v *visit, f *page.Filters) (id int64, err error) {
	field, err := p.field(v, "", false)
	if err != nil {
		return 0, err
	}
	entered := f.Add(field)
	id, others, err := p.meant(v, entered)
	switch {
	case err != nil || id > 0 || entered == "":
	case len(others) == 1:
		id = others[0].id
	case len(others) == 0:
		f.Fault("There is no " + p.what + " with this name.")
	default:
		f.Fault(isIt(others))
		f.Fields[len(f.Fields)-1].Options = optionsOf(others[:min(len(others), maxPicks)])
	}
	return id, err
}
