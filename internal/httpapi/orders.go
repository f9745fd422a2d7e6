package httpapi

import "example.com/petstore/internal/petstore"

func listOrders(a *API, x *exchange) error {
	l, err := x.listing()
	if err != nil {
		return err
	}
	q := petstore.OrderQuery{
		PetID:        l.query.id("petId"),
		Complete:     l.query.boolean("complete"),
		ShipDateFrom: l.query.time("shipDateFrom"),
		ShipDateTo:   l.query.time("shipDateTo"),
	}
	if q.Page, err = l.page(); err != nil {
		return err
	}
	orders, err := a.Shop.Orders(x.r.Context(), x.entry.Workspace.ID, q)
	if err != nil {
		return err
	}
	return list(l, orders, func(o petstore.Order) int64 { return o.ID })
}

func createOrder(a *API, x *exchange) error {
	once, err := x.onceOf()
	if err != nil {
		return err
	}
	n, err := readNewOrder(x.body)
	if err != nil {
		return err
	}
	c, err := a.Shop.CreateOrder(x.r.Context(), x.entry.Workspace.ID, n, once)
	if err != nil {
		return err
	}
	return x.created(c)
}

func getOrder(a *API, x *exchange) error {
	o, err := a.Shop.Order(x.r.Context(), x.entry.Workspace.ID, x.param)
	if err != nil {
		return err
	}
	return sendResource(x, o)
}

func updateOrder(a *API, x *exchange) error {
	c, err := x.conditionOf()
	if err != nil {
		return err
	}
	patch, err := readOrderPatch(x.body, x.param)
	if err != nil {
		return err
	}
	o, err := a.Shop.UpdateOrder(x.r.Context(), x.entry.Workspace.ID, x.param, patch, c)
	if err != nil {
		return err
	}
	return x.changed(o)
}

func cancelOrder(a *API, x *exchange) error {
	c, err := x.conditionOf()
	if err != nil {
		return err
	}
	return x.deleted(a.Shop.CancelOrder(x.r.Context(), x.entry.Workspace.ID, x.param, c))
}
