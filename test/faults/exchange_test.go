package faults

import (
	"context"
	"fmt"
	"net/http"

	"example.com/petstore/test/servertest"
)

// exchange sends a request, with the idempotency key unless that is empty. It
// returns the body of the answer, and an error unless that is a success.
func exchange(ctx context.Context, c *http.Client, method, url, key, body, once string) (string, error) {
	a, err := servertest.Send(ctx, c, request(method, url, key, body, once))
	if err == nil && a.Status >= 300 {
		err = fmt.Errorf("%s %s = %d %s", method, url, a.Status, a.Body)
	}
	return a.Body, err
}

func request(method, url, key, body, once string) servertest.Request {
	r := servertest.Request{Method: method, URL: url, Key: key, Body: body}
	if once != "" {
		r.Header = map[string]string{"Idempotency-Key": once}
	}
	return r
}
