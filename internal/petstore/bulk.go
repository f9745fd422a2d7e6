package petstore

import (
	"context"
	"fmt"
)

// A Bulk is a store that whole workspaces are carried out of and into. Its methods
// may be called concurrently, and beside a server.
type Bulk interface {
	// Dump gives to everything that the workspace has, as it was at one
	// instant: Begin, then the categories by id, then, for each pet by id,
	// the pet, its orders and its ledger. Of a pet that was deleted
	// there are its orders and its ledger alone. It stops at to's first error
	// and returns it.
	Dump(ctx context.Context, workspace int64, to Sink) error

	// Load keeps the units of a batch in one durable transaction. A unit with
	// an id keeps it; one without gets the workspace's next, which is then in
	// the unit. If the unit is not kept, that means nothing.
	//
	// A unit that contradicts what the store has is refused: its id is taken,
	// or its category does not exist. Unless the batch says SkipRefused,
	// nothing of the batch then happens, and the first refusal is returned
	// alone. The units must have passed [Unit.Check].
	Load(ctx context.Context, workspace int64, b *Batch) ([]Refusal, error)

	// Reached returns the last line of a file that the batches of an import
	// have kept, if it was cut off; else 0. A reset forgets it.
	Reached(ctx context.Context, workspace int64, file string) (line int, err error)

	// Amend carries out changes of pets, which [Amend] returns, in one durable transaction. It returns the error of each that
	// was refused. If whole is true and any was, nothing has happened. If file is not "", the transaction also remembers that
	// its lines up to through are kept, see [Bulk.Reached].
	Amend(ctx context.Context, workspace int64, changes []*Change, whole bool, file string, through int) ([]error, error)

	// StockedPets is [Store.Pets] with what the pets have in stock.
	StockedPets(ctx context.Context, workspace int64, q PetQuery) ([]StockedPet, error)
	Categories(ctx context.Context, workspace int64, q CategoryQuery) ([]Category, error)

	// Rehearse calls f with the workspace as it is at one instant. There Load and Amend decide as they do, and keep nothing but
	// the ids: a later Load finds the rows of those before it. Other pets are as they were, so each can be amended once.
	// Nobody waits for it. f uses no other store meanwhile.
	Rehearse(ctx context.Context, workspace int64, f func(Bulk) error) error
}

// LastIDs are the ids that were issued last, of each kind.
type LastIDs struct{ Categories, Pets, Orders int64 }

// A Sink takes what [Bulk.Dump] gives.
type Sink interface {
	Begin(last LastIDs) error
	Category(Category) error
	Pet(StockedPet) error
	Order(Order) error
	Movement(Movement) error
}

// A Batch is what [Bulk.Load] keeps at once.
type Batch struct {
	Units       []Unit
	Last        LastIDs // issue none of the ids up to these again
	SkipRefused bool    // keep the units that are not refused

	// File is the digest of the file that the units come from, and Through its
	// last line that is kept with them, 0 for the whole of it: see
	// [Bulk.Reached]. An empty File is not remembered.
	File    string
	Through int

	// Imported ends an import: Load adds the event catalogue.imported, which has these
	// counts of all its batches.
	Imported *Imported
}

// Imported says what came with an import.
type Imported struct{ Categories, Pets, Orders int64 }

// AppendJSON appends i in its canonical form, see [Pet.AppendJSON].
func (i Imported) AppendJSON(dst []byte) []byte {
	return fmt.Appendf(dst, `{"categories":%d,"pets":%d,"orders":%d}`, i.Categories, i.Pets, i.Orders)
}

// A Unit is what is kept or refused as a whole: a category, or a pet with
// its orders and its ledger. Of a pet that was deleted it has the orders
// and the ledger alone.
type Unit struct {
	Category *Category

	PetID     int64 // of the pet, or of the one that was deleted; 0 for a new one
	Pet       *StockedPet
	In        *Category // the pet's category, if that has no id yet; its unit stands before
	Orders    []Order
	Movements []Movement
}

// A Place says which row of a unit is meant: the order or the movement with
// this number, counting from 1, or, if both are 0, the unit's own row.
type Place struct{ Order, Movement int }

// A Refusal says why a unit was not kept.
type Refusal struct {
	Unit int // its index in the batch
	Place
	Err error
}

// ErrRefused undoes the transaction of a batch of which a unit was refused. Load
// does not return it, but what was refused.
var ErrRefused error = Errorf(CodeValidationFailed, "A unit was refused.")

// A RowKind is a kind of row that there may be already.
type RowKind int

// The kinds of rows.
const (
	CategoryRow RowKind = iota
	PetRow
	OrderRow
	LedgerRow // by the id of its pet, which may be gone
	RowKinds  // how many there are
)

// A Has reports whether a workspace has a row. Its errors have no code.
type Has func(kind RowKind, id int64) (bool, error)

// Sift has keep write each unit, one after the other, unless it contradicts what
// there is, with what keep wrote before. It returns the units that do, and
// [ErrRefused] at the first of them unless the batch says SkipRefused. An error
// of has or keep ends it. If a unit names its pet's category by In, the pet gets
// the id of that.
func (b *Batch) Sift(has Has, keep func(*Unit) error) (refused []Refusal, _ error) {
	for i := range b.Units {
		u := &b.Units[i]
		if u.Pet != nil && u.In != nil {
			u.Pet.CategoryID = u.In.ID
		}
		switch place, err := u.judge(has); {
		case err == nil:
			if err := keep(u); err != nil {
				return refused, err
			}
		case CodeOf(err) == "":
			return refused, err
		case !b.SkipRefused:
			return []Refusal{{Unit: i, Place: place, Err: err}}, ErrRefused
		default:
			refused = append(refused, Refusal{Unit: i, Place: place, Err: err})
		}
	}
	return refused, nil
}

// judge returns why the unit cannot be kept, and where, in the order in which its
// rows would be written.
func (u *Unit) judge(has Has) (Place, error) {
	if u.Category != nil {
		return Place{}, has.free(CategoryRow, u.Category.ID, "There is a category with the id %d already.")
	}
	if err := u.judgePet(has); err != nil {
		return Place{}, err
	}
	const taken = "There is an order with the id %d already."
	own := make(map[int64]bool, len(u.Orders))
	for i, o := range u.Orders {
		err := has.free(OrderRow, o.ID, taken)
		if err == nil && own[o.ID] {
			err = Errorf(CodeValidationFailed, taken, o.ID)
		}
		if err != nil {
			return Place{Order: i + 1}, err
		}
		own[o.ID] = true
	}
	if len(u.Movements) == 0 {
		return Place{}, nil
	}
	return Place{Movement: 1}, has.free(LedgerRow, u.PetID, "The pet %d has a ledger already: it was deleted, and its id is not used again.")
}

func (u *Unit) judgePet(has Has) error {
	if u.Pet == nil {
		return has.free(PetRow, u.PetID, "There is a pet with the id %d already; its orders and its ledger can only come with it.")
	}
	if err := has.free(PetRow, u.PetID, "There is a pet with the id %d already."); err != nil {
		return err
	}
	there, err := has(CategoryRow, u.Pet.CategoryID)
	if err == nil && !there {
		err = NoCategory(u.Pet.CategoryID)
	}
	return err
}

// free returns an error if there is such a row already; one without an id gets a
// new one.
func (has Has) free(kind RowKind, id int64, format string) error {
	if id == 0 {
		return nil
	}
	there, err := has(kind, id)
	if err == nil && there {
		err = Errorf(CodeValidationFailed, format, id)
	}
	return err
}

// Check brings the names into normal form and returns what is wrong with the
// unit, and where: a rule for the members, or a stock or a status that the
// ledger does not explain. A pet without a ledger gets one, of movements at
// now.
func (u *Unit) Check(now Time) (Place, error) {
	if u.Category != nil {
		return Place{}, u.Category.check()
	}
	if u.Pet != nil {
		if err := u.Pet.check(u.In == nil); err != nil {
			return Place{}, err
		}
	}
	for i := range u.Orders {
		if err := u.checkOrder(&u.Orders[i]); err != nil {
			return Place{Order: i + 1}, err
		}
	}
	if u.Pet != nil && len(u.Movements) == 0 {
		u.explain(now)
	}
	if place, err := u.checkLedger(); err != nil {
		return place, err
	}
	return Place{}, u.checkOutcome()
}

func (c *Category) check() error {
	n := NewCategory{Name: c.Name, Description: c.Description}
	fields := append(checkGivenID(nil, "/id", c.ID), n.Check()...)
	c.Name, c.Description = n.Name, n.Description
	return Invalid(fields)
}

// check checks a pet's members; inCategory is whether its category has an
// id already.
func (p *StockedPet) check(inCategory bool) error {
	n := NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	if !inCategory {
		n.CategoryID = 1
	}
	fields := append(checkGivenID(nil, "/id", p.ID), n.Check()...)
	p.Name = n.Name
	if n.Status == "" {
		fields = checkStatus(fields, n.Status)
	}
	return Invalid(append(fields, CheckQuantity(p.Quantity)...))
}

// checkGivenID checks an id that a row brings along; 0 is none.
func checkGivenID(fields []Field, pointer string, id int64) []Field {
	return checkRange(fields, pointer, id, 0, MaxID)
}

func (u *Unit) checkOrder(o *Order) error {
	n := NewOrder{PetID: o.PetID, Quantity: o.Quantity}
	fields := append(checkRange(nil, "/id", o.ID, 1, MaxID), n.Check()...)
	if err := Invalid(fields); err != nil {
		return err
	}
	if !o.Complete && u.Pet == nil {
		return Errorf(CodeValidationFailed, "The order %d is open, and its pet %d does not come before it.", o.ID, o.PetID)
	}
	return nil
}

// explain gives the pet the ledger that its orders and its stock imply.
func (u *Unit) explain(now Time) {
	p := u.Pet
	first := p.Quantity
	for _, o := range u.Orders {
		first += o.Quantity
	}
	ledger := StockedPet{Pet: p.Pet}
	u.Movements = append(make([]Movement, 0, 1+len(u.Orders)), *ledger.move(MovedCreated, first, now))
	for _, o := range u.Orders {
		kind := MovedSale
		if !o.Complete {
			kind = MovedPlaced
		}
		m := ledger.move(kind, ledger.Quantity-o.Quantity, now)
		m.OrderID = o.ID
		u.Movements = append(u.Movements, *m)
	}
}

// checkLedger holds each movement against the one before it.
func (u *Unit) checkLedger() (Place, error) {
	var quantity int64
	for i, m := range u.Movements {
		place := Place{Movement: i + 1}
		switch {
		case !m.Kind.valid():
			return place, Errorf(CodeValidationFailed, "kind must be one of created, placed, sale, completed, cancelled, set, sold, deleted.")
		case m.Number != int64(i)+1:
			return place, Errorf(CodeValidationFailed, "The movement has the number %d where %d is due.", m.Number, i+1)
		case (m.Kind == MovedCreated) != (i == 0):
			return place, Errorf(CodeValidationFailed, "A ledger begins with the movement created, and has no other.")
		case (m.Kind == MovedDeleted) != (u.Pet == nil && i == len(u.Movements)-1):
			return place, Errorf(CodeValidationFailed, "The ledger of a deleted pet ends with the movement deleted, and no other ledger has one.")
		case m.OrderID < 0 || m.OrderID > MaxID || !m.At.Valid:
			return place, Errorf(CodeValidationFailed, "The movement needs an instant, and an order's id within 1 and %d if it has one.", int64(MaxID))
		case m.Quantity < 0 || m.Quantity-m.Delta != quantity:
			return place, Errorf(CodeValidationFailed, "The movement says that %d%+d leaves %d; before it there were %d.", m.Quantity-m.Delta, m.Delta, m.Quantity, quantity)
		}
		quantity = m.Quantity
	}
	return Place{}, nil
}

func (k MovementKind) valid() bool {
	switch k {
	case MovedCreated, MovedPlaced, MovedSale, MovedCompleted, MovedCancelled, MovedSet, MovedSold, MovedDeleted:
		return true
	}
	return false
}

// checkOutcome holds the pet against what its ledger and its orders lead to,
// and writes down the numbers that follow from them.
func (u *Unit) checkOutcome() error {
	var quantity, ledgerOpen, open int64
	for _, m := range u.Movements {
		quantity = m.Quantity
		switch m.Kind {
		case MovedPlaced:
			ledgerOpen++
		case MovedCompleted, MovedCancelled:
			ledgerOpen--
		}
	}
	for _, o := range u.Orders {
		if !o.Complete {
			open++
		}
	}
	if ledgerOpen != open {
		return Errorf(CodeValidationFailed, "The pet has %s, and its ledger says %d.", openOrders(open), ledgerOpen)
	}
	p := u.Pet
	switch {
	case p == nil && quantity != 0:
		return Errorf(CodeValidationFailed, "The ledger of the deleted pet %d leaves %d units.", u.PetID, quantity)
	case p == nil:
		return nil
	case p.Quantity != quantity:
		return Errorf(CodeValidationFailed, "quantity is %d, and the ledger says %d.", p.Quantity, quantity)
	}
	p.OpenOrders, p.Movements = open, int64(len(u.Movements))
	return p.checkStatus()
}

// checkStatus refuses a status that no change could have led to.
func (p *StockedPet) checkStatus() error {
	switch {
	case p.Status == Available && p.Quantity == 0:
		return Errorf(CodeOutOfStock, "A pet that is available needs stock.")
	case p.Status == Sold && p.Quantity > 0:
		return Errorf(CodeValidationFailed, "A pet that is sold has no stock; this one has %d.", p.Quantity)
	case p.Status == Sold && p.OpenOrders > 0:
		return Errorf(CodePetHasOpenOrders, "A pet that is sold has no open orders; this one has %d.", p.OpenOrders)
	}
	return nil
}
