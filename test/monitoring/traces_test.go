package monitoring

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"example.com/petstore/test/servertest"
)

// A span is what a collector was sent of one.
type span struct{ name, trace, id, parent string }

// A collector keeps the spans that it is sent, by their names.
type spans struct {
	mu     sync.Mutex
	byName map[string]span
}

// ServeHTTP takes what an exporter of OTLP over HTTP sends.
func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent otlp.TracesData // the same bytes as an ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		http.Error(w, "not traces", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range sent.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, one := range scope.GetSpans() {
				s.byName[one.GetName()] = span{
					one.GetName(), hex.EncodeToString(one.GetTraceId()), hex.EncodeToString(one.GetSpanId()), hex.EncodeToString(one.GetParentSpanId()),
				}
			}
		}
	}
}

func (s *spans) of(name string) (span, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.byName[name]
	if !ok {
		return one, fmt.Errorf("there is no span %q among %v", name, s.byName)
	}
	return one, nil
}

// traced starts a server with environment variables, and reads its pets once.
func traced(t *testing.T, env ...string) *servertest.Server {
	t.Helper()
	dir := t.TempDir()
	key := petstore.Shop(t, dir, "acme")
	s := petstore.Start(t, servertest.Options{Dir: dir, Env: env})
	visit(t.Context(), s.URL, key.Key)
	return s
}

func TestTraces(t *testing.T) {
	t.Parallel()
	kept := &spans{byName: map[string]span{}}
	to := httptest.NewServer(kept)
	t.Cleanup(to.Close)
	s := traced(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+to.URL)
	if err := s.Stop(); err != nil { // sends the spans that wait
		t.Fatal(err)
	}
	for above, below := range map[string]string{"GET /pets": "store Pets", "POST /categories": "store Do"} {
		request, err := kept.of(above)
		if err != nil {
			t.Fatal(err)
		}
		call, err := kept.of(below)
		if err != nil {
			t.Fatal(err)
		}
		if call.trace != request.trace || call.parent != request.id {
			t.Errorf("the span %+v is not below %+v", call, request)
		}
		if log := s.LogText(); !strings.Contains(log, request.trace) {
			t.Errorf("the log does not have the trace %s:\n%s", request.trace, log)
		}
	}
}
