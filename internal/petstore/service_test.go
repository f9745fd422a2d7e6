package petstore

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
)

// A guarded is a write that takes a condition.
type guarded struct {
	write   func(s *shop, id int64, c Condition) error // of the row with the id
	row     func(s *shop) any                          // that the condition is about
	missing Code                                       // if there is no such row
}

func theCategory(s *shop) any { return *s.has.Category }
func thePet(s *shop) any      { return s.has.Pet.Pet }
func theOrder(s *shop) any    { return *s.has.Order }
func theItem(s *shop) any     { return s.has.Pet.Item() }

func guardedWrites() map[string]guarded {
	ctx := context.Background()
	return map[string]guarded{
		"ReplacePet": {func(s *shop, id int64, c Condition) error {
			return errOf(s.ReplacePet(ctx, home, id, NewPet{Name: "New", CategoryID: categoryID}, c))
		}, thePet, CodePetNotFound},
		"UpdatePet": {func(s *shop, id int64, c Condition) error {
			return errOf(s.UpdatePet(ctx, home, id, PetPatch{Name: Some("New")}, c))
		}, thePet, CodePetNotFound},
		"DeletePet":       {func(s *shop, id int64, c Condition) error { return s.DeletePet(ctx, home, id, c) }, thePet, CodePetNotFound},
		"UpdateInventory": {func(s *shop, id int64, c Condition) error { return errOf(s.UpdateInventory(ctx, home, id, 9, c)) }, theItem, CodePetNotFound},
		"ReplaceCategory": {func(s *shop, id int64, c Condition) error {
			return errOf(s.ReplaceCategory(ctx, home, id, NewCategory{Name: "New"}, c))
		}, theCategory, CodeCategoryNotFound},
		"UpdateCategory": {func(s *shop, id int64, c Condition) error {
			return errOf(s.UpdateCategory(ctx, home, id, CategoryPatch{Name: Some("New")}, c))
		}, theCategory, CodeCategoryNotFound},
		"DeleteCategory": {func(s *shop, id int64, c Condition) error { return s.DeleteCategory(ctx, home, id, c) }, theCategory, CodeCategoryNotFound},
		"UpdateOrder": {func(s *shop, id int64, c Condition) error {
			return errOf(s.UpdateOrder(ctx, home, id, OrderPatch{Complete: Some(true)}, c))
		}, theOrder, CodeOrderNotFound},
		"CancelOrder": {func(s *shop, id int64, c Condition) error { return s.CancelOrder(ctx, home, id, c) }, theOrder, CodeOrderNotFound},
	}
}

// TestConditions: each write is held against its condition, unless its row is not there.
func TestConditions(t *testing.T) {
	t.Parallel()
	stale := Condition{IfMatch: &TagSet{Tags: []Tag{"stale"}}}
	for name, g := range guardedWrites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t).stocked(Available, 3, 1)
			if name == "DeletePet" {
				s.stocked(Available, 3, 0)
			}
			id := map[Code]int64{CodePetNotFound: petID, CodeCategoryNotFound: categoryID, CodeOrderNotFound: orderID}[g.missing]
			wantCode(t, "stale", g.write(s, id, stale), CodePreconditionFailed)
			wantCode(t, "missing", g.write(s, none, stale), g.missing)
			wantCode(t, "current", g.write(s, id, Condition{IfMatch: &TagSet{Tags: []Tag{TagOf(JSON(g.row(s)))}}}), "")
		})
	}
	_, err := newShop(t).AddStock(context.Background(), home, none, 1, nil)
	wantCode(t, "AddStock", err, CodePetNotFound)
}

// Bad input never reaches the store.
func TestInvalidInput(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t).stocked(Available, 3, 0), context.Background()
	for name, test := range map[string]struct {
		do      func() error
		pointer string
		code    FieldCode
	}{
		"CreatePet": {func() error { return errOf(s.CreatePet(ctx, home, NewPet{Name: " ", CategoryID: categoryID}, nil)) }, "/name", InvalidFormat},
		"CreatePet with a nameless category": {func() error {
			return errOf(s.CreatePet(ctx, home, NewPet{Name: "Kaa", Category: &NewCategory{Name: " "}}, nil))
		}, "/categoryId", InvalidFormat},
		"ReplacePet": {func() error {
			return errOf(s.ReplacePet(ctx, home, petID, NewPet{Name: "a", CategoryID: categoryID, Status: "lost"}, Condition{}))
		}, "/status", InvalidEnum},
		"UpdatePet": {func() error {
			return errOf(s.UpdatePet(ctx, home, petID, PetPatch{CategoryID: Null[int64]()}, Condition{}))
		}, "/categoryId", InvalidType},
		"CreateCategory": {func() error { return errOf(s.CreateCategory(ctx, home, NewCategory{}, nil)) }, "/name", TooShort},
		"ReplaceCategory": {func() error {
			return errOf(s.ReplaceCategory(ctx, home, categoryID, NewCategory{Name: "\t"}, Condition{}))
		}, "/name", InvalidFormat},
		"UpdateCategory": {func() error {
			return errOf(s.UpdateCategory(ctx, home, categoryID, CategoryPatch{Description: Some("\x00")}, Condition{}))
		}, "/description", InvalidFormat},
		"CreateOrder":     {func() error { return errOf(s.CreateOrder(ctx, home, NewOrder{PetID: petID}, nil)) }, "/quantity", OutOfRange},
		"UpdateInventory": {func() error { return errOf(s.UpdateInventory(ctx, home, petID, -1, Condition{})) }, "/quantity", OutOfRange},
	} {
		wantField(t, name, test.do(), test.pointer, test.code)
	}
	if s.asked > 0 {
		t.Errorf("%d invalid changes reached the store, want none", s.asked)
	}
}

// What a body names must be there; a missing category is told before the condition.
func TestUnknownInABody(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t).stocked(Available, 3, 0), context.Background()
	_, err := s.CreatePet(ctx, home, NewPet{Name: "Laika", CategoryID: none}, nil)
	wantField(t, "CreatePet", err, "/categoryId", NotFound)
	_, err = s.ReplacePet(ctx, home, petID, NewPet{Name: "Laika", CategoryID: none}, Condition{})
	wantField(t, "ReplacePet", err, "/categoryId", NotFound)
	_, err = s.UpdatePet(ctx, home, petID, PetPatch{CategoryID: Some[int64](none)}, Condition{IfMatch: &TagSet{}})
	wantField(t, "UpdatePet, before its condition", err, "/categoryId", NotFound)
	_, err = s.CreateOrder(ctx, home, NewOrder{PetID: none, Quantity: 1}, nil)
	wantField(t, "CreateOrder", err, "/petId", NotFound)
}

func TestUpdatePetChangesWhatItNames(t *testing.T) {
	t.Parallel()
	laika := Pet{ID: petID, Name: "Laika", CategoryID: categoryID, Status: Pending}
	for what, test := range map[string]struct {
		patch PetPatch
		want  Pet
	}{
		"nothing":     {PetPatch{}, laika},
		"name":        {PetPatch{Name: Some("Re\u0301my")}, Pet{petID, "Rémy", categoryID, Pending}},
		"category":    {PetPatch{CategoryID: Some[int64](8)}, Pet{petID, "Laika", 8, Pending}},
		"status":      {PetPatch{Status: Some(Available)}, Pet{petID, "Laika", categoryID, Available}},
		"null status": {PetPatch{Status: Null[Status]()}, Pet{petID, "Laika", categoryID, Available}},
	} {
		s := newShop(t).stocked(Pending, 3, 1)
		s.has.Category = &Category{ID: 8}
		got, err := s.UpdatePet(context.Background(), home, petID, test.patch, Condition{})
		if err != nil || got != test.want || s.wrote.SavePet.Pet != test.want {
			t.Errorf("UpdatePet(%s) = %+v, %v, want %+v", what, got, err, test.want)
		}
	}
}

// A replaced pet keeps its status, a hold too, unless another is given.
func TestReplacePet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		is, given, want Status
		quantity, left  int64
		code            Code
	}{
		{Available, "", Available, 3, 3, ""}, {Pending, "", Pending, 3, 3, ""}, {Sold, "", Sold, 0, 0, ""},
		{Available, Pending, Pending, 3, 3, ""}, {Available, Sold, Sold, 3, 0, ""}, {Sold, Available, Sold, 0, 0, CodeOutOfStock},
	} {
		s := newShop(t).stocked(test.is, test.quantity, 0)
		got, err := s.ReplacePet(context.Background(), home, petID, NewPet{Name: "Belka", CategoryID: categoryID, Status: test.given}, Condition{})
		wantCode(t, "ReplacePet", err, test.code)
		if want := (Pet{petID, "Belka", categoryID, test.want}); test.code == "" && got != want {
			t.Errorf("ReplacePet = %+v, want %+v", got, want)
		}
		s.wantPet("ReplacePet", test.want, test.left, 0)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	wantCode(t, "DeletePet with an open order", newShop(t).stocked(Available, 2, 1).DeletePet(ctx, home, petID, Condition{}), CodePetHasOpenOrders)
	s := newShop(t).stocked(Available, 2, 0)
	s.has.CategoryInUse = true
	wantCode(t, "DeleteCategory in use", s.DeleteCategory(ctx, home, categoryID, Condition{}), CodeCategoryInUse)
	if err := s.DeletePet(ctx, home, petID, Condition{}); err != nil || s.wrote.DropPet != petID || s.wrote.Movement.Delta != -2 {
		t.Errorf("DeletePet = %v with %+v, want that it drops the pet", err, s.wrote)
	}
	s.has.CategoryInUse = false
	if err := s.DeleteCategory(ctx, home, categoryID, Condition{}); err != nil || s.wrote.DropCategory != categoryID {
		t.Errorf("DeleteCategory = %v with %+v, want that it drops the category", err, s.wrote)
	}
}

func TestCategoryDescription(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	ctx := context.Background()
	for what, test := range map[string]struct {
		write func(s *shop) (Category, error)
		want  Category // without its id
	}{
		"replace": {func(s *shop) (Category, error) {
			return s.ReplaceCategory(ctx, home, categoryID, NewCategory{Name: "Cats", Description: text("e\u0301")}, Condition{})
		}, Category{Name: "Cats", Description: text("é")}},
		"replace without": {func(s *shop) (Category, error) {
			return s.ReplaceCategory(ctx, home, categoryID, NewCategory{Name: "Cats"}, Condition{})
		}, Category{Name: "Cats"}},
		"patch the name": {func(s *shop) (Category, error) {
			return s.UpdateCategory(ctx, home, categoryID, CategoryPatch{Name: Some("Cats")}, Condition{})
		}, Category{Name: "Cats", Description: text("Loyal")}},
		"patch with null": {func(s *shop) (Category, error) {
			return s.UpdateCategory(ctx, home, categoryID, CategoryPatch{Description: Null[string]()}, Condition{})
		}, Category{Name: "Dogs"}},
		"patch with an empty one": {func(s *shop) (Category, error) {
			return s.UpdateCategory(ctx, home, categoryID, CategoryPatch{Description: Some("")}, Condition{})
		}, Category{Name: "Dogs", Description: text("")}},
	} {
		s := newShop(t)
		s.has.Category.Description, test.want.ID = text("Loyal"), categoryID
		got, err := test.write(s)
		if err != nil || !reflect.DeepEqual(got, test.want) || !reflect.DeepEqual(*s.wrote.SaveCategory, test.want) {
			t.Errorf("%s: %s, %v, want %s", what, JSON(got), err, JSON(test.want))
		}
	}
}

// TestCreated: a creation answers with the new row.
func TestCreated(t *testing.T) {
	t.Parallel()
	ship, ctx := At(time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC)), context.Background()
	order := func(n NewOrder) func(*shop) (Created, error) {
		n.PetID, n.Quantity = petID, 2
		return func(s *shop) (Created, error) { return s.CreateOrder(ctx, home, n, nil) }
	}
	for name, test := range map[string]struct {
		create func(*shop) (Created, error)
		want   any
	}{
		"pet": {func(s *shop) (Created, error) {
			return s.CreatePet(ctx, home, NewPet{Name: "Re\u0301my", CategoryID: categoryID}, nil)
		}, Pet{newID, "Rémy", categoryID, Available}},
		"pet and category": {func(s *shop) (Created, error) {
			return s.CreatePet(ctx, home, NewPet{Name: "Kaa", Category: &NewCategory{Name: "Snakes"}}, nil)
		}, Pet{newID, "Kaa", newID, Available}},
		"category":            {func(s *shop) (Created, error) { return s.CreateCategory(ctx, home, NewCategory{Name: "Cats"}, nil) }, Category{ID: newID, Name: "Cats"}},
		"order":               {order(NewOrder{}), Order{ID: newID, PetID: petID, Quantity: 2}},
		"order with a date":   {order(NewOrder{ShipDate: ship}), Order{ID: newID, PetID: petID, Quantity: 2, ShipDate: ship}},
		"sale":                {order(NewOrder{Complete: true}), Order{ID: newID, PetID: petID, Quantity: 2, ShipDate: noon, Complete: true}},
		"sale with a date":    {order(NewOrder{Complete: true, ShipDate: ship}), Order{ID: newID, PetID: petID, Quantity: 2, ShipDate: ship, Complete: true}},
		"addition to a stock": {func(s *shop) (Created, error) { return s.AddStock(ctx, home, petID, 2, nil) }, InventoryItem{petID, 7, Available}},
	} {
		s := newShop(t).stocked(Available, 5, 0)
		made, err := test.create(s)
		if err != nil || made.Replayed || string(made.Body) != string(JSON(test.want)) {
			t.Errorf("%s: %+v with %s, %v, want %s", name, made, made.Body, err, JSON(test.want))
		}
		if o := s.wrote.SaveOrder; o != nil && *o != test.want {
			t.Errorf("%s: wrote %+v, want %+v", name, o, test.want)
		}
	}
}

func TestUpdateOrder(t *testing.T) {
	t.Parallel()
	early, late := At(time.Unix(1000, 0)), At(time.Unix(2000, 0))
	for what, test := range map[string]struct {
		patch OrderPatch
		want  Order
	}{
		"nothing":                         {OrderPatch{}, Order{ShipDate: early}},
		"absent members with values":      {OrderPatch{ShipDate: Optional[Time]{Value: late}, Complete: Optional[bool]{Value: true}}, Order{ShipDate: early}},
		"ship date":                       {OrderPatch{ShipDate: Some(late)}, Order{ShipDate: late}},
		"null ship date with a value":     {OrderPatch{ShipDate: Optional[Time]{Present: true, Null: true, Value: late}}, Order{}},
		"not complete":                    {OrderPatch{Complete: Some(false)}, Order{ShipDate: early}},
		"null complete with a value":      {OrderPatch{Complete: Optional[bool]{Present: true, Null: true, Value: true}}, Order{ShipDate: early}},
		"complete":                        {OrderPatch{Complete: Some(true)}, Order{ShipDate: early, Complete: true}},
		"complete and a ship date":        {OrderPatch{ShipDate: Some(late), Complete: Some(true)}, Order{ShipDate: late, Complete: true}},
		"complete and the null ship date": {OrderPatch{ShipDate: Null[Time](), Complete: Some(true)}, Order{ShipDate: noon, Complete: true}},
	} {
		s := newShop(t).stocked(Available, 3, 1)
		s.has.Order.ShipDate = early
		test.want.ID, test.want.PetID, test.want.Quantity = orderID, petID, 1
		got, err := s.UpdateOrder(context.Background(), home, orderID, test.patch, Condition{})
		if err != nil || got != test.want || *s.wrote.SaveOrder != test.want {
			t.Errorf("UpdateOrder(%s) = %+v, %v, wrote %+v, want %+v", what, got, err, s.wrote.SaveOrder, test.want)
		}
		open := int64(1)
		if test.want.Complete {
			open = 0
		}
		s.wantPet(what, Available, 3, open)
	}
}

// Rule 4: completing is final, also if the pet is gone.
func TestCompletedOrderIsFinal(t *testing.T) {
	t.Parallel()
	for _, pet := range []int64{petID, none} {
		s := newShop(t).stocked(Available, 3, 1)
		s.has.Order.Complete, s.has.Order.PetID = true, pet
		for what, patch := range map[string]OrderPatch{
			"nothing": {}, "ship date": {ShipDate: Some(noon)}, "complete": {Complete: Some(true)}, "reopen": {Complete: Some(false)}, "null": {Complete: Null[bool]()},
		} {
			got, err := s.UpdateOrder(context.Background(), home, orderID, patch, Condition{})
			if wantCode(t, what, err, CodeOrderCompleted); got != (Order{}) {
				t.Errorf("UpdateOrder(%s) = %+v with an error, want no order", what, got)
			}
		}
		wantCode(t, "CancelOrder", s.CancelOrder(context.Background(), home, orderID, Condition{}), CodeOrderCompleted)
	}
}

// TestNoRoomForTheCategory: a pet that comes with its category needs room for both, which is given back. What makes no row needs none.
func TestNoRoomForTheCategory(t *testing.T) {
	t.Parallel()
	s, held := newShop(t).stocked(Available, 3, 0), 0
	full := Errorf("full", "There can be no more categories.")
	ctx := WithRowLimit(context.Background(), func(_ context.Context, kind RowKind) (func(), error) {
		held++
		if kind == CategoryRow {
			return func() { held-- }, full
		}
		return func() { held-- }, nil
	})
	_, err := s.CreatePet(ctx, home, NewPet{Name: "Kaa", Category: &NewCategory{Name: "Snakes"}}, nil)
	wantCode(t, "CreatePet with a category", err, "full")
	_, err = s.CreatePet(ctx, home, NewPet{Name: "Rex", CategoryID: categoryID}, nil)
	wantCode(t, "CreatePet", err, "")
	if held != 0 {
		t.Errorf("room for %d rows is still held", held)
	}
	none := func(context.Context, RowKind) (func(), error) { return func() {}, errors.New("there is no room") }
	_, err = s.AddStock(WithRowLimit(context.Background(), none), home, petID, 2, nil)
	wantCode(t, "AddStock", err, "")
}
