package petstore

import (
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
	for _, row := range []any{
		pet, Pet{2, "Laika", 2, Available}, Pet{1, "Belka", 2, Available}, Pet{1, "Laika", 3, Available}, Pet{1, "Laika", 2, Sold},
		Category{ID: 1}, Order{ID: 1}, Order{ID: 1, Complete: true}, Order{ID: 1, ShipDate: Time{Valid: true}}, InventoryItem{PetID: 1},
	} {
		body := string(JSON(row))
		tag := TagOf([]byte(body))
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{16}$`).MatchString(string(tag)) {
			t.Errorf("TagOf(%s) = %q, want 16 characters of base64url", body, tag)
		}
		if seen[tag] != "" {
			t.Errorf("%s and %s have the same tag", body, seen[tag])
		}
		seen[tag] = body
	}
	if got := TagOf(JSON(pet)); seen[got] == "" {
		t.Errorf("TagOf of the same pet again = %q, want the same", got)
	}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	pet := Pet{ID: 1, Name: "Laika", CategoryID: 2, Status: Available}
	now := TagOf(JSON(pet))
	for _, test := range []struct {
		what string
		c    Condition
		want Code
	}{
		{"none", Condition{}, ""},
		{"If-Match the current", Condition{IfMatch: &TagSet{Tags: []Tag{"stale", now}}}, ""},
		{"If-Match any", Condition{IfMatch: &TagSet{Any: true}}, ""},
		{"If-Match a stale one", Condition{IfMatch: &TagSet{Tags: []Tag{"stale"}}}, CodePreconditionFailed},
		{"If-Match only weak ones", Condition{IfMatch: &TagSet{Weak: []Tag{now}}}, CodePreconditionFailed},
		{"If-None-Match a stale one", Condition{IfNoneMatch: &TagSet{Tags: []Tag{"stale"}}}, ""},
		{"If-None-Match the current", Condition{IfNoneMatch: &TagSet{Tags: []Tag{now}}}, CodePreconditionFailed},
		{"If-None-Match any", Condition{IfNoneMatch: &TagSet{Any: true}}, CodePreconditionFailed},
		{"both, at odds", Condition{IfMatch: &TagSet{Tags: []Tag{now}}, IfNoneMatch: &TagSet{Any: true}}, CodePreconditionFailed},
	} {
		wantCode(t, test.what, test.c.Check(pet), test.want)
	}
}
