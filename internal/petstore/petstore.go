// Package petstore is the domain of the service: pets, categories, orders and
// inventory, the rules that bind them, and the [Store] that keeps them.
//
// It knows nothing of HTTP, of SQL or of API keys. Every rule is written here,
// once, as a pure function over loaded rows; a store loads the rows, asks the
// rule and keeps what it decided, all in one transaction.
package petstore

// Limits of the members, the same for every store and every way in.
const (
	MaxName        = 100           // code points of a name, after normalisation
	MaxDescription = 1000          // code points of a description, after normalisation
	MaxQuantity    = 1_000_000_000 // units of stock of one pet
	MaxOrder       = 1_000_000     // units in one order
	MaxID          = 1<<53 - 1     // the greatest id that is ever issued
	MaxPage        = 100           // entries in one page of a list
	DefaultPage    = 20            // entries in a page when no limit is given
)

// A Status says whether a pet can be ordered.
type Status string

// The values of Status.
const (
	Available Status = "available" // in stock, can be ordered
	Pending   Status = "pending"   // on hold, or sold out with orders still open
	Sold      Status = "sold"      // no stock and no open order
)

// Statuses lists every Status, in the order of the description.
func Statuses() []Status { return []Status{Available, Pending, Sold} }

// Valid reports whether s is one of the values of Status.
func (s Status) Valid() bool { return s == Available || s == Pending || s == Sold }

// A Pet is an entry of the catalogue.
type Pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     Status `json:"status"`
}

// A Category groups pets. Description is nil if it has none.
type Category struct {
	ID          int64   `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description,omitzero"`
}

// An Order takes Quantity units of one pet. Complete is final.
type Order struct {
	ID       int64 `json:"id"`
	PetID    int64 `json:"petId"`
	Quantity int64 `json:"quantity"`
	ShipDate Time  `json:"shipDate,omitzero"`
	Complete bool  `json:"complete"`
}

// An InventoryItem is the stock of one pet: Quantity is what can still be
// ordered. Its Status is the pet's own.
type InventoryItem struct {
	PetID    int64  `json:"petId"`
	Quantity int64  `json:"quantity"`
	Status   Status `json:"status"`
}

// The types of what a client says have a field for each member of a body, whose name is in
// the tag json. A member is required unless the tag has omitzero.

// NewPet is what a client says of a pet. An empty Status means that it said
// nothing.
type NewPet struct {
	Name       string       `json:"name"`
	CategoryID int64        `json:"categoryId"`
	Status     Status       `json:"status,omitzero"`
	Category   *NewCategory `json:"-"` // to add with the pet, which then belongs to it; nil if CategoryID names one
	Stock      *int64       `json:"-"` // nil for 1 if the pet is available, else 0
}

// NewCategory is what a client says of a category.
type NewCategory struct {
	Name        string  `json:"name"`
	Description *string `json:"description,omitzero"`
}

// NewOrder is what a client says of an order to place.
type NewOrder struct {
	PetID    int64 `json:"petId"`
	Quantity int64 `json:"quantity,omitzero"` // units; 1 unless the client says otherwise
	ShipDate Time  `json:"shipDate,omitzero"`
	Complete bool  `json:"complete,omitzero"` // an immediate sale
}

// Optional is a member of a merge patch (RFC 7396): absent (the zero value),
// null, or a value.
type Optional[T any] struct {
	Present bool
	Null    bool // the member is null; Value is then meaningless
	Value   T
}

// Some returns the member with value v.
func Some[T any](v T) Optional[T] { return Optional[T]{Present: true, Value: v} }

// Null returns the member that is null.
func Null[T any]() Optional[T] { return Optional[T]{Present: true, Null: true} }

// Fill makes the member present, and returns a pointer to its value for the caller to set
// unless it is null.
func (o *Optional[T]) Fill(null bool) (value any) {
	o.Present, o.Null = true, null
	return &o.Value
}

// value returns the value of the member, or the zero value if it has none.
func (o Optional[T]) value() (v T) {
	if o.Present && !o.Null {
		v = o.Value
	}
	return v
}

// PetPatch changes the members that are present. With a null status the status follows
// the stock again; the required members cannot be null.
type PetPatch struct {
	Name       Optional[string] `json:"name,omitzero"`
	CategoryID Optional[int64]  `json:"categoryId,omitzero"`
	Status     Optional[Status] `json:"status,omitzero"`
}

// CategoryPatch changes the members that are present.
type CategoryPatch struct {
	Name        Optional[string] `json:"name,omitzero"`
	Description Optional[string] `json:"description,omitzero"`
}

// OrderPatch changes the members that are present.
type OrderPatch struct {
	ShipDate Optional[Time] `json:"shipDate,omitzero"`
	Complete Optional[bool] `json:"complete,omitzero"`
}
