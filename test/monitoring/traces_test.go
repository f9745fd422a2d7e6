package monitoring

import (
	"encoding/hex"
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

// A collector keeps the traces of the spans that it is sent, by their names.
type spans struct {
	mu    sync.Mutex
	trace map[string]string
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
				s.trace[one.GetName()] = hex.EncodeToString(one.GetTraceId())
			}
		}
	}
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
	kept := &spans{trace: map[string]string{}}
	to := httptest.NewServer(kept)
	t.Cleanup(to.Close)
	s := traced(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+to.URL)
	if err := s.Stop(); err != nil { // sends the spans that wait
		t.Fatal(err)
	}
	for _, name := range []string{"GET /pets", "POST /categories"} {
		if trace, log := kept.trace[name], s.LogText(); trace == "" || !strings.Contains(log, trace) {
			t.Errorf("the log does not have the trace %q of %s:\n%s", trace, name, log)
		}
	}
}
