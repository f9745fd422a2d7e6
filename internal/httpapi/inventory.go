package httpapi

import "example.com/petstore/internal/petstore"

func listInventory(a *API, x *exchange) error {
	l, err := x.listing()
	if err != nil {
		return err
	}
	q := petstore.InventoryQuery{Statuses: l.query.statuses("status")}
	if text, ok := l.query.one("maxQuantity"); ok {
		most := l.query.integer("maxQuantity", text, 0, petstore.MaxQuantity)
		q.MaxQuantity = &most
	}
	if q.Page, err = l.page(); err != nil {
		return err
	}
	items, err := a.Shop.Inventory(x.r.Context(), x.entry.Workspace.ID, q)
	if err != nil {
		return err
	}
	return list(l, items, func(i petstore.InventoryItem) int64 { return i.PetID })
}

func getInventoryItem(a *API, x *exchange) error {
	i, err := a.Shop.InventoryItem(x.r.Context(), x.entry.Workspace.ID, x.param)
	if err != nil {
		return err
	}
	return sendResource(x, i)
}

func updateInventory(a *API, x *exchange) error {
	c, err := x.conditionOf()
	if err != nil {
		return err
	}
	quantity, err := readInventoryUpdate(x.body)
	if err != nil {
		return err
	}
	i, err := a.Shop.UpdateInventory(x.r.Context(), x.entry.Workspace.ID, x.param, quantity, c)
	if err != nil {
		return err
	}
	return x.changed(i)
}
