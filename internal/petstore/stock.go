package petstore

import "fmt"

// A StockedPet is a pet with its stock: the unit that a write locks.
type StockedPet struct {
	Pet
	Quantity   int64 // units that can still be ordered
	OpenOrders int64 // orders placed, neither completed nor cancelled
	Movements  int64 // entries of the ledger so far; the last one's number
}

// Item returns the pet's inventory item.
func (a StockedPet) Item() InventoryItem {
	return InventoryItem{PetID: a.ID, Quantity: a.Quantity, Status: a.Status}
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
	PetID    int64
	Number   int64 // 1, 2, 3, … for each pet
	Kind     MovementKind
	OrderID  int64 // 0 if no order moved it
	Delta    int64 // units added to what can be ordered
	Quantity int64 // what could be ordered afterwards
	At       Time
}

// move changes the quantity to q and returns the ledger's entry for it.
func (a *StockedPet) move(kind MovementKind, q int64, at Time) *Movement {
	m := &Movement{PetID: a.ID, Kind: kind, Delta: q - a.Quantity, Quantity: q, At: at}
	a.Movements++
	m.Number = a.Movements
	a.Quantity = q
	return m
}

// settle lets the status follow the stock: from nothing to something it becomes
// available; with nothing left it is pending while orders are open, else sold.
// A hold on stock that stays is kept.
func (a *StockedPet) settle(before int64) {
	switch {
	case a.Quantity == 0 && a.OpenOrders > 0:
		a.Status = Pending
	case a.Quantity == 0:
		a.Status = Sold
	case before == 0:
		a.Status = Available
	}
}

// take removes the units of a new order.
func (a *StockedPet) take(n NewOrder, at Time) (*Movement, error) {
	if a.Status != Available {
		return nil, Errorf(CodePetNotAvailable, "The pet %d is %s and cannot be ordered.", a.ID, a.Status)
	}
	if a.Quantity < n.Quantity {
		return nil, Errorf(CodeInsufficientStock, "The order asks for %d of pet %d, and %d can be ordered.",
			n.Quantity, a.ID, a.Quantity)
	}
	before, kind := a.Quantity, MovedPlaced
	if n.Complete {
		kind = MovedSale
	} else {
		a.OpenOrders++
	}
	m := a.move(kind, a.Quantity-n.Quantity, at)
	a.settle(before)
	return m, nil
}

// fulfil closes an open order whose units have left the stock before.
func (a *StockedPet) fulfil(at Time) *Movement {
	a.OpenOrders--
	m := a.move(MovedCompleted, a.Quantity, at)
	a.settle(a.Quantity)
	return m
}

// putBack returns the units of an open order that is cancelled. A stock that
// was counted anew since is filled up to MaxQuantity and no further.
func (a *StockedPet) putBack(units int64, at Time) *Movement {
	before := a.Quantity
	a.OpenOrders--
	m := a.move(MovedCancelled, min(a.Quantity+units, MaxQuantity), at)
	a.settle(before)
	return m
}

// count sets what can still be ordered.
func (a *StockedPet) count(quantity int64, at Time) *Movement {
	before := a.Quantity
	m := a.move(MovedSet, quantity, at)
	a.settle(before)
	return m
}

// mark sets the status by hand. It returns a movement if that clears the stock.
func (a *StockedPet) mark(s Status, at Time) (*Movement, error) {
	switch {
	case s == Available && a.Quantity == 0:
		return nil, Errorf(CodeOutOfStock, "The pet %d has no stock; set its inventory before it becomes available.", a.ID)
	case s == Sold && a.OpenOrders > 0:
		return nil, Errorf(CodePetHasOpenOrders, "The pet %d has %s; complete or cancel %s before it is sold.", a.ID, openOrders(a.OpenOrders), them(a.OpenOrders))
	}
	a.Status = s
	if s == Sold && a.Quantity > 0 {
		return a.move(MovedSold, 0, at), nil
	}
	return nil, nil
}

// release takes back a status that was set by hand: the stock decides.
func (a *StockedPet) release() {
	a.Status = Available
	a.settle(a.Quantity)
}

// openOrders returns a number of open orders in words.
func openOrders(n int64) string {
	if n == 1 {
		return "1 open order"
	}
	return fmt.Sprintf("%d open orders", n)
}

// them returns the pronoun for n things.
func them(n int64) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
