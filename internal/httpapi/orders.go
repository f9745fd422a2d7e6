package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func orderPaths(s *petstore.Service) []path {
	return []path{
		{pattern: "/store/orders", routes: []route{
			{method: "GET", id: "listOrders", scope: access.Read, handle: list(readOrderQuery, ofShop(s.Orders), positionOfOrder), query: []string{"limit", "cursor", "sort", "petId", "complete", "shipDateFrom", "shipDateTo"}},
			{method: "POST", id: "createOrder", scope: access.Write, handle: create(decode(petstore.NewOrder{Quantity: 1}, "id"), s.CreateOrder), body: jsonBody},
		}},
		{pattern: "/store/orders/{orderId}", routes: []route{
			{method: "GET", id: "getOrder", scope: access.Read, handle: get(s.Order)},
			{method: "PATCH", id: "updateOrder", scope: access.Write, handle: change(decode(petstore.OrderPatch{}, "id", "petId", "quantity"), s.UpdateOrder), body: patchBody},
			{method: "DELETE", id: "cancelOrder", scope: access.Write, handle: remove(s.CancelOrder)},
		}},
	}
}

func positionOfOrder(o petstore.Order) position { return numbered(o.ID) }

func readOrderQuery(l *listRequest) (q petstore.OrderQuery, err error) {
	q = petstore.OrderQuery{
		PetID:        l.query.id("petId"),
		Complete:     l.query.boolean("complete"),
		ShipDateFrom: l.query.time("shipDateFrom"),
		ShipDateTo:   l.query.time("shipDateTo"),
	}
	q.Page, err = l.pageQuery()
	return q, err
}
