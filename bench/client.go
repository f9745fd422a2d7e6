package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// ask sends a request and returns the header fields and the body of the answer, which must have the status. Over TLS it
// must be HTTP/2.
func ask(client *http.Client, r *http.Request, want int) (http.Header, []byte, error) {
	response, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s %s answered %d, not %d: %.300q", r.Method, r.URL.Path, response.StatusCode, want, body)
	}
	if err == nil && r.URL.Scheme == "https" && response.ProtoMajor != 2 {
		err = fmt.Errorf("the answer is %s, not HTTP/2", response.Proto)
	}
	return response.Header, body, err
}

// call sends a request that prepares or reads what is measured.
func call(ctx context.Context, method, url, key, body string, want int) (http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	return ask(http.DefaultClient, r, want)
}

// page returns the body of a page of the operations listener.
func (p *process) page(ctx context.Context, path string) ([]byte, error) {
	_, body, err := call(ctx, http.MethodGet, p.Ops+path, "", "", http.StatusOK)
	return body, err
}

// waitFor returns when somebody listens on addr.
func waitFor(ctx context.Context, addr string) error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // between two polls
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
	}
}
