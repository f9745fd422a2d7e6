package http1

import (
	"maps"
	"net/http"
	"slices"
	"testing"
)

func TestFields(t *testing.T) {
	t.Parallel()
	var f Fields
	for range 2 {
		f.Set("Vary", "Accept")
		f.SetInt("X-RateLimit-Limit", 60)
		from := f.Text()
		f.Append(`"minute";q=`).AppendInt(-1).SetText("RateLimit-Policy", from)
		f.Set("Vary", "Origin") // in place of the first
		h := http.Header{"Vary": {"before"}, "Other": {"stays"}}
		f.MoveTo(h)
		want := http.Header{"Vary": {"Origin"}, "X-RateLimit-Limit": {"60"}, "RateLimit-Policy": {`"minute";q=-1`}, "Other": {"stays"}}
		if !maps.EqualFunc(h, want, slices.Equal) {
			t.Errorf("MoveTo() = %v, want %v", h, want)
		}
		again := http.Header{}
		if f.MoveTo(again); len(again) != 0 {
			t.Errorf("after MoveTo the fields are %v, want none", again)
		}
	}
}
