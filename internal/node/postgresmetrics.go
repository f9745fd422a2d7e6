package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/postgres"
)

// newPostgresCollector returns the figures that SQLite does not have.
func newPostgresCollector(read func() postgres.Stats) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("petstore_postgres_"+name, help, labels, nil)
	}
	split := desc("split_groups_total", "Commits that were tried again change by change, since one of them was refused.")
	retries := desc("retries_total", "Transactions that were tried again: they met another one, or their connection was lost.")
	replica := desc("replica_reads_total", "Reads that a replica has answered.")
	lag := desc("replica_lag_seconds", "How old what the replica shows is at most; absent if that is not known.")
	size := desc("group_size", "Changes in a durable commit.")
	listen := desc("listen_lag_seconds", "For how long the oldest notice to other nodes has not been heard by this one; 0 if all have.")

	most := desc("connections_max", "Connections that a pool may open: write, issue (ids), read, replica.", "pool")
	connections := desc("connections", "Open connections by pool and state: used, idle.", "pool", "state")
	acquired := desc("acquired_total", "Times that a connection was taken from a pool.", "pool")
	waited := desc("waited_total", "Times that none was free, and somebody waited for one or opened it.", "pool")
	waiting := desc("wait_seconds_total", "Time that was waited for connections.", "pool")
	abandoned := desc("abandoned_total", "Times that somebody gave up waiting for a connection.", "pool")
	opened := desc("connections_opened_total", "Connections that were opened.", "pool")

	return collector(func(to figures) {
		s := read()
		to.count(split, float64(s.SplitGroups))
		to.count(retries, float64(s.Retries))
		to.count(replica, float64(s.ReplicaReads))
		if s.ReplicaLag >= 0 {
			to.gauge(lag, s.ReplicaLag.Seconds())
		}
		to.gauge(listen, s.ListenLag.Seconds())
		to <- prometheus.MustNewConstHistogram(size, uint64(s.Groups), float64(s.Writes), s.Sizes)
		for _, p := range s.Pools {
			to.gauge(most, float64(p.Most), p.Name)
			to.gauge(connections, float64(p.Used), p.Name, "used")
			to.gauge(connections, float64(p.Idle), p.Name, "idle")
			to.count(acquired, float64(p.Acquired), p.Name)
			to.count(waited, float64(p.Waited), p.Name)
			to.count(waiting, p.WaitingTime.Seconds(), p.Name)
			to.count(abandoned, float64(p.Abandoned), p.Name)
			to.count(opened, float64(p.Opened), p.Name)
		}
	})
}
