package interchange

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
)

// maxNoted is how many changes of stock, and how many new categories, are noted one by one.
const maxNoted = 100

// Notes are what somebody should know of an import before it is done.
type Notes struct {
	Stock      []StockChange `json:"stockChanges"`  // the first ones
	Categories []NewCategory `json:"newCategories"` // the first ones
	Questions  []string      `json:"questions"`     // of Try: what should be confirmed, as it follows "This will"

	changes int64  // of stock
	blind   int64  // of them, those that a row without a version says
	fresh   sample // names of new pets
}

// A StockChange is one of the stock of a pet that is there.
type StockChange struct {
	PetID  int64  `json:"petId"`
	Name   string `json:"name"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

// A NewCategory is one that a file adds.
type NewCategory struct {
	Line int    `json:"line"`
	Name string `json:"name"`
	Near string `json:"didYouMean,omitempty"` // of Try: one that is there, whose name is nearly the same
}

// Lines returns the notes in words, one by one.
func (n *Notes) Lines() []string {
	var lines []string
	for _, c := range n.Categories {
		name := c.Name
		if strings.TrimSpace(name) != name {
			name = strconv.Quote(name) // so that the spaces are seen
		}
		line := fmt.Sprintf("line %d: new category %s", c.Line, name)
		if c.Near != "" {
			line += "; did you mean " + c.Near + "?"
		}
		lines = append(lines, line)
	}
	for _, s := range n.Stock {
		lines = append(lines, fmt.Sprintf("pet %d, %s: stock %d, then %d", s.PetID, s.Name, s.Before, s.After))
	}
	if more := n.changes - int64(len(n.Stock)); more > 0 {
		lines = append(lines, "and the stock of "+Quantity(more, "more pet", "more pets"))
	}
	return lines
}

// amended notes what became of a pet.
func (n *Notes) amended(e *Edit) {
	if e.done.Before.Quantity == e.done.After.Quantity {
		return
	}
	n.changes++
	if e.was == nil && e.Stock != nil {
		n.blind++
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

// compare finds out which new categories have nearly the name of one that was there before.
func (n *Notes) compare(known *catalogue) {
	for i := range n.Categories {
		c := &n.Categories[i]
		c.Near = known.near(c.Name)
	}
}

// ask finds out what should be confirmed.
func (n *Notes) ask(ctx context.Context, in petstore.Bulk, workspace int64) error {
	if n.blind > 0 {
		n.Questions = append(n.Questions, fmt.Sprintf("set the stock of %s, whatever was sold since the file was made, as the file has no column version", Quantity(n.blind, "pet", "pets")))
	}
	known := 0
	for _, name := range n.fresh.names {
		pets, err := in.StockedPets(ctx, workspace, petstore.PetQuery{Page: petstore.Page{Limit: petstore.MaxPage}, Name: petstore.Fold(name)})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(pets, func(p petstore.StockedPet) bool { return petstore.Fold(p.Name) == petstore.Fold(name) }) {
			known++
		}
	}
	if of := len(n.fresh.names); of >= fewestNames && 2*known > of {
		how := "most of"
		if known == of {
			how = "all"
		}
		n.Questions = append(n.Questions, fmt.Sprintf("add %s, though pets with %s their names are there already", Quantity(n.fresh.seen, "pet", "pets"), how))
	}
	return nil
}

// fewestNames is how many new pets a file must have for its names to be looked at, and mostNames how many of them are.
const (
	fewestNames = 2
	mostNames   = 100
)

// shortName is how many letters a name must have to be looked at: shorter ones are in no index, so that each search for one would
// read the whole shop.
const shortName = 3

// A sample has some of the names that it has seen, evenly, but no short ones.
type sample struct {
	names       []string
	seen, every int64
}

func (s *sample) add(name string) {
	s.every = max(s.every, 1)
	if s.seen++; (s.seen-1)%s.every != 0 || utf8.RuneCountInString(petstore.Fold(name)) < shortName {
		return
	}
	if len(s.names) == mostNames {
		for i := range mostNames / 2 {
			s.names[i] = s.names[2*i]
		}
		s.names, s.every = s.names[:mostNames/2], 2*s.every
	}
	s.names = append(s.names, name)
}
