package trace

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/petstore/internal/processtest"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func environment(pairs ...string) func(string) string {
	env := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		env["OTEL_EXPORTER_OTLP_"+name] = value
	}
	return func(name string) string { return env[name] }
}

// TestTheCollectorIsSentSpans: with the headers that the variables say.
func TestTheCollectorIsSentSpans(t *testing.T) {
	t.Parallel()
	var sent spans.TracesData
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := r.URL.Path + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("Api-Key") + " " + r.Header.Get("Team"); got != "/otlp/v1/traces application/x-protobuf a=b c d" {
			t.Errorf("the request has %q", got)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || proto.Unmarshal(text, &sent) != nil {
			t.Errorf("the body cannot be read: %v", err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := newCollector(environment("ENDPOINT="+server.URL+"/otlp/", "HEADERS=api-key=a%3Db, team = c%20d", "TIMEOUT=0"))
	processtest.Must(t, err)
	t.Cleanup(func() { _ = c.Stop(t.Context()) })
	if err := c.UploadTraces(t.Context(), []*spans.ResourceSpans{{SchemaUrl: "s"}}); err != nil || len(sent.GetResourceSpans()) != 1 || sent.GetResourceSpans()[0].GetSchemaUrl() != "s" {
		t.Errorf("the collector has %v, %v, want the spans", &sent, err)
	}
}

func TestSpansThatAreNotTakenAreAnError(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	t.Cleanup(server.Close)
	c, err := newCollector(environment("TRACES_ENDPOINT=" + server.URL))
	processtest.Must(t, err)
	t.Cleanup(func() { _ = c.Stop(t.Context()) })
	if err := c.UploadTraces(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "400 Bad Request") {
		t.Errorf("the error of an answer of 400 is %v, want one that says so", err)
	}
}

func TestStartNamesTheFaultyVariable(t *testing.T) {
	t.Parallel()
	for pair, want := range map[string]string{
		"ENDPOINT=collector:4318": "ENDPOINT", "TRACES_ENDPOINT=collector:4318": "TRACES_ENDPOINT",
		"HEADERS=key": "HEADERS", "HEADERS==x": "HEADERS", "TRACES_HEADERS=a b=c": "TRACES_HEADERS", "HEADERS=a=b%0A": "HEADERS",
		"TIMEOUT=-1": "TIMEOUT", "TRACES_TIMEOUT=10s": "TRACES_TIMEOUT",
		"CERTIFICATE=/nowhere": "CERTIFICATE", "TRACES_CLIENT_CERTIFICATE=/nowhere": "TRACES_CLIENT_CERTIFICATE",
	} {
		if _, err := Start(t.Context(), Options{Log: slog.New(slog.DiscardHandler), Getenv: environment(pair)}); err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_"+want) {
			t.Errorf("Start with %s: %v, want an error that names %s", pair, err, want)
		}
	}
}

// TestRequestsGoOnWithoutACollector: a collector that is away costs spans, of which the log tells, and no request.
// It is not parallel: the library has one handler of errors.
func TestRequestsGoOnWithoutACollector(t *testing.T) { //nolint:paralleltest // see above
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	var log bytes.Buffer
	tracer, err := Start(t.Context(), Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Getenv: environment("ENDPOINT=" + gone.URL)})
	processtest.Must(t, err)
	answer := httptest.NewRecorder()
	mux := http.NewServeMux()
	mux.HandleFunc("/pets", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	tracer.Handler(mux).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/pets", http.NoBody))
	err = tracer.Stop(t.Context()) // which sends the spans
	if answer.Code != http.StatusNoContent || err != nil || !strings.Contains(log.String(), "connection refused") {
		t.Errorf("the request got %d, Stop = %v, and the log has %q", answer.Code, err, &log)
	}
}
