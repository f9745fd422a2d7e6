package node

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/usage"
)

// get asks a handler and returns the status, the content type and the body.
func get(t *testing.T, h http.Handler, path string) (int, string, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(rec.Body)
	must(t, err)
	return rec.Code, rec.Header().Get("Content-Type"), string(body)
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	var phase phase
	var store error
	h := probes([]check{{"phase", phase.err}, {"store", func() error { return store }}}, newMetrics("").Registry, slog.New(slog.DiscardHandler))
	ready := func(step string, wantStatus int, wantBody string) {
		t.Helper()
		status, kind, body := get(t, h, "/readyz")
		if status != wantStatus || strings.TrimSpace(body) != wantBody || kind != "application/json" {
			t.Errorf("%s: GET /readyz = %d %s %s, want %d application/json %s", step, status, kind, body, wantStatus, wantBody)
		}
	}
	ready("at first", 503, `{"status":"not ready","reasons":[{"check":"phase","message":"the service is starting"}]}`)
	if _, _, metrics := get(t, h, "/metrics"); !strings.Contains(metrics, "\npetstore_ready 0\n") {
		t.Error("the metrics of a service that starts lack petstore_ready 0")
	}
	phase.set(nil)
	ready("serving", 200, `{"status":"ready"}`)
	store = errors.New("the disk is gone")
	ready("store failed", 503, `{"status":"not ready","reasons":[{"check":"store","message":"the disk is gone"}]}`)
	phase.set(errStopping)
	ready("both", 503, `{"status":"not ready","reasons":[{"check":"phase","message":"the service is stopping"},{"check":"store","message":"the disk is gone"}]}`)
	if status, _, body := get(t, h, "/livez"); status != 200 || strings.TrimSpace(body) != `{"status":"alive"}` {
		t.Errorf("GET /livez = %d %s, want 200 alive whatever the readiness", status, body)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := newMetrics("v1.2.3")
	answered := func(operation string, status int, plan, outcome string) {
		event := usage.Event{Operation: operation, Method: "GET", Status: status, Duration: time.Millisecond}
		m.observe(httpapi.Observation{Event: event, Plan: plan, Outcome: outcome})
	}
	answered("listPets", 200, "pro", "admitted")
	answered("listPets", 429, "pro", "minute")
	answered("", 404, "", "admitted")
	answered("getAccount", 200, "free", "free")
	m.bans.Inc()
	m.bansLost.Inc()
	h := probes(nil, m.Registry, slog.New(slog.DiscardHandler))
	_, _, body := get(t, h, "/metrics")
	for _, want := range []string{
		`petstore_http_requests_total{method="GET",operation="listPets",status="200"} 1`,
		`petstore_http_requests_total{method="GET",operation="none",status="404"} 1`,
		`petstore_http_request_duration_seconds_bucket{operation="listPets",le="0.001"} 2`,
		`petstore_limiter_decisions_total{outcome="admitted",plan="pro"} 1`,
		`petstore_limiter_decisions_total{outcome="minute",plan="pro"} 1`,
		`petstore_limiter_decisions_total{outcome="admitted",plan="none"} 1`,
		"petstore_limiter_bans_started_total 1",
		"petstore_limiter_bans_unsaved_total 1",
		"petstore_ready 1",
		`petstore_build_info{version="v1.2.3"} 1`,
		"go_goroutines ",
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	if strings.Contains(body, `plan="free"`) {
		t.Error("a request that spends no quota was counted as a decision")
	}
}

func TestProfilesAndMethods(t *testing.T) {
	t.Parallel()
	h := probes(nil, newMetrics("").Registry, slog.New(slog.DiscardHandler))
	for path, want := range map[string]int{"/debug/pprof/": 200, "/debug/pprof/goroutine?debug=1": 200, "/": 404, "/debug": 404} {
		if got, _, _ := get(t, h, path); got != want {
			t.Errorf("GET %s = %d, want %d", path, got, want)
		}
	}
}
