package ops

import "github.com/prometheus/client_golang/prometheus"

// A figures collector asks its source once for each reading, so that the
// values belong together.
type figures[T any] struct {
	read   func() T
	labels prometheus.Labels // of all its figures
	parts  []figure[T]
}

type figure[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(T) float64
}

func (f *figures[T]) add(name, help string, kind prometheus.ValueType, value func(T) float64) {
	f.parts = append(f.parts, figure[T]{prometheus.NewDesc(name, help, nil, f.labels), kind, value})
}

// Describe implements prometheus.Collector.
func (f *figures[T]) Describe(to chan<- *prometheus.Desc) {
	for _, p := range f.parts {
		to <- p.desc
	}
}

// Collect implements prometheus.Collector.
func (f *figures[T]) Collect(to chan<- prometheus.Metric) {
	now := f.read()
	for _, p := range f.parts {
		to <- prometheus.MustNewConstMetric(p.desc, p.kind, p.value(now))
	}
}

//nolint:dupl // two lists, alike in their form alone
func newLimitsCollector(read func() Limits) prometheus.Collector {
	f := &figures[Limits]{read: read}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	f.add("petstore_limiter_workspaces", "Workspaces that the limiter knows.", gauge, func(l Limits) float64 { return float64(l.Workspaces) })
	f.add("petstore_limiter_keys", "Keys that the limiter knows.", gauge, func(l Limits) float64 { return float64(l.Keys) })
	f.add("petstore_limiter_bans_running", "Bans that run.", gauge, func(l Limits) float64 { return float64(l.Bans) })
	f.add("petstore_limiter_addresses", "Addresses without a key that are counted apart.", gauge, func(l Limits) float64 { return float64(l.Addresses) })
	f.add("petstore_limiter_address_capacity", "Addresses that can be counted apart.", gauge, func(l Limits) float64 { return float64(l.AddressCapacity) })
	f.add("petstore_limiter_overflow_admitted", "Requests admitted today from addresses beyond the capacity.", gauge, func(l Limits) float64 { return float64(l.OverflowAdmitted) })
	f.add("petstore_limiter_failed_saves_total", "Times that the counts could not be stored.", counter, func(l Limits) float64 { return float64(l.FailedSaves) })
	return f
}

//nolint:dupl // two lists, alike in their form alone
func newStorageCollector(read func() Storage) prometheus.Collector {
	f := &figures[Storage]{read: read}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	f.add("petstore_store_groups_total", "Durable commits.", counter, func(s Storage) float64 { return float64(s.Groups) })
	f.add("petstore_store_writes_total", "Changes in the durable commits.", counter, func(s Storage) float64 { return float64(s.Writes) })
	f.add("petstore_store_lost_groups_total", "Commits that failed; their changes were answered with 503.", counter, func(s Storage) float64 { return float64(s.Lost) })
	f.add("petstore_store_largest_group", "Changes in the largest durable commit.", gauge, func(s Storage) float64 { return float64(s.Largest) })
	f.add("petstore_store_waiting", "Changes that wait for a commit.", gauge, func(s Storage) float64 { return float64(s.Waiting) })
	f.add("petstore_store_readers", "Connections for reading.", gauge, func(s Storage) float64 { return float64(s.Readers) })
	f.add("petstore_store_future_rows", "Windows of the limiter, bans, sessions and entries of the audit log that begin in the future: a clock was wrong, or is.", gauge, func(s Storage) float64 { return float64(s.FutureRows) })
	f.add("petstore_store_readers_idle", "Connections for reading that nobody uses.", gauge, func(s Storage) float64 { return float64(s.IdleReaders) })
	return f
}

func newGateCollector(kind string, read func(kind string) Gate) prometheus.Collector {
	f := &figures[Gate]{read: func() Gate { return read(kind) }, labels: prometheus.Labels{"kind": kind}}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	f.add("petstore_gate_limit", "Requests that may be carried out at once, as it is now.", gauge, func(g Gate) float64 { return float64(g.Limit) })
	f.add("petstore_gate_inside", "Requests that are carried out.", gauge, func(g Gate) float64 { return float64(g.Inside) })
	f.add("petstore_gate_waiting", "Requests that wait to be carried out.", gauge, func(g Gate) float64 { return float64(g.Waiting) })
	f.add("petstore_gate_refused_total", "Requests that were answered with 503 because there was too much to do.", counter, func(g Gate) float64 { return float64(g.Refused) })
	return f
}

func newBackupCollector(read func() Backup) prometheus.Collector {
	f := &figures[Backup]{read: read}
	f.add("petstore_backup_newest_timestamp_seconds", "When the newest scheduled backup was made; 0 if there is none.", prometheus.GaugeValue, func(b Backup) float64 {
		if b.Newest.IsZero() {
			return 0
		}
		return float64(b.Newest.UnixMilli()) / 1000
	})
	f.add("petstore_backup_interval_seconds", "How often there is to be a backup.", prometheus.GaugeValue, func(b Backup) float64 { return b.Every.Seconds() })
	return f
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
