package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/petstore/client"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		base, key string
		ok        bool
	}{
		{"https://petstore.example", "pst_key", true},
		{"http://127.0.0.1:8080/", "pst_key", true},
		{"https://petstore.example/below/a/path/", "pst_key", true},
		{"petstore.example", "pst_key", false},
		{"", "pst_key", false},
		{"ftp://petstore.example", "pst_key", false},
		{"https://user:secret@petstore.example", "pst_key", false},
		{"https://petstore.example?key=pst_key", "pst_key", false},
		{"https://petstore.example", "", false},
		{"https://petstore.example", "pst_key\n", false},
	} {
		if _, err := client.New(tc.base, tc.key); (err == nil) != tc.ok {
			t.Errorf("New(%q, %q) = %v, want success %v", tc.base, tc.key, err, tc.ok)
		}
	}
}

func TestRequestIsBelowTheBasePath(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = w.Write([]byte("[]"))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/shop/", "pst_key", client.WithUserAgent("till/2"))
	if err != nil {
		t.Fatal(err)
	}
	params := client.ListPetsParams{Limit: 5, ID: []int64{1, 1 << 53}, Name: "a&b"}
	if _, err := c.ListPets(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if want := "/shop/pets?id=1&id=9007199254740992&limit=5&name=a%26b"; got.RequestURI != want {
		t.Errorf("ListPets asked for %s, want %s", got.RequestURI, want)
	}
	if got.Header.Get("Authorization") != "Bearer pst_key" || got.UserAgent() != "till/2" {
		t.Errorf("ListPets sent %v, want the key and the name", got.Header)
	}
}
