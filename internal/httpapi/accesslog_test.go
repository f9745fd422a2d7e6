package httpapi_test

import (
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/processtest"
)

// TestAccessLog makes the same requests with and without an access log: but
// for what differs every time, the lines are the same.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	var out processtest.Buffer
	l := httpapi.NewAccessLog(&out)
	fast, plain := openService(t, func(o *httpapi.Options) { o.AccessLog = l }), openService(t)
	for _, s := range []*service{fast, plain} {
		s.stock()
		s.get("/pets/99").want(404, "pet_not_found")
		s.do(request{method: "GET", path: "/pets/1", key: "-", header: map[string]string{"X-Request-Id": "mine"}}).want(401, "missing_api_key")
		s.do(request{method: "BREW", path: "/%22quoted%0A%F0%9F%90%95"}).want(404, "route_not_found")
	}
	l.Flush()
	differs := regexp.MustCompile(`"(time|request_id|key)":"[^"]*"|"ms":[0-9.]+`)
	got, want := differs.ReplaceAllString(out.String(), "$1"), differs.ReplaceAllString(plain.log.String(), "$1")
	if got != want || strings.Count(got, "\n") < 10 {
		t.Errorf("the lines are\n%s\nslog writes\n%s", got, want)
	}
}

// TestAccessLogDoesNotWait checks that a lone line is written soon.
func TestAccessLogDoesNotWait(t *testing.T) {
	t.Parallel()
	var out processtest.Buffer
	s := openService(t, func(o *httpapi.Options) { o.AccessLog = httpapi.NewAccessLog(&out) })
	s.get("/pets").want(200, "")
	processtest.Eventually(t, "the line is written", func() bool { return strings.Contains(out.String(), `"operation":"listPets"`) })
}
