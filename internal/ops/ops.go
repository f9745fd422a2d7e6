// Package ops is the operations listener: liveness, readiness, metrics and
// profiles, for the people and the machines that run the service. It is not for
// the public, asks for no key, and knows nothing of the shop: what it shows, it
// is given.
package ops

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Check returns nil if a part of the service can do its work, and else why
// not. It is asked on every request for readiness, and must be quick.
type Check struct {
	Name string
	Err  func() error
}

// Options are what the listener shows.
type Options struct {
	Checks  []Check // all must pass for the service to be ready
	Metrics prometheus.Gatherer
	Log     *slog.Logger
}

// Handler returns the handler of
//
//	GET /livez         200 as long as the process answers
//	GET /readyz        200 if every check passes, else 503 with the reasons
//	GET /metrics       the metrics, in the formats of Prometheus
//	GET /debug/pprof/  the profiles of net/http/pprof
//
// The metrics are those of o.Metrics and petstore_ready.
func Handler(o Options) http.Handler {
	ready := prometheus.NewRegistry()
	ready.MustRegister(newReadyGauge(o.Checks))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		writeHealth(w, health{Status: "alive"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		writeHealth(w, readiness(o.Checks))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{ready, o.Metrics}, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(o.Log.Handler(), slog.LevelError),
		ErrorHandling: promhttp.ContinueOnError,
	}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// Server returns the server for a handler of this package, with bounds on how
// long a peer may take. Profiles may take up to two minutes. It answers to
// addresses, to names of this machine and to those given, in lower case; to others
// with 421.
func Server(h http.Handler, log *slog.Logger, names []string) *http.Server {
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

func readiness(checks []Check) health {
	h := health{Status: "ready"}
	for _, c := range checks {
		if err := c.Err(); err != nil {
			h.Status = "not ready"
			h.Reasons = append(h.Reasons, reason{c.Name, err.Error()})
		}
	}
	return h
}

// newReadyGauge tells what /readyz does, for alerts.
func newReadyGauge(checks []Check) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_ready",
		Help: "1 if the service is ready for requests, else 0.",
	}, func() float64 {
		if len(readiness(checks).Reasons) > 0 {
			return 0
		}
		return 1
	})
}

func writeHealth(w http.ResponseWriter, h health) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if len(h.Reasons) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(h) // a peer that is gone needs no answer
}
