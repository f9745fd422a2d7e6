package trace

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// FuzzTraceparent checks that a proxy of ours, and nobody else, says which trace a request belongs to, by the grammar of
// W3C's Trace Context §3.2.2, whatever stands beside it in tracestate.
func FuzzTraceparent(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b"}, {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-00", ""}, {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "="}, {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
		{"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", ",,,"}, {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", ""}, {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", strings.Repeat("a=b,", 40)},
	} {
		f.Add(seed[0], seed[1])
	}
	kept := tracetest.NewInMemoryExporter()
	tracer, err := start(f.Context(), Options{
		Log: slog.New(slog.DiscardHandler), Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}, sdk.WithSyncer(kept))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = tracer.Stop(f.Context()) })
	handler := tracer.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	sampled := regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-0[13]$`)
	f.Fuzz(func(t *testing.T, parent, state string) {
		given := sampled.FindStringSubmatch(parent)
		valid := given != nil && strings.Trim(given[1], "0") != "" && strings.Trim(given[2], "0") != ""
		for _, peer := range []string{"10.1.2.3:5", "192.0.2.1:5"} {
			kept.Reset()
			r := httptest.NewRequest(http.MethodGet, "/pets", http.NoBody)
			r.RemoteAddr = peer
			r.Header["Traceparent"], r.Header["Tracestate"] = []string{parent}, []string{state}
			handler.ServeHTTP(httptest.NewRecorder(), r)
			spans, trusted := kept.GetSpans(), peer == "10.1.2.3:5"
			if len(spans) != 1 {
				if !trusted || valid {
					t.Errorf("%s with the parent %q: %d spans, want 1", peer, parent, len(spans))
				}
				continue // not sampled, which a proxy of ours may decide
			}
			joins := spans[0].Parent.IsValid()
			if joins && (!trusted || !strings.Contains(parent, spans[0].SpanContext.TraceID().String()) || !strings.Contains(parent, spans[0].Parent.SpanID().String())) {
				t.Errorf("%s with the parent %q joins the trace %v below %v", peer, parent, spans[0].SpanContext.TraceID(), spans[0].Parent.SpanID())
			}
			if valid && joins != trusted {
				t.Errorf("%s with the parent %q joins: %t", peer, parent, joins)
			}
			if linked := len(spans[0].Links) == 1; valid && linked == trusted {
				t.Errorf("%s with the parent %q is linked: %t", peer, parent, linked)
			}
		}
	})
}
