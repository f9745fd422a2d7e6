package petstore

import (
	"context"
	"testing"
)

func TestCreatePet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	made, err := s.CreatePet(ctx, home, NewPet{Name: "Re\u0301my", CategoryID: s.category}, nil)
	if err != nil || made.Replayed {
		t.Fatalf("CreatePet = %+v, %v, want a new pet", made, err)
	}
	want := Pet{ID: made.ID, Name: "R\u00e9my", CategoryID: s.category, Status: Available}
	if got, err := s.Pet(ctx, home, made.ID); err != nil || got != want {
		t.Errorf("Pet(%d) = %+v, %v, want %+v", made.ID, got, err, want)
	}
	if got := string(made.Body); got != string(want.AppendJSON(nil)) {
		t.Errorf("CreatePet answers %s, want %s", got, want.AppendJSON(nil))
	}
}

func TestPetsOfAnUnknownCategory(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	pet := s.mustPet("")
	_, err := s.CreatePet(ctx, home, NewPet{Name: "Laika", CategoryID: 404}, nil)
	wantField(t, "CreatePet", err, "/categoryId", NotFound)
	_, err = s.ReplacePet(ctx, home, pet, NewPet{Name: "Laika", CategoryID: 404}, Condition{})
	wantField(t, "ReplacePet", err, "/categoryId", NotFound)
	_, err = s.UpdatePet(ctx, home, pet, PetPatch{CategoryID: Some[int64](404)}, Condition{IfMatch: &TagSet{}})
	wantField(t, "UpdatePet, before its condition", err, "/categoryId", NotFound)
}

func TestReplacePet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stand, given, want Status
		quantity, left     int64
		code               Code
	}{
		{Available, "", Available, 3, 3, ""},
		{Pending, "", Pending, 3, 3, ""}, // a hold is kept
		{Sold, "", Sold, 0, 0, ""},
		{Available, Pending, Pending, 3, 3, ""},
		{Available, Sold, Sold, 3, 0, ""},
		{Sold, Available, Sold, 0, 0, CodeOutOfStock},
	} {
		s := newShop(t)
		cats := s.mustCategory(NewCategory{Name: "Cats"})
		pet, _ := s.seed(test.stand, test.quantity, 0)
		got, err := s.ReplacePet(context.Background(), home, pet, NewPet{Name: "Toma\u0301s\u030c", CategoryID: cats, Status: test.given}, Condition{})
		wantCode(t, "ReplacePet", err, test.code)
		want := Pet{ID: pet, Name: "Tomáš", CategoryID: cats, Status: test.want}
		if test.code == "" && got != want {
			t.Errorf("ReplacePet of a pet that is %s with status %q = %+v, want %+v", test.stand, test.given, got, want)
		}
		s.wantPet("ReplacePet", pet, test.want, test.left, 0)
	}
}

func TestUpdatePetChangesWhatItNames(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cats := s.mustCategory(NewCategory{Name: "Cats"})
	pet, _ := s.seed(Pending, 3, 1)
	want := Pet{ID: pet, Name: "Laika", CategoryID: s.category, Status: Pending}
	for _, test := range []struct {
		what  string
		patch PetPatch
		edit  func()
	}{
		{"nothing", PetPatch{}, func() {}},
		{"name", PetPatch{Name: Some("Belka")}, func() { want.Name = "Belka" }},
		{"category", PetPatch{CategoryID: Some(cats)}, func() { want.CategoryID = cats }},
		{"status", PetPatch{Status: Some(Available)}, func() { want.Status = Available }},
		{"null status", PetPatch{Status: Null[Status]()}, func() {}},
	} {
		test.edit()
		got, err := s.UpdatePet(context.Background(), home, pet, test.patch, Condition{})
		if err != nil || got != want {
			t.Errorf("UpdatePet(%s) = %+v, %v, want %+v", test.what, got, err, want)
		}
		if stored, err := s.Pet(context.Background(), home, pet); err != nil || stored != want {
			t.Errorf("after UpdatePet(%s): Pet = %+v, %v, want %+v", test.what, stored, err, want)
		}
	}
	s.wantPet("all patches", pet, Available, 3, 1)
}

// Rule 9.
func TestDeletePet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	pet, orders := s.seed(Available, 2, 1)
	wantCode(t, "DeletePet with an open order", s.DeletePet(ctx, home, pet, Condition{}), CodePetHasOpenOrders)
	if _, err := s.UpdateOrder(ctx, home, orders[0], OrderPatch{Complete: Some(true)}, Condition{}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "DeletePet", s.DeletePet(ctx, home, pet, Condition{}), "")
	wantCode(t, "DeletePet again", s.DeletePet(ctx, home, pet, Condition{}), CodePetNotFound)
	if got := s.order(orders[0]); got.PetID != pet || !got.Complete {
		t.Errorf("the completed order is %+v, want it to keep pet %d", got, pet)
	}
	_, err := s.InventoryItem(ctx, home, pet)
	wantCode(t, "InventoryItem of a deleted pet", err, CodePetNotFound)
	_, err = s.UpdateOrder(ctx, home, orders[0], OrderPatch{}, Condition{})
	wantCode(t, "UpdateOrder of a deleted pet", err, CodeOrderCompleted)
	wantCode(t, "CancelOrder of a deleted pet", s.CancelOrder(ctx, home, orders[0], Condition{}), CodeOrderCompleted)
	_, err = s.CreateOrder(ctx, home, NewOrder{PetID: pet, Quantity: 1}, nil)
	wantField(t, "CreateOrder of a deleted pet", err, "/petId", NotFound)
	if next := s.mustPet(""); next == pet {
		t.Errorf("the next pet has the id %d again", next)
	}
	if err := s.store.broken(home); err != nil {
		t.Error(err)
	}
}

// TestNoRoomForTheCategory: a pet that comes with its category needs room for both, which is given back.
func TestNoRoomForTheCategory(t *testing.T) {
	t.Parallel()
	s, held := newShop(t), 0
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
	_, err = s.CreatePet(ctx, home, NewPet{Name: "Rex", CategoryID: s.category}, nil)
	wantCode(t, "CreatePet", err, "")
	if held != 0 {
		t.Errorf("room for %d rows is still held", held)
	}
}
