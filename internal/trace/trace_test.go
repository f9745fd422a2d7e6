package trace

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.com/petstore/internal/petstore"
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

// A fake is a store whose reads fail with err.
type fake struct {
	petstore.Store
	err error
}

func (f fake) Pet(context.Context, int64, int64) (petstore.Pet, error) { return petstore.Pet{}, f.err }

// serve has a tracer's handler answer one request and returns the spans, in the
// order in which they ended, and the log.
func serve(t *testing.T, r *http.Request, storeErr error, status int) (tracetest.SpanStubs, string) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	var log bytes.Buffer
	tracer, err := start(t.Context(), Options{
		Version: "v1", Log: slog.New(slog.DiscardHandler), Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}, sdk.WithSyncer(kept))
	if err != nil {
		t.Fatal(err)
	}
	shop := tracer.Store(fake{err: storeErr})
	lines := Log(slog.New(slog.NewJSONHandler(&log, nil)))
	mux := http.NewServeMux()
	mux.HandleFunc("/pets/{petId}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = shop.Pet(r.Context(), 7, 1) // its span is what matters
		lines.InfoContext(r.Context(), "request")
		w.Header()["X-Request-Id"] = []string{"r-1"}
		w.WriteHeader(status)
	})
	tracer.Handler(mux).ServeHTTP(httptest.NewRecorder(), r)
	spans := kept.GetSpans()
	if err := tracer.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return spans, log.String()
}

func TestSpansOfARequest(t *testing.T) {
	t.Parallel()
	spans, log := serve(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pets/1?a=pst_secret", http.NoBody), nil, 200)
	if len(spans) != 2 || spans[0].Name != "store Pet" || spans[1].Name != "GET /pets/{petId}" {
		t.Fatalf("the spans are %v, want store Pet and GET /pets/{petId}", spans)
	}
	below, above := spans[0], spans[1]
	if below.Parent.SpanID() != above.SpanContext.SpanID() {
		t.Error("the span of the store is not below that of the request")
	}
	got := map[string]string{}
	for _, a := range above.Attributes {
		got[string(a.Key)] = a.Value.Emit()
	}
	for key, want := range map[string]string{
		"http.request.method": "GET", "http.route": "/pets/{petId}", "http.response.status_code": "200", "petstore.request_id": "r-1",
	} {
		if got[key] != want {
			t.Errorf("the attribute %s is %q, want %q", key, got[key], want)
		}
	}
	if id := above.SpanContext.TraceID().String(); !strings.Contains(log, `"trace_id":"`+id+`"`) {
		t.Errorf("the log is %s, want the trace id %s in it", log, id)
	}
}

func TestFailuresOfTheStore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err    error
		status int
		want   [2]string // of the store's span and of the request's
	}{
		{petstore.NoPet(1), 404, [2]string{"Unset", "Unset"}},
		{petstore.Unavailable(errors.New("gone")), 503, [2]string{"Error", "Error"}},
		{errors.New("broken"), 500, [2]string{"Error", "Error"}},
	}
	for _, tt := range tests {
		spans, _ := serve(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pets/1", http.NoBody), tt.err, tt.status)
		if got := [2]string{spans[0].Status.Code.String(), spans[1].Status.Code.String()}; got != tt.want {
			t.Errorf("the spans after %v have the status %v, want %v", tt.err, got, tt.want)
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
		spans, _ := serve(t, r, nil, 200)
		above := spans[len(spans)-1]
		if got := above.SpanContext.TraceID().String() == theirs; got != joins {
			t.Errorf("a request from %s joins the trace: %v, want %v", peer, got, joins)
		}
		if linked := len(above.Links) == 1; linked == joins {
			t.Errorf("a request from %s is linked to the trace: %v, want %v", peer, linked, !joins)
		}
	}
}

func TestNoSpanWithoutARequest(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	tracer, err := start(t.Context(), Options{Log: slog.New(slog.DiscardHandler)}, sdk.WithSyncer(kept))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tracer.Store(fake{}).Pet(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	if n := len(kept.GetSpans()); n != 0 {
		t.Errorf("a read without a request made %d spans, want none", n)
	}
}
