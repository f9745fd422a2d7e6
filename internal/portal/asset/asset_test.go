package asset_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/petstore/internal/portal/asset"
)

func TestServeNegotiatesTheEncoding(t *testing.T) {
	t.Parallel()
	const text = "body { color: black }"
	file := asset.NewFile("text/css; charset=utf-8", []byte(text))
	tests := []struct {
		accept []string
		gzip   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"gzip"}, true},
		{[]string{"GZip"}, true},
		{[]string{"x-gzip"}, true},
		{[]string{"deflate, gzip;q=0.5, br"}, true},
		{[]string{"br", "gzip"}, true},
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip ; Q=0.000"}, false},
		{[]string{"gzip;q=0, *"}, false},
		{[]string{"*"}, true},
		{[]string{"*;q=0"}, false},
		{[]string{"notgzip, gzip2"}, false},
		{[]string{"identity, gzip;q=0.5"}, false},
		{[]string{"identity;q=0, gzip;q=0.1"}, true},
		{[]string{"identity;q=0, *;q=0.1"}, true},
		{[]string{"identity;q=0"}, false}, // neither is acceptable, and the plain form is the better guess
		{[]string{"gzip;q=high"}, false},
		{[]string{"gzip;q="}, false},
	}
	for _, test := range tests {
		header, body := serve(t, file, test.accept)
		if got := header.Get("Content-Encoding") == "gzip"; got != test.gzip {
			t.Errorf("Accept-Encoding %q is answered in gzip: %t, want %t", test.accept, got, test.gzip)
		}
		if body != text {
			t.Errorf("Accept-Encoding %q is answered with %q, want %q", test.accept, body, text)
		}
		if got := header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q is answered with Vary %q", test.accept, got)
		}
	}
}

// serve returns the header and the text of the file for a client.
func serve(t *testing.T, file *asset.File, accept []string) (http.Header, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header["Accept-Encoding"] = accept
	w := httptest.NewRecorder()
	file.Serve(w, r)
	var body io.Reader = w.Body
	if w.Header().Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		body = z
	}
	all, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Header(), string(all)
}
