package client_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"example.com/petstore/client"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		base, key, want string // in the error; "" if there is none
	}{
		{"https://petstore.example", "pst_key", ""},
		{"http://127.0.0.1:8080/", "pst_key", ""},
		{"https://petstore.example/below/a/path/", "pst_key", ""},
		{"petstore.example", "pst_key", "is not an absolute http or https URL"},
		{"127.0.0.1:8080", "pst_key", "is not an absolute http or https URL"},
		{"localhost:8080", "pst_key", "is not an absolute http or https URL"},
		{"[::1]:8080", "pst_key", "is not an absolute http or https URL"},
		{"", "pst_key", "is not an absolute http or https URL"},
		{"ftp://petstore.example", "pst_key", "is not an absolute http or https URL"},
		{"https://user:secret@petstore.example", "pst_key", "has more than scheme, host and path"},
		{"https://petstore.example?key=pst_key", "pst_key", "has more than scheme, host and path"},
		{"https://petstore.example", "", "the API key is empty"},
		{"https://petstore.example", "pst_key\n", "the API key is empty"},
	} {
		if _, err := client.New(tc.base, tc.key); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New(%q, %q) = %v, want %q", tc.base, tc.key, err, tc.want)
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
	must(t, err)
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

// An error about the base URL does not repeat what may be a password or a key.
func TestNewTellsNoSecret(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"user:hunter2@petstore.example", "https://user:hunter2@petstore.example", "https://user:hunter2/@petstore.example", "https://user:%zzhunter2@h",
		"ftp://user:hunter2@petstore.example", "https://petstore.example?key=hunter2", "petstore.example?key=hunter2", "https://petstore.example/#hunter2",
	} {
		if _, err := client.New(base, "pst_key"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New(%q) = %v, want an error without the secret", base, err)
		}
	}
}

// Do returns the bytes of the answer, and repeats and fails as the methods do.
func TestDoReturnsTheAnswerUnchanged(t *testing.T) {
	t.Parallel()
	const body = "[ {\"id\":1.0e0,\"new\":\"\\u003c\",\"complete\":false} ]\n"
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if got := r.Method + " " + r.RequestURI; got != "GET /shop/store/orders?limit=1" {
			t.Errorf("Do asked for %s", got)
		}
		w.Header().Set("Link", `</store/orders?cursor=c2>; rel="next"`)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/shop", "pst_key", client.WithRetry(client.Retry{Attempts: 2}))
	must(t, err)
	got, resp, err := c.Do(t.Context(), client.Request{Operation: "listOrders", Method: http.MethodGet, Path: "/store/orders", Query: url.Values{"limit": {"1"}}})
	if err != nil || string(got) != body || resp.Next() != "c2" || resp.Attempts != 2 {
		t.Errorf("Do = %q, next %q after %d attempts, %v", got, resp.Next(), resp.Attempts, err)
	}
}

func TestRedirectionIsNotFollowed(t *testing.T) {
	t.Parallel()
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "pst_key")
	must(t, err)
	_, err = c.CreateCategory(t.Context(), client.NewCategory{Name: "Dogs"})
	if err == nil || !strings.Contains(err.Error(), `301 leads to "/elsewhere"`) || requests != 1 {
		t.Errorf("CreateCategory = %v after %d requests, want an error that says where it leads, after one", err, requests)
	}
}

func TestAnswerOfSomethingElse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status   int
		body     string
		want     string
		wantCode client.Code
	}{
		"a page of a proxy":    {http.StatusForbidden, "<html>\nno</html>", "403: this is not a response of Petstore: Forbidden: \"<html>\"", ""},
		"an empty refusal":     {http.StatusUnauthorized, "", "401: this is not a response of Petstore: Unauthorized", ""},
		"a page as a result":   {http.StatusOK, "<html>hello</html>", "the answer to getOrder: invalid character", ""},
		"a code that is newer": {http.StatusTeapot, `{"code":"is_teapot","message":"Short and stout.","status":418}`, "418 is_teapot: Short and stout.", "is_teapot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			t.Cleanup(server.Close)
			c, err := client.New(server.URL, "pst_key")
			must(t, err)
			_, err = c.GetOrder(t.Context(), 1)
			if err == nil || !strings.Contains(err.Error(), tc.want) || client.CodeOf(err) != tc.wantCode {
				t.Errorf("GetOrder = %v with code %q, want %q with code %q", err, client.CodeOf(err), tc.want, tc.wantCode)
			}
		})
	}
}
