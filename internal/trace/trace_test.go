package trace

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"example.com/petstore/internal/processtest"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env     map[string]string
		want    bool
		wantErr string
	}{
		{env: nil},
		{env: map[string]string{"OTEL_SERVICE_NAME": "shop"}},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, want: true},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, want: true},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, want: true},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}},
		{env: map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, wantErr: "OTEL_TRACES_EXPORTER"},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, want: true},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, wantErr: "OTEL_EXPORTER_OTLP_PROTOCOL"},
	}
	for _, tt := range tests {
		got, err := Wanted(func(name string) string { return tt.env[name] })
		if got != tt.want || (err == nil) != (tt.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), tt.wantErr) {
			t.Errorf("Wanted(%v) = %v, %v, want %v, %q", tt.env, got, err, tt.want, tt.wantErr)
		}
	}
}

// serve has a tracer's handler answer one request with a status. It returns the span, and the log.
func serve(t *testing.T, r *http.Request, status int) (tracetest.SpanStub, string) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	var log bytes.Buffer
	tracer, err := start(t.Context(), Options{
		Version: "v1", Log: slog.New(slog.DiscardHandler), Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}, sdk.WithSyncer(kept))
	processtest.Must(t, err)
	lines := Log(slog.New(slog.NewJSONHandler(&log, nil)))
	mux := http.NewServeMux()
	mux.HandleFunc("/pets/{petId}", func(w http.ResponseWriter, r *http.Request) {
		lines.InfoContext(r.Context(), "request")
		w.WriteHeader(status)
		Describe(r.Context(), http.MethodGet, r.Pattern, status, "r-1")
	})
	tracer.Handler(mux).ServeHTTP(httptest.NewRecorder(), r)
	spans := kept.GetSpans()
	processtest.Must(t, tracer.Stop(t.Context()))
	if len(spans) != 1 {
		t.Fatalf("the spans are %v, want one", spans)
	}
	return spans[0], log.String()
}

func TestSpansOfARequest(t *testing.T) {
	t.Parallel()
	span, log := serve(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pets/1?a=pst_secret", http.NoBody), 200)
	got := map[string]string{"name": span.Name}
	for _, a := range span.Attributes {
		got[string(a.Key)] = a.Value.Emit()
	}
	for key, want := range map[string]string{
		"name": "GET /pets/{petId}", "http.request.method": "GET", "http.route": "/pets/{petId}", "http.response.status_code": "200", "petstore.request_id": "r-1",
	} {
		if got[key] != want {
			t.Errorf("the attribute %s is %q, want %q", key, got[key], want)
		}
	}
	if id := span.SpanContext.TraceID().String(); !strings.Contains(log, `"trace_id":"`+id+`"`) {
		t.Errorf("the log is %s, want the trace id %s in it", log, id)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{404: "Unset", 500: "Error", 503: "Error"} {
		span, _ := serve(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pets/1", http.NoBody), status)
		if got := span.Status.Code.String(); got != want {
			t.Errorf("the span of an answer with %d has the status %s, want %s", status, got, want)
		}
	}
}

// TestStrangersDoNotJoinATrace: only a proxy of ours may say which trace a
// request belongs to.
func TestStrangersDoNotJoinATrace(t *testing.T) {
	t.Parallel()
	const theirs = "4bf92f3577b34da6a3ce929d0e0e4736"
	for peer, joins := range map[string]bool{"10.1.2.3:5": true, "192.0.2.1:5": false} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pets/1", http.NoBody)
		r.RemoteAddr = peer
		r.Header.Set("Traceparent", "00-"+theirs+"-00f067aa0ba902b7-01")
		span, _ := serve(t, r, 200)
		if got := span.SpanContext.TraceID().String() == theirs; got != joins {
			t.Errorf("a request from %s joins the trace: %v, want %v", peer, got, joins)
		}
		if linked := len(span.Links) == 1; linked == joins {
			t.Errorf("a request from %s is linked to the trace: %v, want %v", peer, linked, !joins)
		}
	}
}
