package interchange

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"example.com/petstore/internal/petstore"
)

// maxNoted is how many changes of stock, and how many new categories, Notes lists.
const maxNoted = 100

// Notes describe an import for the user who has to confirm it.
type Notes struct {
	Stock      []StockChange `json:"stockChanges"`  // the first ones
	Categories []NewCategory `json:"newCategories"` // the first ones
	Questions  []string      `json:"questions"`     // of DryRun: what should be confirmed; continues "This will"

	changes     int64 // number of changes of stock
	unversioned int64 // how many of them are by rows without a version
	newPets     int64
	newNames    []string // of the first new pets
}

// A StockChange is a change of the stock of an existing pet.
type StockChange struct {
	PetID  int64  `json:"petId"`
	Name   string `json:"name"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

// A NewCategory is a category that a file adds.
type NewCategory struct {
	Line    int    `json:"line"`
	Name    string `json:"name"`
	Similar string `json:"didYouMean,omitempty"` // of DryRun: the name of an existing category that is nearly the same
}

// Lines returns the notes as lines of text.
func (n *Notes) Lines() []string {
	var lines []string
	for _, c := range n.Categories {
		name := c.Name
		if strings.TrimSpace(name) != name {
			name = strconv.Quote(name) // so that the spaces are visible
		}
		line := fmt.Sprintf("line %d: new category %s", c.Line, name)
		if c.Similar != "" {
			line += "; did you mean " + c.Similar + "?"
		}
		lines = append(lines, line)
	}
	for _, s := range n.Stock {
		lines = append(lines, fmt.Sprintf("pet %d, %s: stock %d, then %d", s.PetID, s.Name, s.Before, s.After))
	}
	if more := n.changes - int64(len(n.Stock)); more > 0 {
		lines = append(lines, "and the stock of "+english.Plural(int(more), "more pet", ""))
	}
	return lines
}

// amended notes a changed pet.
func (n *Notes) amended(e *Edit) {
	if e.done.Before.Quantity == e.done.After.Quantity {
		return
	}
	n.changes++
	if e.was == (version{}) && e.Stock != nil {
		n.unversioned++
	}
	if len(n.Stock) < maxNoted {
		n.Stock = append(n.Stock, StockChange{e.ID, e.done.Before.Name, e.done.Before.Quantity, e.done.After.Quantity})
	}
}

// added notes new categories.
func (n *Notes) added(all []Entry) {
	for _, e := range all[:min(len(all), maxNoted-len(n.Categories))] {
		n.Categories = append(n.Categories, NewCategory{Line: e.Line, Name: e.Category.Name})
	}
}

// maxCompared is how many categories a workspace may have for the names of new ones to be compared with all of theirs.
const maxCompared = 2500

// findSimilar finds, for each new category, an older one with nearly the same name.
func (n *Notes) findSimilar(known *catalogue) {
	if len(n.Categories) == 0 || len(known.names) > maxCompared {
		return
	}
	keys := make([][]rune, len(known.names))
	for i, name := range known.names {
		keys[i] = []rune(matchKey(name))
	}
	for i := range n.Categories {
		n.Categories[i].Similar = known.similarTo(n.Categories[i].Name, keys)
	}
}

// findQuestions finds out what the user should confirm.
func (n *Notes) findQuestions(ctx context.Context, in petstore.Bulk, workspace int64) error {
	if n.unversioned > 0 {
		n.Questions = append(n.Questions, fmt.Sprintf("set the stock of %s, whatever was sold since the file was made, as the file has no column version", english.Plural(int(n.unversioned), "pet", "")))
	}
	known := 0
	for _, name := range n.newNames {
		pets, err := in.Pets(ctx, workspace, petstore.PetQuery{Page: petstore.Page{Limit: petstore.MaxPage}, Name: petstore.Fold(name)})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(pets, func(p petstore.StockedPet) bool { return petstore.Fold(p.Name) == petstore.Fold(name) }) {
			known++
		}
	}
	if of := len(n.newNames); of >= fewestNames && 2*known > of {
		how := "most of"
		if known == of {
			how = "all"
		}
		n.Questions = append(n.Questions, fmt.Sprintf("add %s, though pets with %s their names are there already", english.Plural(int(n.newPets), "pet", ""), how))
	}
	return nil
}

// fewestNames is how many new pets a file must have for their names to be searched, and mostNames how many names, the
// first ones, are searched at most.
const (
	fewestNames = 2
	mostNames   = 100
)

// shortName is how many letters a name must have to be searched. Shorter names are not indexed, so that each search
// would read the whole shop.
const shortName = 3

// newPet notes a new pet.
func (n *Notes) newPet(name string) {
	n.newPets++
	if len(n.newNames) < mostNames && utf8.RuneCountInString(petstore.Fold(name)) >= shortName {
		n.newNames = append(n.newNames, name)
	}
}
