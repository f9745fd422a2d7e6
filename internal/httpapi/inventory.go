package httpapi

import (
	"context"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func inventoryRoutes(s *petstore.Service) []route {
	return []route{
		{at: "GET /inventory", id: "listInventory", scope: access.Read, handle: list(readInventoryQuery, ofShop(s.Inventory), positionOfItem),
			query: []string{"limit", "cursor", "sort", "status", "maxQuantity"}},
		{at: "GET /inventory/{petId}", id: "getInventoryItem", scope: access.Read, handle: get(s.InventoryItem), cached: true},
		{at: "PATCH /inventory/{petId}", id: "updateInventory", scope: access.Write, handle: updateInventory(s), body: patchBody},
		{at: "GET /inventory/{petId}/movements", id: "listMovements", scope: access.Read, handle: listMovements(s), query: pageOnly},
	}
}

// listMovements answers with the newest movements first: stores know the end of a ledger.
func listMovements(s *petstore.Service) handler {
	return func(x *exchange) error {
		l, err := newListRequest(x)
		if err != nil {
			return err
		}
		at, err := l.position()
		if err != nil {
			return err
		}
		from, err := at.number()
		if err != nil {
			return err
		}
		page, next, err := s.Movements(x.ctx, x.shop(), x.param, from, l.limit)
		if err != nil {
			return err
		}
		link := ""
		if next != 0 {
			link = l.next(numbered(next))
		}
		return x.represent(pageOf(appendList(page), link, next != 0))
	}
}

func positionOfItem(i petstore.InventoryItem) position { return numbered(i.PetID) }

func readInventoryQuery(l *listRequest) (q petstore.PetQuery, err error) {
	q = petstore.PetQuery{Statuses: several(l.query, "status", petstore.Statuses())}
	if text, ok := l.query.one("maxQuantity"); ok {
		most := l.query.integer("maxQuantity", text, 0, petstore.MaxQuantity)
		q.MaxQuantity = &most
	}
	q.Page, err = l.pageQuery()
	return q, err
}

// An inventoryUpdate is the body of updateInventory.
type inventoryUpdate struct {
	Quantity int64 `json:"quantity"`
}

// Check returns what is wrong with the quantity.
func (u *inventoryUpdate) Check() []petstore.Field { return petstore.CheckQuantity(u.Quantity) }

func updateInventory(s *petstore.Service) handler {
	return change(decode(inventoryUpdate{}, "petId", "status"), func(ctx context.Context, shop, petID int64, u inventoryUpdate, on petstore.Condition) (petstore.InventoryItem, error) {
		return s.UpdateInventory(ctx, shop, petID, u.Quantity, on)
	})
}
