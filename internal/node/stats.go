package node

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
)

// collect reads the figures of the parts that are enabled, whenever the metrics are collected. All parts were opened before.
func (n *node) collect(to metricSink) {
	n.collectLimiter(to)
	n.collectStore(to)
	n.collectRequests(to)
	if n.deliverer != nil {
		to.gauge("petstore_webhook_in_flight", "Events posted to webhooks of which it is not recorded yet what came.", float64(n.deliverer.InFlight()))
		to.gauge("petstore_event_streams", "Streams of events that clients have open.", float64(n.api.Streams()))
	}
	if n.sandboxes != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if all, err := n.store.CountSandboxes(ctx); err == nil {
			to.gauge("petstore_sandboxes", "Sandboxes that there are, on all nodes.", float64(all))
		}
	}
}

func (n *node) collectLimiter(to metricSink) {
	s := n.limiter.Stats()
	to.gauge("petstore_limiter_addresses", "Addresses without a key that are counted apart.", float64(s.Addresses))
	to.gauge("petstore_limiter_address_capacity", "Addresses that can be counted apart.", float64(n.Config.AddressTable))
	to.count("petstore_limiter_failed_saves_total", "Times that the counts could not be stored.", float64(s.FailedSaves))
	if n.redis == nil {
		return
	}
	r := n.redis.RedisStats()
	for source, n := range map[string]int64{"redis": r.Redis, "cached": r.Cached, "local": r.Local, "unavailable": r.Unavailable} {
		to.count("petstore_limiter_redis_decisions_total", "Decisions by source: redis, cached (a refusal that the node knew already, without a call), local (by the node, without Redis), unavailable (none, as Redis did not answer: 503).", float64(n), "source", source)
	}
	to.count("petstore_limiter_redis_failures_total", "Calls to Redis that failed.", float64(r.Failed))
	away := 0.0
	if r.Away {
		away = 1
	}
	to.gauge("petstore_limiter_redis_away", "1 while Redis does not answer, and nodes decide as --limiter-on-failure says.", away)
}

// collectStore reads the figures of the store, and of scheduled backups if there are any.
func (n *node) collectStore(to metricSink) {
	s := n.store.Stats()
	to.count("petstore_store_groups_total", "Durable commits.", float64(s.Groups))
	to.count("petstore_store_writes_total", "Changes in the durable commits.", float64(s.Writes))
	to.count("petstore_store_lost_groups_total", "Commits that failed; their changes were answered with 503.", float64(s.LostGroups))
	to.gauge("petstore_store_waiting", "Changes that wait for a commit.", float64(s.Waiting))
	to.gauge("petstore_store_readers", "Connections for reading.", float64(s.Readers))
	to.gauge("petstore_store_readers_idle", "Connections for reading that nobody uses.", float64(s.IdleReaders))
	if server, yes := n.store.(*postgres.DB); yes {
		collectPostgres(to, s, server)
	}
	if n.backups.every > 0 {
		newest := max(0, n.backups.newest().UnixMilli()) // the zero time is long before 1970
		to.gauge("petstore_backup_newest_timestamp_seconds", "When the newest backup was made; 0 if there is none.", float64(newest)/1000)
		to.gauge("petstore_backup_interval_seconds", "How often there is to be a backup.", n.backups.every.Seconds())
	}
}

// collectRequests reads the figures of the API's workload by kind, and of the public listener: its connections, and the
// memory that clients hold.
func (n *node) collectRequests(to metricSink) {
	all := n.api.Workload()
	for _, kind := range []string{"read", "write"} {
		s := all[kind]
		to.gauge("petstore_gate_limit", "Requests that may be carried out at once.", float64(s.Capacity), "kind", kind)
		to.gauge("petstore_gate_inside", "Requests that are carried out.", float64(s.Used), "kind", kind)
		to.gauge("petstore_gate_waiting", "Requests that wait to be carried out.", float64(s.Waiting), "kind", kind)
		to.count("petstore_gate_refused_total", "Requests that were answered with 503 because there was too much to do.", float64(s.Refused), "kind", kind)
	}
	c, m := n.connections.Connections(), n.connections.Memory()
	to.gauge("petstore_connections", "Open connections of the public listener.", float64(c.Used))
	to.count("petstore_connections_closed_total", "Connections of the public listener that were closed because there were too many.", float64(c.Yielded+c.Refused))
	to.gauge("petstore_client_memory_bytes", "Bytes that requests of HTTP/2 and answers that are being sent hold in memory.", float64(m.Used))
	to.gauge("petstore_client_memory_limit_bytes", "Bytes that they may hold.", float64(m.Capacity))
	to.count("petstore_client_memory_ended_total", "Requests and answers that were broken off because their client held too much memory.", float64(m.Yielded+m.Refused))
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

// collectPostgres reads the figures that SQLite does not have.
func collectPostgres(to metricSink, s store.Stats, server *postgres.DB) {
	to.count("petstore_postgres_split_groups_total", "Commits that were tried again change by change, since one of them was refused.", float64(s.SplitGroups))
	to.count("petstore_postgres_retries_total", "Transactions that were tried again: they met another one, or their connection was lost.", float64(s.Retries))
	for name, pool := range server.Pools() {
		to.gauge("petstore_postgres_connections_max", "Connections that a pool may open: write, read.", float64(pool.MaxConns()), "pool", name)
		for state, n := range map[string]int32{"used": pool.AcquiredConns(), "idle": pool.IdleConns()} {
			to.gauge("petstore_postgres_connections", "Open connections by pool and state: used, idle.", float64(n), "pool", name, "state", state)
		}
		to.count("petstore_postgres_acquired_total", "Times that a connection was taken from a pool.", float64(pool.AcquireCount()), "pool", name)
		to.count("petstore_postgres_waited_total", "Times that none was free, and somebody waited for one or opened it.", float64(pool.EmptyAcquireCount()), "pool", name)
		to.count("petstore_postgres_wait_seconds_total", "Time that was waited for connections.", pool.EmptyAcquireWaitTime().Seconds(), "pool", name)
		to.count("petstore_postgres_abandoned_total", "Times that somebody gave up waiting for a connection.", float64(pool.CanceledAcquireCount()), "pool", name)
		to.count("petstore_postgres_connections_opened_total", "Connections that were opened.", float64(pool.NewConnsCount()), "pool", name)
	}
}
