package main

import (
	"strings"
	"testing"
)

func TestConvert(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"order", "b: 1\na: 2\n", "{\n  \"b\": 1,\n  \"a\": 2\n}\n"},
		{"string stays a string", "v: '2030-12-05'\n", "{\n  \"v\": \"2030-12-05\"\n}\n"},
		{"text is not escaped", "- <a> & b\n", "[\n  \"<a> & b\"\n]\n"},
		{"large integers stay exact", "- 9007199254740991\n", "[\n  9007199254740991\n]\n"},
		{"scalars", "[null, true, 1.5, '']\n", "[\n  null,\n  true,\n  1.5,\n  \"\"\n]\n"},
		{"number as key", "200: {}\n", "{\n  \"200\": {}\n}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := convert([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("convert(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestConvertRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"anchor", "a: &x 1\n", "anchor"},
		{"twice", "a: 1\na: 2\n", "twice"},
		{"date", "a: 2030-12-05\n", "quote it"},
		{"empty", "", "one document"},
		{"not YAML", "a: [", "yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := convert([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("convert(%q) = %v, want an error with %q", tt.in, err, tt.want)
			}
		})
	}
}
