package petstore

import (
	"encoding/json"
	"testing"
)

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	empty, text := "", "all \"kinds\""
	ship := Time{Millis: 1_772_600_767_891, Valid: true}
	for _, test := range []struct {
		in   any
		want string
	}{
		{Pet{ID: MaxID, Name: "L\"", CategoryID: 3, Status: Sold}, `{"id":9007199254740991,"name":"L\"","categoryId":3,"status":"sold"}`},
		{Category{ID: 3, Name: "Dogs"}, `{"id":3,"name":"Dogs"}`},
		{Category{ID: 3, Name: "Dogs", Description: &empty}, `{"id":3,"name":"Dogs","description":""}`},
		{Category{ID: 3, Name: "Dogs", Description: &text}, `{"id":3,"name":"Dogs","description":"all \"kinds\""}`},
		{Order{ID: 1, PetID: 2, Quantity: 3}, `{"id":1,"petId":2,"quantity":3,"complete":false}`},
		{Order{ID: 1, PetID: 2, Quantity: 3, ShipDate: ship, Complete: true},
			`{"id":1,"petId":2,"quantity":3,"shipDate":"2026-03-04T05:06:07.891Z","complete":true}`},
		{Order{ID: 1, PetID: 2, Quantity: 3, ShipDate: Time{Valid: true}}, `{"id":1,"petId":2,"quantity":3,"shipDate":"1970-01-01T00:00:00Z","complete":false}`},
		{InventoryItem{PetID: 2, Quantity: MaxQuantity, Status: Available}, `{"petId":2,"quantity":1000000000,"status":"available"}`},
	} {
		got := string(AppendJSON([]byte("x"), test.in))
		if got != "x"+test.want || !json.Valid([]byte(got[1:])) {
			t.Errorf("AppendJSON(x, %+v) = %s, want x%s", test.in, got, test.want)
		}
	}
}
