package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/postgres"
)

// A postgresCollector shows the figures that SQLite does not have.
type postgresCollector struct {
	read func() postgres.Stats

	split, retries, replica, lag       *prometheus.Desc
	size, listen                       *prometheus.Desc
	most, connections, acquired        *prometheus.Desc
	waited, waiting, abandoned, opened *prometheus.Desc
}

func newPostgresCollector(read func() postgres.Stats) *postgresCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("petstore_postgres_"+name, help, labels, nil)
	}
	return &postgresCollector{
		read:    read,
		split:   desc("split_groups_total", "Commits that were tried again change by change, since one of them was refused."),
		retries: desc("retries_total", "Transactions that were tried again: they met another one, or their connection was lost."),
		replica: desc("replica_reads_total", "Reads that a replica has answered."),
		lag:     desc("replica_lag_seconds", "How old what the replica shows is at most; absent if that is not known."),
		size:    desc("group_size", "Changes in a durable commit."),
		listen:  desc("listen_lag_seconds", "For how long the oldest notice to other nodes has not been heard by this one; 0 if all have."),

		most:        desc("connections_max", "Connections that a pool may open: write, issue (ids), read, replica.", "pool"),
		connections: desc("connections", "Open connections by pool and state: used, idle.", "pool", "state"),
		acquired:    desc("acquired_total", "Times that a connection was taken from a pool.", "pool"),
		waited:      desc("waited_total", "Times that none was free, and somebody waited for one or opened it.", "pool"),
		waiting:     desc("wait_seconds_total", "Time that was waited for connections.", "pool"),
		abandoned:   desc("abandoned_total", "Times that somebody gave up waiting for a connection.", "pool"),
		opened:      desc("connections_opened_total", "Connections that were opened.", "pool"),
	}
}

// Describe implements prometheus.Collector.
func (c *postgresCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.split, c.retries, c.replica, c.lag, c.size, c.listen,
		c.most, c.connections, c.acquired, c.waited, c.waiting, c.abandoned, c.opened,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *postgresCollector) Collect(to chan<- prometheus.Metric) {
	s := c.read()
	count := func(d *prometheus.Desc, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, n, labels...)
	}
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	count(c.split, float64(s.SplitGroups))
	count(c.retries, float64(s.Retries))
	count(c.replica, float64(s.ReplicaReads))
	if s.ReplicaLag >= 0 {
		gauge(c.lag, s.ReplicaLag.Seconds())
	}
	gauge(c.listen, s.ListenLag.Seconds())
	to <- prometheus.MustNewConstHistogram(c.size, uint64(s.Groups), float64(s.Writes), s.Sizes)
	for _, p := range s.Pools {
		gauge(c.most, float64(p.Most), p.Name)
		gauge(c.connections, float64(p.Used), p.Name, "used")
		gauge(c.connections, float64(p.Idle), p.Name, "idle")
		count(c.acquired, float64(p.Acquired), p.Name)
		count(c.waited, float64(p.Waited), p.Name)
		count(c.waiting, p.WaitingTime.Seconds(), p.Name)
		count(c.abandoned, float64(p.Abandoned), p.Name)
		count(c.opened, float64(p.Opened), p.Name)
	}
}
