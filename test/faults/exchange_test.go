package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// exchange sends a request, with the idempotency key unless that is empty or there is no
// body. It returns what the body of the answer has, and an error unless that is a success.
func exchange(ctx context.Context, c *http.Client, method, url, key, body, once string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		if once != "" {
			req.Header.Set("Idempotency-Key", once)
		}
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s = %d %s", method, url, resp.StatusCode, text)
	}
	return text, err
}
