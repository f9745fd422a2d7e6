package console

import (
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

const maxPicks = 10

// petField is a field that takes a pet by its number or by its name. Its options are those that the browser's script
// offers while somebody types.
func petField(label, value string, required bool) page.Field {
	return page.Field{Name: "petId", Label: label, Kind: "pet", Value: value, Required: required, Hint: "Name or number"}
}

// pickName is how a pet is offered, and entered: its name with its number.
func pickName(p petstore.Pet) string { return p.Name + " #" + page.Text(p.ID) }

// pickedID returns the number that was entered, with or without a #, or 0.
func pickedID(entered string) int64 {
	id, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(entered), "#"), 10, 64)
	if err != nil || id < 1 {
		return 0
	}
	return id
}

// petsMeant returns the pet whose number was entered, or its name with its number; else the first pets with what was
// entered in their names.
func petsMeant(v *visit, entered string) (id int64, others []petstore.Pet, err error) {
	entered = strings.TrimSpace(entered)
	if id = pickedID(entered); id > 0 || entered == "" {
		return id, nil, nil
	}
	if i := strings.LastIndexByte(entered, '#'); i > 0 && pickedID(entered[i:]) > 0 {
		pet, err := v.Service.Pet(v.R.Context(), v.who.Workspace.Shop, pickedID(entered[i:]))
		if err != nil && petstore.CodeOf(err) != petstore.CodePetNotFound {
			return 0, nil, err
		}
		if err == nil && sameName(pet.Name, entered[:i]) {
			return pet.ID, nil, nil
		}
	}
	others, err = v.Service.Pets(v.R.Context(), v.who.Workspace.Shop, petstore.PetQuery{Page: petstore.Page{Limit: maxPicks}, Name: petstore.Fold(entered)})
	return 0, others, err
}

func sameName(a, b string) bool {
	return petstore.Fold(strings.TrimSpace(a)) == petstore.Fold(strings.TrimSpace(b))
}

// pickPet returns the pet that a form names by its number or by the whole of its name. Of a part of names, and of a name that
// several have, it adds a field to the form to choose one of them, and returns an error that says so.
func pickPet(v *visit, in *page.Input) (int64, error) {
	entered := in.Text("petId")
	if chosen := pickedID(in.R.PostForm.Get("pet")); chosen > 0 && in.R.PostForm.Get("asked") == entered {
		return chosen, nil
	}
	id, pets, err := petsMeant(v, entered)
	switch {
	case err != nil || id > 0:
		return id, err
	case len(pets) == 1 && sameName(pets[0].Name, entered):
		return pets[0].ID, nil
	case len(pets) == 0:
		return 0, page.FieldError("petId", "There is no pet with this name. Enter a part of its name, or its number.")
	}
	options := make([]page.Option, len(pets))
	for i, p := range pets {
		options[i] = page.Option{Value: page.Text(p.ID), Label: pickName(p) + ", " + string(p.Status)}
	}
	f := &in.Form
	f.Fields = slices.Insert(f.Fields, 1, page.Field{Name: "pet", Label: "Which one?", Kind: "select", Options: options}, page.Field{Name: "asked", Kind: "hidden", Value: entered})
	which := "Choose the pet that is meant."
	if len(pets) == maxPicks {
		which += " There may be more than these: enter more of the name to see them."
	}
	return 0, page.FieldError("pet", which)
}

// findPets tells the browser's script which pets have what is being entered in their names.
func findPets(v *visit) error {
	_, pets, err := petsMeant(v, v.R.URL.Query().Get("name"))
	if err != nil {
		return err
	}
	names := make([]string, len(pets))
	for i, p := range pets {
		names[i] = pickName(p)
	}
	return v.RenderJSON(names)
}

// filteredPet returns the pet that the query of a list names by its number or its name. With a name that several have it
// returns 0 and links to the list of each.
func filteredPet(v *visit, path string) (id int64, choices []page.Link, err error) {
	query := v.R.URL.Query()
	entered := query.Get("petId")
	id, pets, err := petsMeant(v, entered)
	switch {
	case err != nil || id > 0 || entered == "":
		return id, nil, err
	case len(pets) == 1:
		return pets[0].ID, nil, nil
	}
	query.Del("after")
	for _, p := range pets {
		query.Set("petId", pickName(p))
		choices = append(choices, page.Link{Title: pickName(p), URL: page.Address(path, query)})
	}
	return noPet, choices, nil
}

// noPet is the id of no pet.
const noPet = petstore.MaxID + 1
