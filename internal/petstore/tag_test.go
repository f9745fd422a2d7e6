package petstore

import (
	"context"
	"regexp"
	"testing"
)

func TestTagOf(t *testing.T) {
	t.Parallel()
	// base64url of the first 12 bytes of the SHA-256 of "abc", ba7816bf 8f01cfea 414140de.
	if got, want := TagOf([]byte("abc")), Tag("ungWv48Bz-pBQUDe"); got != want {
		t.Errorf("TagOf(abc) = %s, want %s", got, want)
	}
	seen := map[Tag]string{}
	pet := Pet{ID: 1, Name: "Laika", CategoryID: 2, Status: Available}
	for _, row := range []canonical{
		pet, Pet{2, "Laika", 2, Available}, Pet{1, "Belka", 2, Available}, Pet{1, "Laika", 3, Available}, Pet{1, "Laika", 2, Sold},
		Category{ID: 1}, Order{ID: 1}, Order{ID: 1, Complete: true}, Order{ID: 1, ShipDate: Time{Valid: true}}, InventoryItem{PetID: 1},
	} {
		body := string(row.AppendJSON(nil))
		tag := TagOf([]byte(body))
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{16}$`).MatchString(string(tag)) {
			t.Errorf("TagOf(%s) = %q, want 16 characters of base64url", body, tag)
		}
		if seen[tag] != "" {
			t.Errorf("%s and %s have the same tag", body, seen[tag])
		}
		seen[tag] = body
	}
	if got := TagOf(pet.AppendJSON(nil)); seen[got] == "" {
		t.Errorf("TagOf of the same pet again = %q, want the same", got)
	}
}

// guarded are all writes that take a condition, each with the tag of what it
// is held against.
var guarded = map[string]func(s *shop) (now Tag, write func(Condition) error){
	"ReplacePet": func(s *shop) (Tag, func(Condition) error) {
		pet := s.mustPet("")
		return s.petTag(pet), func(c Condition) error {
			_, err := s.ReplacePet(context.Background(), home, pet, NewPet{Name: "New", CategoryID: s.category}, c)
			return err
		}
	},
	"UpdatePet": func(s *shop) (Tag, func(Condition) error) {
		pet := s.mustPet("")
		return s.petTag(pet), func(c Condition) error {
			_, err := s.UpdatePet(context.Background(), home, pet, PetPatch{Name: Some("New")}, c)
			return err
		}
	},
	"DeletePet": func(s *shop) (Tag, func(Condition) error) {
		pet := s.mustPet("")
		return s.petTag(pet), func(c Condition) error { return s.DeletePet(context.Background(), home, pet, c) }
	},
	"ReplaceCategory": func(s *shop) (Tag, func(Condition) error) {
		return s.categoryTag(), func(c Condition) error {
			_, err := s.ReplaceCategory(context.Background(), home, s.category, NewCategory{Name: "New"}, c)
			return err
		}
	},
	"UpdateCategory": func(s *shop) (Tag, func(Condition) error) {
		return s.categoryTag(), func(c Condition) error {
			_, err := s.UpdateCategory(context.Background(), home, s.category, CategoryPatch{Name: Some("New")}, c)
			return err
		}
	},
	"DeleteCategory": func(s *shop) (Tag, func(Condition) error) {
		return s.categoryTag(), func(c Condition) error {
			return s.DeleteCategory(context.Background(), home, s.category, c)
		}
	},
	"UpdateOrder": func(s *shop) (Tag, func(Condition) error) {
		order := s.mustOrder(NewOrder{PetID: s.mustStock(3), Quantity: 1})
		return TagOf(s.order(order).AppendJSON(nil)), func(c Condition) error {
			_, err := s.UpdateOrder(context.Background(), home, order, OrderPatch{Complete: Some(true)}, c)
			return err
		}
	},
	"CancelOrder": func(s *shop) (Tag, func(Condition) error) {
		order := s.mustOrder(NewOrder{PetID: s.mustStock(3), Quantity: 1})
		return TagOf(s.order(order).AppendJSON(nil)), func(c Condition) error {
			return s.CancelOrder(context.Background(), home, order, c)
		}
	},
	"UpdateInventory": func(s *shop) (Tag, func(Condition) error) {
		pet := s.mustStock(3)
		item, err := s.InventoryItem(context.Background(), home, pet)
		if err != nil {
			s.t.Fatalf("InventoryItem(%d): %v", pet, err)
		}
		return TagOf(item.AppendJSON(nil)), func(c Condition) error {
			_, err := s.UpdateInventory(context.Background(), home, pet, 9, c)
			return err
		}
	},
}

func (s *shop) petTag(id int64) Tag {
	s.t.Helper()
	p, err := s.Pet(context.Background(), home, id)
	if err != nil {
		s.t.Fatalf("Pet(%d): %v", id, err)
	}
	return TagOf(p.AppendJSON(nil))
}

func (s *shop) categoryTag() Tag {
	s.t.Helper()
	c, err := s.Category(context.Background(), home, s.category)
	if err != nil {
		s.t.Fatalf("Category(%d): %v", s.category, err)
	}
	return TagOf(c.AppendJSON(nil))
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for name, prepare := range guarded {
		for _, test := range []struct {
			what string
			c    func(now Tag) Condition
			want Code
		}{
			{"none", func(Tag) Condition { return Condition{} }, ""},
			{"If-Match the current", func(now Tag) Condition { return Condition{IfMatch: &TagSet{Tags: []Tag{"stale", now}}} }, ""},
			{"If-Match any", func(Tag) Condition { return Condition{IfMatch: &TagSet{Any: true}} }, ""},
			{"If-Match a stale one", func(Tag) Condition { return Condition{IfMatch: &TagSet{Tags: []Tag{"stale"}}} }, CodePreconditionFailed},
			{"If-Match only weak ones", func(Tag) Condition { return Condition{IfMatch: &TagSet{}} }, CodePreconditionFailed},
			{"If-None-Match a stale one", func(Tag) Condition { return Condition{IfNoneMatch: &TagSet{Tags: []Tag{"stale"}}} }, ""},
			{"If-None-Match the current", func(now Tag) Condition { return Condition{IfNoneMatch: &TagSet{Tags: []Tag{now}}} }, CodePreconditionFailed},
			{"If-None-Match any", func(Tag) Condition { return Condition{IfNoneMatch: &TagSet{Any: true}} }, CodePreconditionFailed},
			{"both, at odds", func(now Tag) Condition {
				return Condition{IfMatch: &TagSet{Tags: []Tag{now}}, IfNoneMatch: &TagSet{Any: true}}
			}, CodePreconditionFailed},
		} {
			t.Run(name+"/"+test.what, func(t *testing.T) {
				t.Parallel()
				now, write := prepare(newShop(t))
				err := write(test.c(now))
				if test.want == "" && err != nil || CodeOf(err) != test.want {
					t.Errorf("%s: error %v, want code %q", name, err, test.want)
				}
			})
		}
	}
}
