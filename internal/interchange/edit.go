package interchange

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
)

// An Edit is what a row of CSV with an id says of that pet. What it leaves empty stays as it is.
//
// With a version it is merged with what the shop did since the row was written: what the row did not change stays as it is now,
// what only the row changed is changed, and what both changed is a fault.
type Edit struct {
	ID       int64
	Name     string
	Category string
	Status   petstore.Status
	Stock    *int64
	Add      int64

	was  *version           // nil for a row without one
	in   *petstore.Category // what Category means, if it may be another than that of the pet
	done petstore.Amended
}

// setsStock reports whether the row says what the stock is to be.
func (e *Edit) setsStock() bool {
	return e.Stock != nil && (e.was == nil || lastBits(*e.Stock) != e.was.stock)
}

// setsStatus reports whether the row says what the status is to be. Where the stock contradicts it, the stock decides.
func (e *Edit) setsStatus() bool {
	if e.setsStock() && (e.Status == petstore.Available && *e.Stock == 0 || e.Status == petstore.Sold && *e.Stock > 0) {
		return false
	}
	return e.Status != "" && (e.was == nil || statusPlace(e.Status) != e.was.status)
}

// setsCategory reports whether the row says what the category is to be.
func (e *Edit) setsCategory() bool {
	return e.Category != "" && (e.was == nil || checksum(e.Category) != e.was.category)
}

func (e *Edit) setsName() bool {
	return e.Name != "" && (e.was == nil || checksum(e.Name) != e.was.name)
}

// silent reports whether the row is as it was written.
func (e *Edit) silent() bool {
	return e.was != nil && e.Add == 0 && !e.setsName() && !e.setsCategory() && !e.setsStatus() && !e.setsStock()
}

// find finds out what the row's category means for the pet as it is now. A name that may mean several means that of the pet if
// it may.
func (e *Edit) find(p *petstore.StockedPet, known *catalogue, line int) (err error) {
	if !e.setsCategory() {
		return nil
	}
	now := known.byID[p.CategoryID]
	if now != nil && (now.Name == e.Category || sameNumber(now.Name, e.Category)) {
		e.in = now
		return nil
	}
	if e.in, err = known.named(e.Category, line); err != nil && now != nil && alike(now.Name) == alike(e.Category) {
		e.in, err = now, nil
	}
	return err
}

// amend returns what becomes of the pet as it is now. Its error has a code.
func (e *Edit) amend(p petstore.StockedPet, known *catalogue) (a petstore.Amendment, err error) {
	var both conflicts
	e.amendNames(&a, p, known, &both)
	if err := e.amendStock(&a, p.Quantity, &both); err != nil {
		return a, err
	}
	if e.setsStatus() && (e.Status == p.Status || both.free(e.was == nil || e.was.status == statusPlace(p.Status), "status", string(e.Status), string(p.Status))) &&
		(e.Status != p.Status || a.Quantity.Present) { // the stock may change it first
		a.Status = petstore.Some(e.Status)
	}
	return a, both.err()
}

// amendNames sets the name of the pet and its category.
func (e *Edit) amendNames(a *petstore.Amendment, p petstore.StockedPet, known *catalogue, both *conflicts) {
	if e.setsName() && e.Name != p.Name && !sameNumber(e.Name, p.Name) && both.free(e.was == nil || e.was.name == checksum(p.Name), "name", strconv.Quote(e.Name), strconv.Quote(p.Name)) {
		a.Name = petstore.Some(e.Name)
	}
	if e.in != nil && e.in.ID != p.CategoryID &&
		both.free(e.was == nil || e.was.categoryID == lastBits(p.CategoryID), "category", strconv.Quote(e.Category), known.nameOf(p.CategoryID)) {
		a.CategoryID = petstore.Some(e.in.ID)
	}
}

// amendStock sets or adds to the stock, of which there is quantity now.
func (e *Edit) amendStock(a *petstore.Amendment, quantity int64, both *conflicts) error {
	if e.setsStock() && *e.Stock != quantity &&
		both.free(e.was == nil || e.was.stock == lastBits(quantity), "stock", strconv.FormatInt(*e.Stock, 10), strconv.FormatInt(quantity, 10)) {
		a.Quantity = petstore.Some(*e.Stock)
	}
	if e.Add == 0 {
		return nil
	}
	if a.Quantity = petstore.Some(quantity + e.Add); a.Quantity.Value < 0 || a.Quantity.Value > petstore.MaxQuantity {
		return petstore.Errorf(petstore.CodeValidationFailed, "add: %+d to a stock of %d; it must be between 0 and %d afterwards.", e.Add, quantity, petstore.MaxQuantity)
	}
	return nil
}

// sameNumber reports whether two texts are the same number for a spreadsheet, which writes 00123 as 123 and 1E5 as 1.00E+05.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y && !math.IsInf(x, 0)
}

// conflicts are the cells that the file and the shop have changed, each in its own way.
type conflicts []string

// free reports whether a cell can be changed, or notes the conflict.
func (c *conflicts) free(free bool, column, file, now string) bool {
	if !free {
		*c = append(*c, fmt.Sprintf("%s: the file changes it to %s, and since the export it was changed to %s", column, file, now))
	}
	return free
}

func (c conflicts) err() error {
	if len(c) == 0 {
		return nil
	}
	return petstore.Errorf(petstore.CodePreconditionFailed, "%s.", strings.Join(c, "; "))
}

// check brings the names into normal form and returns what is wrong with them.
func (e *Edit) check() error {
	if e.Name != "" {
		p := petstore.PetPatch{Name: petstore.Some(e.Name)}
		if err := petstore.Invalid(p.Check()); err != nil {
			return err
		}
		e.Name = p.Name.Value
	}
	return nil
}
