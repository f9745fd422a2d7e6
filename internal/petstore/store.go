package petstore

import (
	"context"
	"math"
	"slices"
	"strings"
)

// A Store keeps the pets, categories and orders of all workspaces. Each
// method is one transaction. All methods may be called concurrently.
//
// Reads return what was committed last. They return the error of [NoPet],
// [NoCategory] or [NoOrder] for what the workspace does not have, and
// [Unavailable] if the store cannot answer. Lists are in the order of ids, begin
// after the query's After and hold at most its Limit entries.
type Store interface {
	Pet(ctx context.Context, workspace, id int64) (StockedPet, error)
	Category(ctx context.Context, workspace, id int64) (Category, error)
	Order(ctx context.Context, workspace, id int64) (Order, error)

	Pets(ctx context.Context, workspace int64, q PetQuery) ([]StockedPet, error)
	Categories(ctx context.Context, workspace int64, q CategoryQuery) ([]Category, error)
	Orders(ctx context.Context, workspace int64, q OrderQuery) ([]Order, error)

	// Do carries out a change, as [Change] says, and returns after its commit
	// is durable. The receipt is that of the first time if the change was done
	// before under the same idempotency key, else nil. On an error nothing of
	// the change has happened, unless the error is that of Unavailable, after
	// which it may or may not have.
	//
	// A context that ends while the change waits withdraws it; once it is
	// begun, Do waits for its outcome.
	Do(ctx context.Context, c *Change) (*Receipt, error)

	// Movements returns at most limit movements of one pet, also of one that was
	// deleted, the newest first. They begin at a place that the call before returned
	// as next, or at the newest for 0; next is 0 if there are no more. It returns the
	// error of NoPet for a pet that there never was.
	Movements(ctx context.Context, workspace, petID, from int64, limit int) (page []Movement, next int64, err error)

	// OrderMovements returns the movements that placed some orders, and then those that
	// completed or cancelled them. It does not know any more what placed an order that was
	// cancelled, or imported.
	OrderMovements(ctx context.Context, workspace int64, orders []int64) ([]Movement, error)

	// CategorySizes returns how many pets some categories have, by their ids, but counts
	// no more than most of each.
	CategorySizes(ctx context.Context, workspace int64, categories []int64, most int) (map[int64]int64, error)

	// Forget removes the receipts that are older than KeepReceipts, in short
	// transactions, and returns how many they were. A server calls it each minute.
	Forget(ctx context.Context) (int, error)
}

// Page is the part of a list that is asked for.
type Page struct {
	After  int64 // only ids greater than this; with Newest only smaller ones, and 0 is the beginning
	Limit  int   // at most so many entries
	Newest bool  // the newest first: ids descend
}

// Start returns p with After set to a number that is before all ids, if it is the first
// page.
func (p Page) Start() Page {
	if p.Newest && p.After <= 0 {
		p.After = math.MaxInt64
	}
	return p
}

// Has reports whether an id comes after what was read before.
func (p Page) Has(id int64) bool {
	if p.Newest {
		return id < p.Start().After
	}
	return id > p.After
}

// A PetQuery selects pets; its zero members select all.
type PetQuery struct {
	Page
	IDs        []int64
	Statuses   []Status
	CategoryID int64
	Name       string // a part of the name, in the form of [Fold]

	MaxQuantity *int64 // at most so much stock; without IDs
}

// Selects reports whether the query, but for its page, selects a pet.
func (q *PetQuery) Selects(p Pet) bool {
	return (len(q.IDs) == 0 || slices.Contains(q.IDs, p.ID)) && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, p.Status)) &&
		(q.CategoryID == 0 || q.CategoryID == p.CategoryID) && (q.Name == "" || strings.Contains(Fold(p.Name), q.Name))
}

// A CategoryQuery selects categories; its zero members select all.
type CategoryQuery struct {
	Page
	Name string // a part of the name, in the form of [Fold]
}

// An OrderQuery selects orders; its zero members select all.
type OrderQuery struct {
	Page
	PetID        int64
	Complete     *bool
	ShipDateFrom Time // not before
	ShipDateTo   Time // not after
}
