package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func orderPaths(s *petstore.Service) []path {
	return []path{
		{pattern: "/store/orders", routes: []route{
			{method: "GET", id: "listOrders", scope: access.Read, handle: list(readOrderQuery, s.Orders, idOfOrder), query: []string{"limit", "cursor", "petId", "complete", "shipDateFrom", "shipDateTo"}},
			{method: "POST", id: "createOrder", scope: access.Write, handle: create(readNewOrder, s.CreateOrder), body: jsonBody},
		}},
		{pattern: "/store/orders/{orderId}", param: "orderId", routes: []route{
			{method: "GET", id: "getOrder", scope: access.Read, handle: get(s.Order)},
			{method: "PATCH", id: "updateOrder", scope: access.Write, handle: change(readOrderPatch, s.UpdateOrder), body: patchBody},
			{method: "DELETE", id: "cancelOrder", scope: access.Write, handle: remove(s.CancelOrder)},
		}},
	}
}

func idOfOrder(o petstore.Order) int64 { return o.ID }

func readOrderQuery(l *listing) (q petstore.OrderQuery, err error) {
	q = petstore.OrderQuery{
		PetID:        l.query.id("petId"),
		Complete:     l.query.boolean("complete"),
		ShipDateFrom: l.query.time("shipDateFrom"),
		ShipDateTo:   l.query.time("shipDateTo"),
	}
	q.Page, err = l.page()
	return q, err
}

func readNewOrder(body []byte, id int64) (petstore.NewOrder, error) {
	n := petstore.NewOrder{Quantity: 1}
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "petId":
			n.PetID = f.integer(m)
		case "quantity":
			n.Quantity = f.integer(m)
		case "shipDate":
			n.ShipDate = f.time(m)
		case "complete":
			n.Complete = f.boolean(m)
		case "id":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return n, err
	}
	f.require("petId")
	return n, f.err(n.Check())
}

func readOrderPatch(body []byte, id int64) (petstore.OrderPatch, error) {
	var p petstore.OrderPatch
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "shipDate":
			p.ShipDate = optional(m, f.time)
		case "complete":
			p.Complete = optional(m, f.boolean)
		case "id", "petId", "quantity":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return p, err
	}
	return p, f.err(nil)
}
