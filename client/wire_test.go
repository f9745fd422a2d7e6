package client

import (
	"net/http"
	"testing"
	"time"
)

func TestLink(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lines []string
		rel   string
		want  string
	}{
		{nil, "next", ""},
		{[]string{`</pets?cursor=a>; rel="next"`}, "next", "/pets?cursor=a"},
		{[]string{`</pets?cursor=a>; rel=next`}, "next", "/pets?cursor=a"},
		{[]string{`</a>; rel="prev", </b>; title="x, <y>"; rel="next last"`}, "next", "/b"},
		{[]string{`</a>; rel="prev"`, `</b>; REL="Next"`}, "next", "/b"},
		{[]string{`</a,b>; rel="next"`}, "next", "/a,b"},
		{[]string{`</a>; rel="nextish"`}, "next", ""},
		{[]string{`</a; rel="next"`}, "next", ""},
		{[]string{`rel="next"`}, "next", ""},
	} {
		if got := link(http.Header{"Link": tc.lines}, tc.rel); got != tc.want {
			t.Errorf("link(%q, %q) = %q, want %q", tc.lines, tc.rel, got, tc.want)
		}
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CET", 3600)
	for _, tc := range []struct{ got, want string }{
		{ListOrdersParams{}.query().Encode(), ""},
		{ListOrdersParams{Complete: new(false), PetID: 1 << 52}.query().Encode(), "complete=false&petId=4503599627370496"},
		{ListOrdersParams{ShipDateFrom: time.Date(2027, 3, 1, 9, 30, 0, 5e8, berlin)}.query().Encode(), "shipDateFrom=2027-03-01T09%3A30%3A00.5%2B01%3A00"},
		{ListInventoryParams{MaxQuantity: new(0), Status: []PetStatus{PetStatusSold, PetStatusPending}}.query().Encode(), "maxQuantity=0&status=sold&status=pending"},
	} {
		if tc.got != tc.want {
			t.Errorf("query() = %q, want %q", tc.got, tc.want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path string
		ids  []any
		want string
	}{
		{"/pets", nil, "/pets"},
		{"/pets/{petId}", []any{int64(42)}, "/pets/42"},
		{"/a/{x}/b/{y}/c", []any{int64(1), int64(2)}, "/a/1/b/2/c"},
		{"/keys/{keyId}/rotate", []any{"a/b %2F"}, "/keys/a%2Fb%20%252F/rotate"},
	} {
		if got := expand(tc.path, tc.ids...); got != tc.want {
			t.Errorf("expand(%q, %v) = %q, want %q", tc.path, tc.ids, got, tc.want)
		}
	}
}

func TestNullable(t *testing.T) {
	t.Parallel()
	var n Nullable[int]
	if !n.IsZero() {
		t.Error("the zero Nullable is sent, want it left alone")
	}
	for text, want := range map[string]Nullable[int]{"null": Null[int](), "0": Set(0), "7": Set(7)} {
		if err := n.UnmarshalJSON([]byte(text)); err != nil || n != want {
			t.Errorf("UnmarshalJSON(%s) = %+v, %v, want %+v", text, n, err, want)
		}
		if got, err := want.MarshalJSON(); err != nil || string(got) != text {
			t.Errorf("MarshalJSON(%+v) = %s, %v, want %s", want, got, err, text)
		}
	}
	if err := n.UnmarshalJSON([]byte(`"x"`)); err == nil {
		t.Error("UnmarshalJSON of a string into an int succeeded, want an error")
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "17": 17 * time.Second, "-1": 0, "1.5": 0, "soon": 0, "99999999999999999999": 0,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}

func TestBackoffIsBounded(t *testing.T) {
	t.Parallel()
	r := DefaultRetry()
	for attempt := 1; attempt <= 100; attempt++ {
		most := r.MaxBackoff
		if attempt <= 6 {
			most = r.Backoff << (attempt - 1)
		}
		if got := r.backoff(attempt); got < most/2 || got > most {
			t.Errorf("backoff(%d) = %v, want %v to %v", attempt, got, most/2, most)
		}
	}
	if got := (Retry{}).backoff(3); got != 0 {
		t.Errorf("backoff of the zero Retry = %v, want 0", got)
	}
}
