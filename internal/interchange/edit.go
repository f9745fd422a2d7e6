package interchange

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
)

// An Edit is a row of CSV with the id of a pet. Empty cells leave the pet unchanged.
//
// If the row has a version, it is merged with the changes in the shop since the row was exported: a cell that the row
// did not change has no effect, a cell that only the row changed is applied, and a cell that both changed is a fault.
type Edit struct {
	ID       int64
	Name     string
	Category string
	Status   petstore.Status
	Stock    *int64
	Add      int64

	was  version
	in   *petstore.Category // the category to set; nil for that of the pet
	done petstore.Amended
}

// setsStock reports whether the row sets the stock.
func (e *Edit) setsStock() bool {
	return e.Stock != nil && numeral(*e.Stock) != e.was.stock
}

// setsStatus reports whether the row sets the status. If its stock contradicts that, the stock decides.
func (e *Edit) setsStatus() bool {
	if e.setsStock() && (e.Status == petstore.Available && *e.Stock == 0 || e.Status == petstore.Sold && *e.Stock > 0) {
		return false
	}
	return e.Status != "" && string(e.Status) != e.was.status
}

// setsCategory reports whether the row sets the category.
func (e *Edit) setsCategory() bool {
	return e.Category != "" && e.Category != e.was.category
}

func (e *Edit) setsName() bool {
	return e.Name != "" && e.Name != e.was.name
}

// unchanged reports whether the row is as it was exported.
func (e *Edit) unchanged() bool {
	return e.was != (version{}) && e.Add == 0 && !e.setsName() && !e.setsCategory() && !e.setsStatus() && !e.setsStock()
}

// changes reports whether the row would change the pet now. p is nil if the pet does
// not exist.
func (e *Edit) changes(p *petstore.StockedPet, known *catalogue, line int) (bool, error) {
	if p == nil {
		if e.unchanged() {
			return false, nil
		}
		return false, petstore.NoPet(e.ID)
	}
	if err := e.findCategory(p, known, line); err != nil {
		return false, err
	}
	a, err := e.amend(*p, known)
	return a != (petstore.Amendment{}), err
}

// findCategory finds the category that the row names. If the name is ambiguous, the category of the pet is preferred.
func (e *Edit) findCategory(p *petstore.StockedPet, known *catalogue, line int) (err error) {
	if !e.setsCategory() {
		return nil
	}
	now := known.byID[p.CategoryID]
	if now != nil && (now.Name == e.Category || sameNumber(now.Name, e.Category)) {
		e.in = now
		return nil
	}
	if e.in, err = known.resolve(e.Category, line); err != nil && now != nil && matchKey(now.Name) == matchKey(e.Category) {
		e.in, err = now, nil
	}
	return err
}

// amend returns how the row changes the pet as it is now. Its error has a code.
func (e *Edit) amend(p petstore.StockedPet, known *catalogue) (a petstore.Amendment, err error) {
	var both conflicts
	e.amendNames(&a, p, known, &both)
	if err := e.amendStock(&a, p.Quantity, &both); err != nil {
		return a, err
	}
	if e.setsStatus() && (e.Status == p.Status || both.allow("status", e.was.status, string(p.Status), string(e.Status), string(p.Status))) &&
		(e.Status != p.Status || a.Quantity.Present) { // a change of the stock may change the status first
		a.Status = petstore.Some(e.Status)
	}
	return a, both.err()
}

// amendNames sets the name of the pet and its category.
func (e *Edit) amendNames(a *petstore.Amendment, p petstore.StockedPet, known *catalogue, both *conflicts) {
	if e.setsName() && e.Name != p.Name && !sameNumber(e.Name, p.Name) && both.allow("name", e.was.name, p.Name, strconv.Quote(e.Name), strconv.Quote(p.Name)) {
		a.Name = petstore.Some(e.Name)
	}
	if e.in != nil && e.in.ID != p.CategoryID &&
		both.allow("category", e.was.categoryID, numeral(p.CategoryID), strconv.Quote(e.Category), known.nameOf(p.CategoryID)) {
		a.CategoryID = petstore.Some(e.in.ID)
	}
}

// amendStock sets the stock or adds to it. quantity is the present stock.
func (e *Edit) amendStock(a *petstore.Amendment, quantity int64, both *conflicts) error {
	if e.setsStock() && *e.Stock != quantity &&
		both.allow("stock", e.was.stock, numeral(quantity), numeral(*e.Stock), numeral(quantity)) {
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

// conflicts describe the cells that the file and the shop have changed differently.
type conflicts []string

// allow reports whether the shop still has what it had in a column at the export, or that is not known and was is "".
// If not, it notes the conflict, with the values of the file and of the shop in words.
func (c *conflicts) allow(column, was, now, file, shop string) bool {
	if was == "" || was == now {
		return true
	}
	*c = append(*c, fmt.Sprintf("%s: the file changes it to %s, and since the export it was changed to %s", column, file, shop))
	return false
}

func (c conflicts) err() error {
	if len(c) == 0 {
		return nil
	}
	return petstore.Errorf(petstore.CodePreconditionFailed, "%s.", strings.Join(c, "; "))
}

// check normalizes the name and returns what is wrong with it.
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
