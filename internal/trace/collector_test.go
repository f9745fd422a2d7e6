package trace

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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

// TestTheCollectorIsSentSpans: with the headers and the compression that the variables say, and again after a failure that may pass.
func TestTheCollectorIsSentSpans(t *testing.T) {
	t.Parallel()
	var requests int
	var sent spans.TracesData
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests++; requests {
		case 1:
			panic(http.ErrAbortHandler) // closes the connection
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if got := r.URL.Path + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("Api-Key") + " " + r.Header.Get("Team"); got != "/otlp/v1/traces application/x-protobuf a=b c d" {
			t.Errorf("the request has %q", got)
		}
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		text, err := io.ReadAll(body)
		if err != nil || proto.Unmarshal(text, &sent) != nil {
			t.Errorf("the body cannot be read: %v", err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := newCollector(environment("ENDPOINT="+server.URL+"/otlp/", "HEADERS=api-key=a%3Db, team = c%20d", "COMPRESSION=gzip", "TIMEOUT=0"))
	if err != nil {
		t.Fatal(err)
	}
	c.wait = time.Millisecond
	if err := c.UploadTraces(t.Context(), []*spans.ResourceSpans{{SchemaUrl: "s"}}); err != nil {
		t.Fatal(err)
	}
	if requests != 3 || len(sent.GetResourceSpans()) != 1 || sent.GetResourceSpans()[0].GetSchemaUrl() != "s" {
		t.Errorf("after %d requests the collector has %v, want the spans with the third", requests, &sent)
	}
}

func TestSpansThatAreNotTakenAreAnError(t *testing.T) {
	t.Parallel()
	for status, pairs := range map[int][]string{http.StatusBadRequest: {}, http.StatusServiceUnavailable: {"TIMEOUT=50"}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(server.Close)
		c, err := newCollector(environment(append(pairs, "TRACES_ENDPOINT="+server.URL)...))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.UploadTraces(t.Context(), nil); err == nil || !strings.Contains(err.Error(), http.StatusText(status)) {
			t.Errorf("the error of an answer of %d is %v, want one that says so", status, err)
		}
	}
}

func TestStartNamesTheFaultyVariable(t *testing.T) {
	t.Parallel()
	for pair, want := range map[string]string{
		"ENDPOINT=collector:4318": "ENDPOINT", "TRACES_ENDPOINT=collector:4318": "TRACES_ENDPOINT",
		"HEADERS=key": "HEADERS", "HEADERS==x": "HEADERS", "TRACES_HEADERS=a b=c": "TRACES_HEADERS", "HEADERS=a=b%0A": "HEADERS",
		"TIMEOUT=-1": "TIMEOUT", "TRACES_TIMEOUT=10s": "TRACES_TIMEOUT", "TRACES_COMPRESSION=zstd": "TRACES_COMPRESSION",
		"CERTIFICATE=/nowhere": "CERTIFICATE", "TRACES_CLIENT_CERTIFICATE=/nowhere": "TRACES_CLIENT_CERTIFICATE",
	} {
		if _, err := Start(t.Context(), Options{Log: slog.New(slog.DiscardHandler), Getenv: environment(pair)}); err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_"+want) {
			t.Errorf("Start with %s: %v, want an error that names %s", pair, err, want)
		}
	}
}
