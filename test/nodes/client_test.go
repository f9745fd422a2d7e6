package nodes

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"example.com/petstore/test/servertest"
)

// ask sends a request that must be answered.
func ask(t *testing.T, r servertest.Request) servertest.Answer {
	t.Helper()
	a, err := servertest.Send(t.Context(), http.DefaultClient, r)
	must(t, err)
	return a
}

func get(t *testing.T, url, key string) servertest.Answer {
	t.Helper()
	return ask(t, servertest.Request{Method: "GET", URL: url, Key: key})
}

// remaining returns what the X-RateLimit headers say is left.
func remaining(a servertest.Answer) int {
	n, err := strconv.Atoi(a.Header.Get("X-RateLimit-Remaining"))
	if err != nil {
		return -1
	}
	return n
}

// unitsLeft returns how many units of its pet a shop has, as a node says.
func unitsLeft(t *testing.T, url, key string) int {
	t.Helper()
	var item struct{ Quantity int }
	if a := get(t, url+"/inventory/1", key); json.Unmarshal([]byte(a.Body), &item) != nil || a.Status != http.StatusOK {
		t.Fatalf("GET /inventory/1 = %d %s", a.Status, a.Body)
	}
	return item.Quantity
}
