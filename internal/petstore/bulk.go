package petstore

import (
	"context"
	"slices"

	"github.com/dustin/go-humanize/english"
)

// A Bulk exports and imports whole workspaces. Its methods may be called concurrently,
// and while a server uses the same database.
type Bulk interface {
	// Dump calls to with everything that the workspace has, as it was at one instant:
	// Begin, then the categories by id, then, for each pet by id, the pet, its orders
	// and its ledger. For a pet that was deleted, only its orders and its ledger
	// follow. Dump stops at the first error of to and returns it.
	Dump(ctx context.Context, workspace int64, to Sink) error

	// Load stores the units of a batch in one durable transaction, one after the other. A
	// unit with an id keeps it. A unit without one gets the next id of the workspace, which
	// Load writes into the unit; in a unit that is refused, that id has no meaning.
	//
	// Load refuses a unit that conflicts with what the store has: its id is taken, its
	// category does not exist, or its change is refused. Without SkipRefused it then stores
	// nothing of the batch and returns only the first refusal. The units, unless they are
	// changes, must have passed [Unit.Check].
	Load(ctx context.Context, workspace int64, b *Batch) ([]Refusal, error)

	// ImportedThrough returns up to which line a file has been imported, by an import
	// that was interrupted; 0 if there was none. A reset forgets it.
	ImportedThrough(ctx context.Context, workspace int64, file string) (line int, err error)

	// Pets and Categories are those of [Store].
	Pets(ctx context.Context, workspace int64, q PetQuery) ([]StockedPet, error)
	Categories(ctx context.Context, workspace int64, q CategoryQuery) ([]Category, error)

	// DryRun calls f with a Bulk on a snapshot of the workspace, whose Load returns what it would return, and writes
	// nothing. It remembers only the ids that were loaded, so that a later Load conflicts with them; changed pets stay
	// as they were, so f may change each pet once. It locks nothing. f must not use another store meanwhile.
	DryRun(ctx context.Context, workspace int64, f func(Bulk) error) error
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
	// [Bulk.ImportedThrough]. An empty File is not remembered.
	File    string
	Through int

	// Imported ends an import: Load adds the event catalogue.imported, which has these
	// counts of all its batches.
	Imported *Imported
}

// Imported says what came with an import.
type Imported struct {
	Categories int64 `json:"categories"`
	Pets       int64 `json:"pets"`
	Orders     int64 `json:"orders"`
}

// A Unit is stored or refused as a whole: a category, a change of a pet, or a pet with its
// orders and its ledger. For a pet that was deleted it has only the orders and the ledger.
type Unit struct {
	Category *Category
	Change   *Change // see [Amend]; without an idempotency key

	PetID     int64 // of the pet, or of the one that was deleted; 0 for a new one
	Pet       *StockedPet
	In        *Category // the category of Pet, or of Change, if that may have no id yet; its unit stands before
	Orders    []Order
	Movements []Movement
}

// A Place names a row of a unit: the order or the movement with this number, counted
// from 1, or, if both are 0, the category or the pet itself.
type Place struct{ Order, Movement int }

// A Refusal says why a unit was not kept.
type Refusal struct {
	Unit int // its index in the batch
	Place
	Err error
}

// ErrRefused rolls back the transaction of a batch in which a unit was refused. Load
// returns the refusals instead of it.
var ErrRefused error = Errorf(CodeValidationFailed, "A unit was refused.")

// A RowKind is a kind of row that an import may find in the workspace.
type RowKind int

// The kinds of rows.
const (
	CategoryRow RowKind = iota
	PetRow
	OrderRow
	LedgerRow // by the id of its pet, which may be gone
)

// Exists reports whether a workspace has a row, or gets one from a unit that was inserted
// before.
type Exists func(kind RowKind, id int64) bool

// Insert calls insert for each unit, one after the other, unless the unit conflicts with a
// row that exists. It returns the refusals of those that do, and of those for which insert
// returns an [Error]; without SkipRefused it stops at the first of them and returns
// [ErrRefused]. Another error of insert ends it. A unit that names the category of its pet
// by In gets the id of that before.
func (b *Batch) Insert(exists Exists, insert func(*Unit) error) (refused []Refusal, _ error) {
	for i := range b.Units {
		u := &b.Units[i]
		u.findCategory()
		place, err := u.conflict(exists)
		if err == nil {
			err = insert(u)
		}
		switch {
		case err == nil:
		case CodeOf(err) == "":
			return nil, err
		case !b.SkipRefused:
			return []Refusal{{Unit: i, Place: place, Err: err}}, ErrRefused
		default:
			refused = append(refused, Refusal{Unit: i, Place: place, Err: err})
		}
	}
	return refused, nil
}

// findCategory sets the id of the category that the unit names by In.
func (u *Unit) findCategory() {
	switch {
	case u.In == nil:
	case u.Pet != nil:
		u.Pet.CategoryID = u.In.ID
	case u.Change != nil:
		u.Change.Needs.CategoryID = u.In.ID
	}
}

// conflict returns why the unit cannot be inserted, and which of its rows is at fault, in
// the order in which they would be written. A change is decided when it is inserted.
func (u *Unit) conflict(exists Exists) (Place, error) {
	if u.Change != nil {
		return Place{}, nil
	}
	if u.Category != nil {
		return Place{}, exists.refuse(CategoryRow, u.Category.ID, "There is a category with the id %d already.")
	}
	if err := u.petConflict(exists); err != nil {
		return Place{}, err
	}
	const taken = "There is an order with the id %d already."
	own := make(map[int64]bool, len(u.Orders))
	for i, o := range u.Orders {
		err := exists.refuse(OrderRow, o.ID, taken)
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
	return Place{Movement: 1}, exists.refuse(LedgerRow, u.PetID, "The pet %d has a ledger already: it was deleted, and its id is not used again.")
}

func (u *Unit) petConflict(exists Exists) error {
	if u.Pet == nil {
		return exists.refuse(PetRow, u.PetID, "There is a pet with the id %d already; its orders and its ledger can only come with it.")
	}
	if err := exists.refuse(PetRow, u.PetID, "There is a pet with the id %d already."); err != nil {
		return err
	}
	if !exists(CategoryRow, u.Pet.CategoryID) {
		return NoCategory(u.Pet.CategoryID)
	}
	return nil
}

// refuse returns an error with the message if the row exists. The id 0 is that of a row that
// will get a new one.
func (exists Exists) refuse(kind RowKind, id int64, format string) error {
	if id == 0 || !exists(kind, id) {
		return nil
	}
	return Errorf(CodeValidationFailed, format, id)
}

// Check normalizes the names, and returns an error and its place if a member breaks a
// rule, or if the stock or the status does not follow from the ledger. A pet without a
// ledger gets one, whose movements are at now.
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
		u.addLedger(now)
	}
	if place, err := u.checkLedger(); err != nil {
		return place, err
	}
	return Place{}, u.checkOutcome()
}

func (c *Category) check() error {
	n := NewCategory{Name: c.Name, Description: c.Description}
	fields := append(checkRange(nil, "/id", c.ID, 0, MaxID), n.Check()...) // 0 is none
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
	fields := append(checkRange(nil, "/id", p.ID, 0, MaxID), n.Check()...) // 0 is none
	p.Name = n.Name
	if n.Status == "" {
		fields = checkStatus(fields, n.Status)
	}
	return Invalid(append(fields, CheckQuantity(p.Quantity)...))
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

// addLedger gives the pet a ledger that leads to its orders and its stock.
func (u *Unit) addLedger(now Time) {
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

var movementKinds = []MovementKind{MovedCreated, MovedPlaced, MovedSale, MovedCompleted, MovedCancelled, MovedSet, MovedSold, MovedDeleted}

// checkLedger compares each movement with the one before it.
func (u *Unit) checkLedger() (Place, error) {
	var quantity int64
	for i, m := range u.Movements {
		place := Place{Movement: i + 1}
		switch {
		case !slices.Contains(movementKinds, m.Kind):
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

// checkOutcome compares the pet with its ledger and its orders, and fills in the
// numbers of open orders and movements.
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
		return Errorf(CodeValidationFailed, "The pet has %d %s, and its ledger says %d.", open, english.PluralWord(int(open), "open order", "open orders"), ledgerOpen)
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
