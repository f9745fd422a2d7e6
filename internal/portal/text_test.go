package portal

import (
	"encoding/json"
	"fmt"
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

func TestMembers(t *testing.T) {
	t.Parallel()
	d := newDescription()
	var got []string
	for _, m := range d.members(d.Components.Schemas["NewPet"]) {
		got = append(got, fmt.Sprint(m.Name, " ", m.Required, " ", d.typeName(m.Schema), " ", d.limits(m.Schema), " ", m.Options()))
	}
	want := []string{"name true string [1 to 100 characters] []", "categoryId true integer int64 [1 to 2⁵³ − 1] []", "status false PetStatus [] [available pending sold]"}
	if !slices.Equal(got, want) {
		t.Errorf("the members of NewPet are %q, want %q", got, want)
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
