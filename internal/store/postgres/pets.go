package postgres

import "example.com/petstore/internal/petstore"

const petColumns = "id, name, category, status"

var petTable = newTable("pets", "workspace, id, category, quantity, open_orders, movements, status, name, folded",
	func(workspace int64, p *petstore.StockedPet) []any {
		return []any{workspace, p.ID, p.CategoryID, p.Quantity, p.OpenOrders, p.Movements, string(p.Status), p.Name, petstore.Fold(p.Name)}
	})
