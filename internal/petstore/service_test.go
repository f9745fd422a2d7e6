package petstore

import (
	"context"
	"testing"
)

// What another workspace has is not there, whatever the condition says.
func TestNotFound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	pet := s.mustStock(3)
	order := s.mustOrder(NewOrder{PetID: pet, Quantity: 1})
	away := s.mustAwayCategory()
	for _, at := range []struct {
		what                 string
		workspace            int64
		pet, category, order int64
	}{
		{"unknown", home, 404, 404, 404},
		{"of another workspace", home + 1, pet, s.category, order},
	} {
		stale := Condition{IfMatch: &TagSet{}}
		category := away
		if at.workspace == home {
			category = s.category
		}
		for name, test := range map[string]struct {
			do   func() error
			want Code
		}{
			"ReplacePet": {func() error {
				_, err := s.ReplacePet(ctx, at.workspace, at.pet, NewPet{Name: "a", CategoryID: category}, stale)
				return err
			}, CodePetNotFound},
			"UpdatePet": {func() error {
				_, err := s.UpdatePet(ctx, at.workspace, at.pet, PetPatch{}, stale)
				return err
			}, CodePetNotFound},
			"DeletePet": {func() error { return s.DeletePet(ctx, at.workspace, at.pet, stale) }, CodePetNotFound},
			"UpdateInventory": {func() error {
				_, err := s.UpdateInventory(ctx, at.workspace, at.pet, 1, stale)
				return err
			}, CodePetNotFound},
			"ReplaceCategory": {func() error {
				_, err := s.ReplaceCategory(ctx, at.workspace, at.category, NewCategory{Name: "a"}, stale)
				return err
			}, CodeCategoryNotFound},
			"UpdateCategory": {func() error {
				_, err := s.UpdateCategory(ctx, at.workspace, at.category, CategoryPatch{}, stale)
				return err
			}, CodeCategoryNotFound},
			"DeleteCategory": {func() error { return s.DeleteCategory(ctx, at.workspace, at.category, stale) }, CodeCategoryNotFound},
			"UpdateOrder": {func() error {
				_, err := s.UpdateOrder(ctx, at.workspace, at.order, OrderPatch{}, stale)
				return err
			}, CodeOrderNotFound},
			"CancelOrder": {func() error { return s.CancelOrder(ctx, at.workspace, at.order, stale) }, CodeOrderNotFound},
		} {
			wantCode(t, name+" "+at.what, test.do(), test.want)
		}
	}
}

// mustAwayCategory makes categories in another workspace until one has an id
// that the home workspace does not use.
func (s *shop) mustAwayCategory() int64 {
	s.t.Helper()
	for {
		made, err := s.CreateCategory(context.Background(), home+1, NewCategory{Name: "Away"}, nil)
		if err != nil {
			s.t.Fatalf("CreateCategory: %v", err)
		}
		if made.ID > 100 {
			return made.ID
		}
		if err := s.DeleteCategory(context.Background(), home+1, made.ID, Condition{}); err != nil {
			s.t.Fatalf("DeleteCategory: %v", err)
		}
	}
}

// Bad input never reaches the store.
func TestInvalidInput(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	pet := s.mustPet("")
	asked := s.store.asked
	for name, test := range map[string]struct {
		do      func() error
		pointer string
		code    FieldCode
	}{
		"CreatePet": {func() error {
			_, err := s.CreatePet(ctx, home, NewPet{Name: " ", CategoryID: s.category}, nil)
			return err
		}, "/name", InvalidFormat},
		"ReplacePet": {func() error {
			_, err := s.ReplacePet(ctx, home, pet, NewPet{Name: "a", CategoryID: s.category, Status: "lost"}, Condition{})
			return err
		}, "/status", InvalidEnum},
		"UpdatePet": {func() error {
			_, err := s.UpdatePet(ctx, home, pet, PetPatch{CategoryID: Null[int64]()}, Condition{})
			return err
		}, "/categoryId", InvalidType},
		"CreateCategory": {func() error {
			_, err := s.CreateCategory(ctx, home, NewCategory{}, nil)
			return err
		}, "/name", TooShort},
		"ReplaceCategory": {func() error {
			_, err := s.ReplaceCategory(ctx, home, s.category, NewCategory{Name: "\t"}, Condition{})
			return err
		}, "/name", InvalidFormat},
		"UpdateCategory": {func() error {
			_, err := s.UpdateCategory(ctx, home, s.category, CategoryPatch{Description: Some("\x00")}, Condition{})
			return err
		}, "/description", InvalidFormat},
		"CreateOrder": {func() error {
			_, err := s.CreateOrder(ctx, home, NewOrder{PetID: pet}, nil)
			return err
		}, "/quantity", OutOfRange},
		"UpdateInventory": {func() error {
			_, err := s.UpdateInventory(ctx, home, pet, -1, Condition{})
			return err
		}, "/quantity", OutOfRange},
	} {
		wantField(t, name, test.do(), test.pointer, test.code)
	}
	if s.store.asked != asked {
		t.Errorf("%d invalid changes reached the store, want none", s.store.asked-asked)
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, status := range Statuses() {
		if !status.Valid() {
			t.Errorf("%q.Valid() = false, want true", status)
		}
	}
	for _, status := range []Status{"", "Available", "lost"} {
		if status.Valid() {
			t.Errorf("%q.Valid() = true, want false", status)
		}
	}
}
