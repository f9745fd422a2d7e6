package node

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	s := newOperationsServer(probes(nil, newMetrics("").Registry, log), log, []string{"node1", "ops.example.com"})
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9090": 200, "LOCALHOST.:9090": 200, "pets.localhost": 200, "127.0.0.1:9090": 200, "10.0.0.7": 200,
		"[::1]:9090": 200, "[fe80::1%eth0]": 200, "node1:9090": 200, "Ops.Example.com": 200, "": 200,
		"evil.example": 421, "evil.example:9090": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "node1.evil.example": 421,
		"notlocalhost": 421, "node2": 421,
	} {
		for _, path := range []string{"/metrics", "/livez", "/debug/pprof/", "/console"} {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			req.Host = host
			rec := httptest.NewRecorder()
			s.Handler.ServeHTTP(rec, req)
			if got := rec.Code; (got == 421) != (want == 421) {
				t.Errorf("GET %s of %q = %d, want %d", path, host, got, want)
			} else if want == 421 && !strings.Contains(rec.Body.String(), "--ops-hosts") {
				t.Errorf("GET %s of %q says %q, want what to do", path, host, rec.Body)
			}
		}
	}
}
