package portal

import (
	"encoding/json"
	"slices"
	"testing"

	"example.com/petstore/api"
)

func newDescription() *description { return &description{api.Parse()} }

func TestMarkdown(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"one\ntwo\n\nthree\n", "<p>one\ntwo</p><p>three</p>"},
		{"`a<b>` & <script>", "<p><code>a&lt;b&gt;</code> &amp; &lt;script&gt;</p>"},
		{"[text](/docs) [bad](javascript:x)", `<p><a href="/docs">text</a> [bad](javascript:x)</p>`},
		{"", ""},
	}
	for _, tt := range tests {
		if got := string(markdown(tt.in)); got != tt.want {
			t.Errorf("markdown(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	d := newDescription()
	fields := d.fields(d.Components.Schemas["NewPet"])
	want := []struct {
		name, typ string
		required  bool
		limits    []string
		enum      []string
	}{
		{"name", "string", true, []string{"1 to 100 characters"}, nil},
		{"categoryId", "integer int64", true, []string{"1 to 2⁵³ − 1"}, nil},
		{"status", "PetStatus", false, nil, []string{"available", "pending", "sold"}},
	}
	if len(fields) != len(want) {
		t.Fatalf("NewPet has %d fields, want %d", len(fields), len(want))
	}
	for i, w := range want {
		f := fields[i]
		if f.Name != w.name || f.Type != w.typ || f.Required != w.required || !slices.Equal(f.Limits, w.limits) || !slices.Equal(f.Enum, w.enum) {
			t.Errorf("field %d of NewPet = %+v, want %+v", i, f, w)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`42`: "42", `"a"`: "a", `[1, 2]`: "1, 2", `9007199254740991`: "9007199254740991"} {
		if got := plain(json.RawMessage(in)); got != want {
			t.Errorf("plain(%s) = %q, want %q", in, got, want)
		}
	}
}
