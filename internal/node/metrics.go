package node

import (
	"cmp"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"example.com/petstore/internal/httpapi"
)

// metrics are the metrics of requests, bans, the Go runtime and the process. Others may
// be registered in the same Registry. The methods may be called concurrently and do not
// block.
type metrics struct {
	*prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	decisions *prometheus.CounterVec
	bans      prometheus.Counter
	bansLost  prometheus.Counter
}

// newMetrics returns metrics that have counted nothing.
func newMetrics(version string) *metrics {
	m := &metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_http_requests_total",
			Help: "Answered requests by operation, method and status.",
		}, []string{"operation", "method", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "petstore_http_request_duration_seconds",
			Help:    "Time from the request's header to the end of the answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"operation"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_limiter_decisions_total",
			Help: "Decisions of the limiter by plan and outcome: admitted, minute and day (the window that refused), banned.",
		}, []string{"plan", "outcome"}),
		bans: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "petstore_limiter_bans_started_total",
			Help: "Bans that the limiter started.",
		}),
		bansLost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "petstore_limiter_bans_unsaved_total",
			Help: "Bans of the limiter that could not be stored; they hold in this process only.",
		}),
	}
	m.MustRegister(m.requests, m.durations, m.decisions, m.bans, m.bansLost,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collector(func(to metricSink) {
			to.gauge("petstore_build_info", "Always 1; the version is a label.", 1, "version", version)
		}))
	return m
}

// observe counts an answered request.
func (m *metrics) observe(o httpapi.Observation) {
	operation := cmp.Or(o.Operation, "none")
	m.requests.WithLabelValues(operation, o.Method, strconv.Itoa(o.Status)).Inc()
	m.durations.WithLabelValues(operation).Observe(o.Duration.Seconds())
	if o.Outcome != "free" {
		m.decisions.WithLabelValues(cmp.Or(o.Plan, "none"), o.Outcome).Inc()
	}
}
