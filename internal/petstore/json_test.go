package petstore

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
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
		{Movement{PetID: 2, Number: 1, Kind: MovedSet, Delta: -3, At: ship, By: "key"}, `{"number":1,"kind":"set","delta":-3,"quantity":0,"at":"2026-03-04T05:06:07.891Z"}`},
		{[]Field{{Pointer: "", Code: Required, Message: "m"}, {Parameter: "p", Code: Required, Message: "m"}}, `[{"pointer":"","code":"required","message":"m"},{"parameter":"p","code":"required","message":"m"}]`},
		{time.Date(2026, 3, 4, 6, 6, 7, 891_999_999, time.FixedZone("", 3600)), `"2026-03-04T05:06:07.891Z"`},
		{"\xff<\u2028", "\"\ufffd<\u2028\""},
	} {
		if got := string(AppendJSON([]byte("x"), test.in)); got != "x"+test.want {
			t.Errorf("AppendJSON(x, %+v) = %s, want x%s", test.in, got, test.want)
		}
		if got, err := json.Marshal(test.in, canonical); string(got) != test.want {
			t.Errorf("by its tags, %+v is %s, %v, want %s", test.in, got, err, test.want)
		}
	}
}
