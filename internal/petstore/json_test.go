package petstore

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"", `""`},
		{"Laika", `"Laika"`},
		{`a"b\c/d`, `"a\"b\\c/d"`},
		{"<&>'", `"<&>'"`}, // no HTML
		{"\n\r\t", `"\n\r\t"`},
		{"\x00\x01\b\f\x1f", `"\u0000\u0001\u0008\u000c\u001f"`},
		{"\x7f\u0080\u009f", "\"\x7f\u0080\u009f\""}, // RFC 8259 lets them stand
		{"é€𝄞👩‍🚀", `"é€𝄞👩‍🚀"`},
		{"\u2027\u2028\u2029\u202a", "\"\u2027\\u2028\\u2029\u202a\""},
		{"\ufffd\ufeff\uffff\U0010ffff", "\"\ufffd\ufeff\uffff\U0010ffff\""},
		{"a\xffb", `"a\ufffdb"`},
		{"\xc3", `"\ufffd"`},                     // cut short
		{"\xc0\x80", `"\ufffd\ufffd"`},           // overlong
		{"\xed\xa0\x80", `"\ufffd\ufffd\ufffd"`}, // surrogate
		{"\xf4\x90\x80\x80", `"\ufffd\ufffd\ufffd\ufffd"`},
	} {
		if got := string(AppendString([]byte("x"), test.in)); got != "x"+test.want {
			t.Errorf("AppendString(x, %q) = %s, want x%s", test.in, got, test.want)
		}
	}
}

// Every code point survives the way through a JSON parser.
func TestAppendStringRoundTrip(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) {
			all.WriteRune(r)
		}
	}
	wantString(t, all.String())
}

// wantString checks AppendString against encoding/json: what it writes is
// valid and means the same.
func wantString(t *testing.T, in string) {
	t.Helper()
	out := AppendString(nil, in)
	var got string
	if err := json.Unmarshal(out, &got); err != nil || !utf8.Valid(out) {
		t.Fatalf("AppendString(%.99q) = %.99q, which is no JSON: %v", in, out, err)
	}
	theirs, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var want string
	if err := json.Unmarshal(theirs, &want); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("AppendString(%.99q) reads back as %.99q, want %.99q", in, got, want)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "Laika", "\x00\"\\\u2028", "\xff\xed\xa0\x80", "é𝄞\x7f", "e\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(wantString)
}

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	empty, text := "", "all \"kinds\""
	ship := Time{Millis: 1_772_600_767_891, Valid: true}
	for _, test := range []struct {
		in   canonical
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
		got := string(test.in.AppendJSON([]byte("x")))
		if got != "x"+test.want || !json.Valid([]byte(got[1:])) {
			t.Errorf("%+v.AppendJSON(x) = %s, want x%s", test.in, got, test.want)
		}
	}
}
