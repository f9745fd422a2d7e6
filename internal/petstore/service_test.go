package petstore

import (
	"context"
	"testing"
)

// What is not there is not found, whatever the condition says.
func TestNotFound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	const none = 404
	stale := Condition{IfMatch: &TagSet{}}
	for name, test := range map[string]struct {
		do   func() error
		want Code
	}{
		"ReplacePet": {func() error {
			_, err := s.ReplacePet(ctx, home, none, NewPet{Name: "a", CategoryID: s.category}, stale)
			return err
		}, CodePetNotFound},
		"UpdatePet": {func() error {
			_, err := s.UpdatePet(ctx, home, none, PetPatch{}, stale)
			return err
		}, CodePetNotFound},
		"DeletePet": {func() error { return s.DeletePet(ctx, home, none, stale) }, CodePetNotFound},
		"UpdateInventory": {func() error {
			_, err := s.UpdateInventory(ctx, home, none, 1, stale)
			return err
		}, CodePetNotFound},
		"AddStock": {func() error {
			_, err := s.AddStock(ctx, home, none, 1, nil)
			return err
		}, CodePetNotFound},
		"ReplaceCategory": {func() error {
			_, err := s.ReplaceCategory(ctx, home, none, NewCategory{Name: "a"}, stale)
			return err
		}, CodeCategoryNotFound},
		"UpdateCategory": {func() error {
			_, err := s.UpdateCategory(ctx, home, none, CategoryPatch{}, stale)
			return err
		}, CodeCategoryNotFound},
		"DeleteCategory": {func() error { return s.DeleteCategory(ctx, home, none, stale) }, CodeCategoryNotFound},
		"UpdateOrder": {func() error {
			_, err := s.UpdateOrder(ctx, home, none, OrderPatch{}, stale)
			return err
		}, CodeOrderNotFound},
		"CancelOrder": {func() error { return s.CancelOrder(ctx, home, none, stale) }, CodeOrderNotFound},
	} {
		wantCode(t, name, test.do(), test.want)
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
