package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/ops"
	"example.com/petstore/internal/ratelimit"
)

// newMetrics returns the metrics of the node, with those of the parts that it
// was told to use.
func (n *node) newMetrics() *ops.Metrics {
	m := ops.NewMetrics(n.sources())
	m.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "petstore_connections", Help: "Open connections of the public listener.",
		}, func() float64 { return float64(n.connections.Open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "petstore_connections_closed_total", Help: "Connections of the public listener that were closed because there were too many.",
		}, func() float64 { return float64(n.connections.Closed()) }))
	if n.Config.EventRetention > 0 {
		m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "petstore_event_streams", Help: "Streams of events that clients have open.",
		}, n.eventStreams))
	}
	if r, yes := n.limiter.(*ratelimit.Redis); yes {
		m.MustRegister(newRedisCollector(r.RedisStats), n.redisTook)
	}
	if s, yes := n.store.(serverStore); yes {
		m.MustRegister(newPostgresCollector(s.Stats))
	}
	return m
}

// sources returns what the metrics ask for figures.
func (n *node) sources() ops.Sources {
	s := ops.Sources{Version: n.Version, Limits: n.limits, Storage: n.storage, Gates: n.gate}
	if n.Config.Backup.Every > 0 {
		s.Backup = n.backup
	}
	return s
}

// eventStreams returns how many streams of events are open.
func (n *node) eventStreams() float64 {
	api := n.api.Load()
	if api == nil {
		return 0
	}
	return float64(api.Streams())
}

// gate returns the numbers of the gate of one kind of requests, which are zero
// until there is one.
func (n *node) gate(kind string) ops.Gate {
	api := n.api.Load()
	if api == nil {
		return ops.Gate{}
	}
	return ops.Gate(api.Gates()[kind])
}

// backup looks into the folder each time, so that a restart forgets nothing and
// a backup that somebody removed is missed.
func (n *node) backup() ops.Backup {
	newest, _, _ := LatestBackup(n.Config.Backup.Dir, n.now()) // what cannot be read has none
	return ops.Backup{Every: n.Config.Backup.Every, Newest: newest}
}

// A collector reads figures whenever the metrics are asked for.
type collector func(to figures)

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) { c(to) }

// figures go to who asked for the metrics.
type figures chan<- prometheus.Metric

func (to figures) count(d *prometheus.Desc, n float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, n, labels...)
}

func (to figures) gauge(d *prometheus.Desc, n float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
}
