package node

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A check reports whether a part of the service works. err returns nil if it does. It
// is called for every readiness probe, and must be quick.
type check struct {
	name string
	err  func() error
}

// probes returns the handler of
//
//	GET /livez         200 as long as the process answers
//	GET /readyz        200 if every check passes, else 503 with the reasons
//	GET /metrics       the metrics, in the formats of Prometheus
//	GET /debug/pprof/  the profiles of net/http/pprof
//
// It adds petstore_ready to the metrics.
func probes(checks []check, metrics *prometheus.Registry, log *slog.Logger) http.Handler {
	promauto.With(metrics).NewGaugeFunc(prometheus.GaugeOpts{Name: "petstore_ready", Help: "1 if the service is ready for requests, else 0."}, func() float64 {
		if len(readiness(checks).Reasons) > 0 {
			return 0
		}
		return 1
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		writeHealth(w, health{Status: "alive"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		writeHealth(w, readiness(checks))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling: promhttp.ContinueOnError,
	}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// newOperationsServer returns the server of the operations listener, with timeouts that
// allow profiles of up to two minutes. names are in lower case. Requests whose Host is
// none of them, no address and no name of this machine are answered with 421.
func newOperationsServer(h http.Handler, log *slog.Logger, names []string) *http.Server {
	return &http.Server{
		Handler:           onlyHosts(h, names),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      130 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

type health struct {
	Status  string   `json:"status"` // "alive", "ready" or "not ready"
	Reasons []reason `json:"reasons,omitempty"`
}

type reason struct {
	Check   string `json:"check"`
	Message string `json:"message"`
}

func readiness(checks []check) health {
	h := health{Status: "ready"}
	for _, c := range checks {
		if err := c.err(); err != nil {
			h.Status = "not ready"
			h.Reasons = append(h.Reasons, reason{c.name, err.Error()})
		}
	}
	return h
}

func writeHealth(w http.ResponseWriter, h health) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if len(h.Reasons) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(h) // the error means that the client has disconnected
}
