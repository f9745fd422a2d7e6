package petstore

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// fault is what a test expects of a Field.
type fault struct {
	pointer string
	code    FieldCode
}

func faults(fields []Field) []fault {
	var list []fault
	for _, f := range fields {
		if f.Parameter != "" || f.Message == "" {
			return []fault{{"incomplete: " + f.Pointer, f.Code}}
		}
		list = append(list, fault{f.Pointer, f.Code})
	}
	return list
}

// checkedNames are names, with what they become or what is wrong with them.
var checkedNames = []struct {
	what, in, want string
	code           FieldCode
}{
	{what: "plain", in: "Laika", want: "Laika"},
	{what: "one", in: "L", want: "L"},
	{what: "spaces around", in: " Laika ", want: " Laika "},
	{what: "composed", in: "e\u0301", want: "\u00e9"},
	{what: "ordered marks", in: "a\u0315\u0300", want: "\u00e0\u0315"},
	{what: "Hangul", in: "\u1112\u1161\u11ab", want: "\ud55c"},
	{what: "singleton", in: "\u212b", want: "\u00c5"},
	{what: "compatibility stays", in: "\ufb01", want: "\ufb01"},
	{what: "100 ASCII", in: strings.Repeat("a", 100), want: strings.Repeat("a", 100)},
	{what: "100 of four bytes", in: strings.Repeat("𝄞", 100), want: strings.Repeat("𝄞", 100)},
	{what: "200 that compose to 100", in: strings.Repeat("e\u0301", 100), want: strings.Repeat("é", 100)},
	{what: "exclusion that decomposes beyond", in: strings.Repeat("\u0958", 51), code: TooLong},
	{what: "101", in: strings.Repeat("a", 101), code: TooLong},
	{what: "202 that compose to 101", in: strings.Repeat("e\u0301", 101), code: TooLong},
	{what: "huge", in: strings.Repeat("a", 60_000), code: TooLong},
	{what: "empty", in: "", code: TooShort},
	{what: "space", in: " ", code: InvalidFormat},
	{what: "Unicode spaces", in: "\u00a0\u1680\u2003\u2028\u202f\u3000", code: InvalidFormat},
	{what: "format characters", in: "\u200b\u2060 \u00ad", code: InvalidFormat},
	{what: "NUL", in: "a\x00", code: InvalidFormat},
	{what: "tab", in: "a\tb", code: InvalidFormat},
	{what: "newline", in: "a\n", code: InvalidFormat},
	{what: "DEL", in: "a\x7f", code: InvalidFormat},
	{what: "C1", in: "a\u0085", code: InvalidFormat},
	{what: "only control", in: "\n", code: InvalidFormat},
	{what: "invalid UTF-8", in: "a\xff", code: InvalidFormat},
	{what: "surrogate", in: "a\xed\xa0\x80", code: InvalidFormat},
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, test := range checkedNames {
		var want []fault
		if test.code != "" {
			want = []fault{{"/name", test.code}}
		}
		pet := NewPet{Name: test.in, CategoryID: 1}
		patch := PetPatch{Name: Some(test.in)}
		category := NewCategory{Name: test.in}
		categoryPatch := CategoryPatch{Name: Some(test.in)}
		for _, got := range []struct {
			kind   string
			fields []Field
			name   string
		}{
			{"NewPet", pet.Check(), pet.Name},
			{"PetPatch", patch.Check(), patch.Name.Value},
			{"NewCategory", category.Check(), category.Name},
			{"CategoryPatch", categoryPatch.Check(), categoryPatch.Name.Value},
		} {
			if f := faults(got.fields); !slices.Equal(f, want) {
				t.Errorf("%s: %s.Check() = %v, want %v", test.what, got.kind, f, want)
			}
			if test.code == "" && got.name != test.want {
				t.Errorf("%s: %s.Check() leaves the name %q, want %q", test.what, got.kind, got.name, test.want)
			}
		}
	}
}

func TestCheckDescription(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, in, want string
		code           FieldCode
	}{
		{what: "empty", in: "", want: ""},
		{what: "blank", in: "  ", want: "  "},
		{what: "1000", in: strings.Repeat("€", 1000), want: strings.Repeat("€", 1000)},
		{what: "2000 that compose to 1000", in: strings.Repeat("e\u0301", 1000), want: strings.Repeat("é", 1000)},
		{what: "1001", in: strings.Repeat("€", 1001), code: TooLong},
		{what: "newline", in: "a\nb", code: InvalidFormat},
		{what: "invalid UTF-8", in: "\xc3(", code: InvalidFormat},
	} {
		var want []fault
		if test.code != "" {
			want = []fault{{"/description", test.code}}
		}
		given := test.in
		made := NewCategory{Name: "Dogs", Description: &given}
		patch := CategoryPatch{Description: Some(test.in)}
		if got := faults(made.Check()); !slices.Equal(got, want) {
			t.Errorf("%s: NewCategory.Check() = %v, want %v", test.what, got, want)
		}
		if got := faults(patch.Check()); !slices.Equal(got, want) {
			t.Errorf("%s: CategoryPatch.Check() = %v, want %v", test.what, got, want)
		}
		if given != test.in {
			t.Errorf("%s: NewCategory.Check() changed its caller's text to %q", test.what, given)
		}
		if test.code == "" && (*made.Description != test.want || patch.Description.Value != test.want) {
			t.Errorf("%s: the descriptions are %q and %q, want %q", test.what, *made.Description, patch.Description.Value, test.want)
		}
	}
}

func TestCheckEveryMember(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1001)
	for _, test := range []struct {
		what string
		got  []Field
		want []fault
	}{
		{"good pet", (&NewPet{Name: "a", CategoryID: math.MaxInt64, Status: Pending}).Check(), nil},
		{"no status", (&NewPet{Name: "a", CategoryID: 1}).Check(), nil},
		{"all wrong", (&NewPet{Status: "Sold"}).Check(), []fault{{"/name", TooShort}, {"/categoryId", OutOfRange}, {"/status", InvalidEnum}}},
		{"negative category", (&NewPet{Name: "a", CategoryID: math.MinInt64}).Check(), []fault{{"/categoryId", OutOfRange}}},

		{"empty patch", (&PetPatch{}).Check(), nil},
		{"absent members", (&PetPatch{Name: Optional[string]{Value: "\n"}, CategoryID: Optional[int64]{Value: -1}, Status: Optional[Status]{Value: "?"}}).Check(), nil},
		{"null status", (&PetPatch{Status: Null[Status]()}).Check(), nil},
		{"null status with a value", (&PetPatch{Status: Optional[Status]{Present: true, Null: true, Value: "?"}}).Check(), nil},
		{"null members", (&PetPatch{Name: Null[string](), CategoryID: Null[int64]()}).Check(), []fault{{"/name", InvalidType}, {"/categoryId", InvalidType}}},
		{"wrong patch", (&PetPatch{Name: Some(" "), CategoryID: Some[int64](0), Status: Some(Status(""))}).Check(),
			[]fault{{"/name", InvalidFormat}, {"/categoryId", OutOfRange}, {"/status", InvalidEnum}}},

		{"no description", (&NewCategory{Name: "a"}).Check(), nil},
		{"wrong category", (&NewCategory{Description: &long}).Check(), []fault{{"/name", TooShort}, {"/description", TooLong}}},
		{"empty category patch", (&CategoryPatch{}).Check(), nil},
		{"null description", (&CategoryPatch{Description: Null[string]()}).Check(), nil},
		{"null category name", (&CategoryPatch{Name: Null[string]()}).Check(), []fault{{"/name", InvalidType}}},

		{"least order", (&NewOrder{PetID: 1, Quantity: 1}).Check(), nil},
		{"greatest order", (&NewOrder{PetID: math.MaxInt64, Quantity: MaxOrder}).Check(), nil},
		{"too great an order", (&NewOrder{PetID: 1, Quantity: MaxOrder + 1}).Check(), []fault{{"/quantity", OutOfRange}}},
		{"no order", (&NewOrder{}).Check(), []fault{{"/petId", OutOfRange}, {"/quantity", OutOfRange}}},
		{"negative order", (&NewOrder{PetID: -1, Quantity: math.MinInt64}).Check(), []fault{{"/petId", OutOfRange}, {"/quantity", OutOfRange}}},

		{"no stock", CheckQuantity(0), nil},
		{"greatest stock", CheckQuantity(MaxQuantity), nil},
		{"too great a stock", CheckQuantity(MaxQuantity + 1), []fault{{"/quantity", OutOfRange}}},
		{"negative stock", CheckQuantity(-1), []fault{{"/quantity", OutOfRange}}},
	} {
		if got := faults(test.got); !slices.Equal(got, test.want) {
			t.Errorf("%s: Check() = %v, want %v", test.what, got, test.want)
		}
	}
}

// What Check accepts is in normal form, and accepted again as it is.
func TestCheckedNamesAreNormal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := NewCategory{Name: rapid.String().Draw(t, "name")}
		if n.Check() != nil {
			return
		}
		if count := utf8.RuneCountInString(n.Name); !norm.NFC.IsNormalString(n.Name) || count < 1 || count > MaxName {
			t.Errorf("Check() accepts %q", n.Name)
		}
		again := n
		if fields := again.Check(); fields != nil || again.Name != n.Name {
			t.Errorf("Check() of the checked %q = %v, want the same", n.Name, fields)
		}
	})
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ a, b string }{
		{"LAIKA", "laika"},
		{"STRASSE", "straße"},
		{"ΣΊΣΥΦΟΣ", "σίσυφος"},
		{"E\u0301COLE", "école"},
		{"\u212a", "k"},                              // Kelvin
		{"\u03aa\u0301", "\u0390"},                   // a capital with no composed form
		{"\u0390", "\u1fd3"},                         // two names of one letter
		{"J\u030c", "\u01f0"},                        // again, the other way round
		{"\u1f80", "\u1f88"},                         // iota below and beside
		{"\u0345\u0301\u03b1", "\u0301\u0345\u03b1"}, // marks in either order
	} {
		if a, b := Fold(test.a), Fold(test.b); a != b {
			t.Errorf("Fold(%q) = %q, Fold(%q) = %q, want the same", test.a, a, test.b, b)
		}
	}
	for _, test := range []struct{ name, part string }{{"café", "e"}, {"ñandú", "n\u0303x"}} {
		if strings.Contains(Fold(test.name), Fold(test.part)) {
			t.Errorf("Fold(%q) contains Fold(%q), want not", test.name, test.part)
		}
	}
}

// Every code point folds as its other cases do, and what is folded stays.
func TestFoldOfEveryCase(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x20000; r++ {
		other := unicode.SimpleFold(r)
		if other == r {
			continue
		}
		once := Fold(string(r))
		if got := Fold(string(other)); got != once {
			t.Errorf("Fold(%q) = %q and Fold(%q) = %q, want the same", r, once, other, got)
		}
		if again := Fold(once); again != once {
			t.Errorf("Fold(%q) = %q, and folded again %q", r, once, again)
		}
	}
}

func TestFoldIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "name")
		once := Fold(s)
		if again := Fold(once); again != once {
			t.Errorf("Fold(%q) = %q, and folded again %q", s, once, again)
		}
		if other := Fold(norm.NFD.String(s)); other != once {
			t.Errorf("Fold of the decomposed %q = %q, want %q", s, other, once)
		}
	})
}

// TestFoldOfASCII holds the short way against the tables.
func TestFoldOfASCII(t *testing.T) {
	t.Parallel()
	for c := range byte(utf8.RuneSelf) {
		name := "Rex" + string(rune(c)) + "the DOG"
		if got, want := Fold(name), foldAny(name); got != want {
			t.Errorf("Fold(%q) = %q, want %q", name, got, want)
		}
	}
}
