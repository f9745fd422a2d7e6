package petstore

import "github.com/dustin/go-humanize/english"

// A StockedPet is a pet with its stock: the unit that a write locks.
type StockedPet struct {
	Pet
	Quantity   int64 // units that can still be ordered
	OpenOrders int64 // orders placed, neither completed nor cancelled
	Movements  int64 // entries of the ledger so far; the last one's number
}

// Item returns the pet's inventory item.
func (p StockedPet) Item() InventoryItem {
	return InventoryItem{PetID: p.ID, Quantity: p.Quantity, Status: p.Status}
}

// A MovementKind names what moved stock.
type MovementKind string

// The kinds of movements.
const (
	MovedCreated   MovementKind = "created"   // the first stock of a new pet
	MovedPlaced    MovementKind = "placed"    // an order took its units
	MovedSale      MovementKind = "sale"      // an order took its units and was complete at once
	MovedCompleted MovementKind = "completed" // an order was fulfilled; its units had left before
	MovedCancelled MovementKind = "cancelled" // an order gave its units back
	MovedSet       MovementKind = "set"       // the stock was counted anew
	MovedSold      MovementKind = "sold"      // the pet was marked sold by hand
	MovedDeleted   MovementKind = "deleted"   // the pet left the catalogue
)

// A Movement is an entry of a pet's ledger. The sum of all deltas is the
// quantity; the number of placed less completed and cancelled ones is the
// number of open orders.
type Movement struct {
	PetID    int64        `json:"-"`
	Number   int64        `json:"number"` // 1, 2, 3, … for each pet
	Kind     MovementKind `json:"kind"`
	OrderID  int64        `json:"orderId,omitzero"` // 0 if no order moved it
	Delta    int64        `json:"delta"`            // units added to what can be ordered
	Quantity int64        `json:"quantity"`         // what could be ordered afterwards
	At       Time         `json:"at"`
	By       string       `json:"-"` // the id of the API key that did it; "" for a command, or if that is not known
}

// move changes the quantity to q and returns the ledger's entry for it.
func (p *StockedPet) move(kind MovementKind, q int64, at Time) *Movement {
	m := &Movement{PetID: p.ID, Kind: kind, Delta: q - p.Quantity, Quantity: q, At: at}
	p.Movements++
	m.Number = p.Movements
	p.Quantity = q
	return m
}

// Begin returns the first stock of a new pet, and gives the pet a status that fits it if it
// has none. It returns out_of_stock for an available pet without stock, and
// validation_failed for a sold one with stock.
func (p *StockedPet) Begin(stock *int64) (int64, error) {
	switch {
	case p.Status == "" && stock != nil && *stock == 0:
		p.Status = Sold
	case p.Status == "":
		p.Status = Available
	}
	switch {
	case stock == nil && p.Status == Available:
		return 1, nil
	case stock == nil:
		return 0, nil
	case p.Status == Available && *stock == 0:
		return 0, Errorf(CodeOutOfStock, "A pet that is available needs stock.")
	case p.Status == Sold && *stock > 0:
		return 0, Invalid([]Field{{Pointer: "/quantity", Code: OutOfRange, Message: "quantity must be 0 of a pet that is sold."}})
	}
	return *stock, nil
}

// updateStatus lets the status follow the stock: from nothing to something it becomes
// available; with nothing left it is pending while orders are open, else sold.
// A hold on stock that stays is kept.
func (p *StockedPet) updateStatus(before int64) {
	switch {
	case p.Quantity == 0 && p.OpenOrders > 0:
		p.Status = Pending
	case p.Quantity == 0:
		p.Status = Sold
	case before == 0:
		p.Status = Available
	}
}

// reserve removes the units of a new order.
func (p *StockedPet) reserve(n NewOrder, at Time) (*Movement, error) {
	if p.Status != Available {
		return nil, Errorf(CodePetNotAvailable, "The pet %d is %s and cannot be ordered.", p.ID, p.Status)
	}
	if p.Quantity < n.Quantity {
		return nil, Errorf(CodeInsufficientStock, "The order asks for %d of pet %d, and %d can be ordered.",
			n.Quantity, p.ID, p.Quantity)
	}
	before, kind := p.Quantity, MovedPlaced
	if n.Complete {
		kind = MovedSale
	} else {
		p.OpenOrders++
	}
	m := p.move(kind, p.Quantity-n.Quantity, at)
	p.updateStatus(before)
	return m, nil
}

// fulfil closes an open order whose units have left the stock before.
func (p *StockedPet) fulfil(at Time) *Movement {
	p.OpenOrders--
	m := p.move(MovedCompleted, p.Quantity, at)
	p.updateStatus(p.Quantity)
	return m
}

// putBack returns the units of an open order that is cancelled. A stock that
// was counted anew since is filled up to MaxQuantity and no further.
func (p *StockedPet) putBack(units int64, at Time) *Movement {
	before := p.Quantity
	p.OpenOrders--
	m := p.move(MovedCancelled, min(p.Quantity+units, MaxQuantity), at)
	p.updateStatus(before)
	return m
}

// count sets what can still be ordered.
func (p *StockedPet) count(quantity int64, at Time) *Movement {
	before := p.Quantity
	m := p.move(MovedSet, quantity, at)
	p.updateStatus(before)
	return m
}

// mark sets the status by hand. It returns a movement if that clears the stock.
func (p *StockedPet) mark(s Status, at Time) (*Movement, error) {
	switch {
	case s == Available && p.Quantity == 0:
		return nil, Errorf(CodeOutOfStock, "The pet %d has no stock; set its inventory before it becomes available.", p.ID)
	case s == Sold && p.OpenOrders > 0:
		return nil, p.openOrdersError("before it is sold")
	}
	p.Status = s
	if s == Sold && p.Quantity > 0 {
		return p.move(MovedSold, 0, at), nil
	}
	return nil, nil
}

// release drops a status that was set by hand: the status then follows the stock.
func (p *StockedPet) release() {
	p.Status = Available
	p.updateStatus(p.Quantity)
}

// openOrdersError is the error for a pet that has open orders. when says what they are in the way of.
func (p *StockedPet) openOrdersError(when string) error {
	n := int(p.OpenOrders)
	return Errorf(CodePetHasOpenOrders, "The pet %d has %d %s; complete or cancel %s %s.",
		p.ID, n, english.PluralWord(n, "open order", "open orders"), english.PluralWord(n, "it", "them"), when)
}
