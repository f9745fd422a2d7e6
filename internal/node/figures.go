package node

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store"
)

// allMetrics returns the metrics of the node, including those of the parts that are
// enabled.
func (n *node) allMetrics() *metrics {
	m := newMetrics(n.Version)
	m.MustRegister(
		newLimiterCollector(n.limiter.Stats), newStoreCollector(n.store.Figures),
		newConnectionCollector(n.connections.Connections, n.connections.Memory))
	if every := n.Config.Backup.Every; every > 0 {
		m.MustRegister(newBackupCollector(every, n.backups.newest))
	}
	if n.sandboxes != nil {
		m.MustRegister(newSandboxCollector(n.sandboxes.Stats, n.store.CountSandboxes))
	}
	if n.redis != nil {
		m.MustRegister(newRedisCollector(n.redis.RedisStats), n.redisTook)
	}
	if s, yes := n.store.(serverStore); yes {
		m.MustRegister(newPostgresCollector(s.Stats))
	}
	return m
}

// newLimiterCollector returns the metrics of the limiter.
func newLimiterCollector(read func() ratelimit.Stats) prometheus.Collector {
	return collector(func(to metricSink) {
		s := read()
		to.gauge("petstore_limiter_workspaces", "Workspaces that the limiter knows.", float64(s.Workspaces))
		to.gauge("petstore_limiter_keys", "Keys that the limiter knows.", float64(s.Keys))
		to.gauge("petstore_limiter_bans_running", "Bans that run.", float64(s.Bans))
		to.gauge("petstore_limiter_addresses", "Addresses without a key that are counted apart.", float64(s.Addresses))
		to.gauge("petstore_limiter_address_capacity", "Addresses that can be counted apart.", float64(s.AddressCapacity))
		to.gauge("petstore_limiter_overflow_admitted", "Requests admitted today from addresses beyond the capacity.", float64(s.OverflowAdmitted))
		to.count("petstore_limiter_failed_saves_total", "Times that the counts could not be stored.", float64(s.FailedSaves))
	})
}

// newStoreCollector returns the metrics that all stores have.
func newStoreCollector(read func() store.Stats) prometheus.Collector {
	return collector(func(to metricSink) {
		s := read()
		to.count("petstore_store_groups_total", "Durable commits.", float64(s.Groups))
		to.count("petstore_store_writes_total", "Changes in the durable commits.", float64(s.Writes))
		to.count("petstore_store_lost_groups_total", "Commits that failed; their changes were answered with 503.", float64(s.LostGroups))
		to.gauge("petstore_store_waiting", "Changes that wait for a commit.", float64(s.Waiting))
		to.gauge("petstore_store_readers", "Connections for reading.", float64(s.Readers))
		to.gauge("petstore_store_readers_idle", "Connections for reading that nobody uses.", float64(s.IdleReaders))
	})
}

// newWorkloadCollector returns the metrics of the API's workload by kind.
func newWorkloadCollector(read func() map[string]fairshare.Stats) prometheus.Collector {
	return collector(func(to metricSink) {
		all := read()
		for _, kind := range []string{"read", "write"} {
			s := all[kind]
			to.gauge("petstore_gate_limit", "Requests that may be carried out at once.", float64(s.Capacity), "kind", kind)
			to.gauge("petstore_gate_inside", "Requests that are carried out.", float64(s.Used), "kind", kind)
			to.gauge("petstore_gate_waiting", "Requests that wait to be carried out.", float64(s.Waiting), "kind", kind)
			to.count("petstore_gate_refused_total", "Requests that were answered with 503 because there was too much to do.", float64(s.Refused), "kind", kind)
		}
	})
}

// newConnectionCollector returns the metrics of the public listener: its connections, and the memory that clients hold.
func newConnectionCollector(connections, memory func() fairshare.Stats) prometheus.Collector {
	return collector(func(to metricSink) {
		c, m := connections(), memory()
		to.gauge("petstore_connections", "Open connections of the public listener.", float64(c.Used))
		to.count("petstore_connections_closed_total", "Connections of the public listener that were closed because there were too many.", float64(c.Yielded+c.Refused))
		to.gauge("petstore_client_memory_bytes", "Bytes that requests of HTTP/2 and answers that are being sent hold in memory.", float64(m.Used))
		to.gauge("petstore_client_memory_limit_bytes", "Bytes that they may hold.", float64(m.Capacity))
		to.count("petstore_client_memory_ended_total", "Requests and answers that were broken off because their client held too much memory.", float64(m.Yielded+m.Refused))
	})
}

// newBackupCollector returns the metrics of scheduled backups.
func newBackupCollector(every time.Duration, newest func() time.Time) prometheus.Collector {
	return collector(func(to metricSink) {
		seconds := 0.0
		if at := newest(); !at.IsZero() {
			seconds = float64(at.UnixMilli()) / 1000
		}
		to.gauge("petstore_backup_newest_timestamp_seconds", "When the newest scheduled backup was made; 0 if there is none.", seconds)
		to.gauge("petstore_backup_interval_seconds", "How often there is to be a backup.", every.Seconds())
	})
}

// A collector reads its metrics whenever they are collected.
type collector func(to metricSink)

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) { c(to) }

// A metricSink takes collected metrics. Each has a name, a help text, a value, and pairs of names and
// values of its labels.
type metricSink chan<- prometheus.Metric

func (to metricSink) count(name, help string, n float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(desc(name, help, labels...), prometheus.CounterValue, n)
}

func (to metricSink) gauge(name, help string, n float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(desc(name, help, labels...), prometheus.GaugeValue, n)
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	all := prometheus.Labels{}
	for pair := range slices.Chunk(labels, 2) {
		all[pair[0]] = pair[1]
	}
	return prometheus.NewDesc(name, help, nil, all)
}
