package httpapi

import (
	"math/big"
	"testing"
)

// TestContentType: a body is taken as what it says that it is, in UTF-8, however that is spelled, and as nothing else.
func TestContentType(t *testing.T) {
	t.Parallel()
	const json, patch = "application/json", "application/merge-patch+json"
	for text, want := range map[string][2]bool{ // as JSON, and as a patch
		json: {true, true}, "Application/JSON; charset=\"UTF-8\"": {true, true}, json + "\t;a=b": {true, true}, json + ";charset=Utf-8": {true, true},
		json + "; charset*=utf-8''utf-8": {true, true}, patch: {false, true}, patch + "; charset=utf-8": {false, true},
		"": {}, json + ";charset=latin1": {}, json + "; charset=utf-8x": {}, "text/plain, " + json: {}, "application/jsonp": {}, "text/json": {}, json + "+x": {},
	} {
		if got := [2]bool{jsonBody.takes(text), patchBody.takes(text)}; got != want {
			t.Errorf("Content-Type %q is taken as JSON and as a patch: %v, want %v", text, got, want)
		}
	}
}

// FuzzReadID checks that the id in a path is read exactly, or refused.
func FuzzReadID(f *testing.F) {
	for _, seed := range []string{"1", "01", "0", "-1", "+1", "1.0", "9223372036854775807", "9223372036854775808", "", " 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := readID("petId", text)
		if n, ok := new(big.Int).SetString(text, 10); err == nil && (!ok || n.String() != text || !n.IsInt64() || n.Int64() != id || id < 1) {
			t.Errorf("readID(%q) = %d, want an error", text, id)
		} else if err != nil && ok && n.String() == text && n.IsInt64() && n.Sign() > 0 {
			t.Errorf("readID(%q) = %v, want %d", text, err, n)
		}
	})
}
