package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func orderRoutes(s *petstore.Service) []route {
	readNew, readPatch := decode(petstore.NewOrder{Quantity: 1}, "id"), decode(petstore.OrderPatch{}, "id", "petId", "quantity")
	return []route{
		{at: "GET /store/orders", id: "listOrders", scope: access.Read, handle: list(readOrderQuery, ofShop(s.Orders), positionOfOrder),
			query: []string{"limit", "cursor", "sort", "petId", "complete", "shipDateFrom", "shipDateTo"}},
		{at: "POST /store/orders", id: "createOrder", scope: access.Write, handle: create(readNew, s.CreateOrder), body: jsonBody},
		{at: "GET /store/orders/{orderId}", id: "getOrder", scope: access.Read, handle: get(s.Order)},
		{at: "PATCH /store/orders/{orderId}", id: "updateOrder", scope: access.Write, handle: change(readPatch, s.UpdateOrder), body: patchBody},
		{at: "DELETE /store/orders/{orderId}", id: "cancelOrder", scope: access.Write, handle: remove(s.CancelOrder)},
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
