package httpapi_test

import (
	"encoding/json"
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
	got, want := linesOf(t, out.String()), linesOf(t, plain.log.String())
	if len(got) != len(want) {
		t.Fatalf("%d lines, slog writes %d", len(got), len(want))
	}
	for i := range want {
		for _, member := range []string{"time", "ms", "key"} {
			if (got[i][member] == nil) != (want[i][member] == nil) {
				t.Errorf("line %d: %s = %v, slog has %v", i, member, got[i][member], want[i][member])
			}
			delete(got[i], member)
			delete(want[i], member)
		}
		if got[i]["request_id"] != "mine" {
			delete(got[i], "request_id")
			delete(want[i], "request_id")
		}
		g, _ := json.Marshal(got[i])
		w, _ := json.Marshal(want[i])
		if string(g) != string(w) {
			t.Errorf("line %d = %s, slog writes %s", i, g, w)
		}
	}
}

func linesOf(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		var members map[string]any
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, members)
	}
	return all
}

// TestAccessLogDoesNotWait checks that a lone line is written soon.
func TestAccessLogDoesNotWait(t *testing.T) {
	t.Parallel()
	var out processtest.Buffer
	s := openService(t, func(o *httpapi.Options) { o.AccessLog = httpapi.NewAccessLog(&out) })
	s.get("/pets").want(200, "")
	processtest.Eventually(t, "the line is written", func() bool { return strings.Contains(out.String(), `"operation":"listPets"`) })
}
