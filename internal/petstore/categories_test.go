package petstore

import (
	"context"
	"reflect"
	"testing"
)

func TestCategoryDescription(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	ctx := context.Background()
	for _, test := range []struct {
		what  string
		write func(s *shop, id int64) (Category, error)
		want  Category // without its id
	}{
		{"replace", func(s *shop, id int64) (Category, error) {
			return s.ReplaceCategory(ctx, home, id, NewCategory{Name: "Cats", Description: text("e\u0301")}, Condition{})
		}, Category{Name: "Cats", Description: text("é")}},
		{"replace without", func(s *shop, id int64) (Category, error) {
			return s.ReplaceCategory(ctx, home, id, NewCategory{Name: "Cats"}, Condition{})
		}, Category{Name: "Cats"}},
		{"patch nothing", func(s *shop, id int64) (Category, error) {
			return s.UpdateCategory(ctx, home, id, CategoryPatch{}, Condition{})
		}, Category{Name: "Dogs", Description: text("Loyal")}},
		{"patch the name", func(s *shop, id int64) (Category, error) {
			return s.UpdateCategory(ctx, home, id, CategoryPatch{Name: Some("Cats")}, Condition{})
		}, Category{Name: "Cats", Description: text("Loyal")}},
		{"patch with null", func(s *shop, id int64) (Category, error) {
			return s.UpdateCategory(ctx, home, id, CategoryPatch{Description: Null[string]()}, Condition{})
		}, Category{Name: "Dogs"}},
		{"patch with an empty one", func(s *shop, id int64) (Category, error) {
			return s.UpdateCategory(ctx, home, id, CategoryPatch{Description: Some("")}, Condition{})
		}, Category{Name: "Dogs", Description: text("")}},
	} {
		s := newShop(t)
		test.want.ID = s.mustCategory(NewCategory{Name: "Dogs", Description: text("Loyal")})
		got, err := test.write(s, test.want.ID)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %s, %v, want %s", test.what, got.AppendJSON(nil), err, test.want.AppendJSON(nil))
		}
		if stored, err := s.Category(ctx, home, test.want.ID); err != nil || !reflect.DeepEqual(stored, test.want) {
			t.Errorf("%s: the store has %s, %v, want %s", test.what, stored.AppendJSON(nil), err, test.want.AppendJSON(nil))
		}
	}
}

func TestDeleteCategory(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	pet := s.mustPet("")
	wantCode(t, "DeleteCategory in use", s.DeleteCategory(ctx, home, s.category, Condition{}), CodeCategoryInUse)
	if err := s.DeletePet(ctx, home, pet, Condition{}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "DeleteCategory", s.DeleteCategory(ctx, home, s.category, Condition{}), "")
	wantCode(t, "DeleteCategory again", s.DeleteCategory(ctx, home, s.category, Condition{}), CodeCategoryNotFound)
}
