package spelling

import "testing"

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"serve", "serve", 0}, {"srve", "serve", 1}, {"servr", "serve", 1}, {"evres", "serve", 4},
	}
	for _, test := range tests {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			if got := distance(pair[0], pair[1]); got != test.want {
				t.Errorf("distance(%q, %q) = %d, want %d", pair[0], pair[1], got, test.want)
			}
		}
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	names := []string{"serve", "workspace", "version"}
	for given, want := range map[string]string{
		"servr": "; did you mean serve?",
		"work":  "; did you mean workspace?",
		"ser":   "; did you mean serve?",
		"xyz":   "",
	} {
		if got := Suggest(given, names); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", given, got, want)
		}
	}
}
