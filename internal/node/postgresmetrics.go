package node

import (
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
)

// collectPostgres reads the figures that SQLite does not have.
func collectPostgres(to metricSink, s store.Stats, p postgres.PoolStats) {
	to.count("petstore_postgres_split_groups_total", "Commits that were tried again change by change, since one of them was refused.", float64(s.SplitGroups))
	to.count("petstore_postgres_retries_total", "Transactions that were tried again: they met another one, or their connection was lost.", float64(p.Retries))
	for _, p := range p.Pools {
		to.gauge("petstore_postgres_connections_max", "Connections that a pool may open: write, issue (ids), read.", float64(p.MaxConns()), "pool", p.Name)
		for state, n := range map[string]int32{"used": p.AcquiredConns(), "idle": p.IdleConns()} {
			to.gauge("petstore_postgres_connections", "Open connections by pool and state: used, idle.", float64(n), "pool", p.Name, "state", state)
		}
		to.count("petstore_postgres_acquired_total", "Times that a connection was taken from a pool.", float64(p.AcquireCount()), "pool", p.Name)
		to.count("petstore_postgres_waited_total", "Times that none was free, and somebody waited for one or opened it.", float64(p.EmptyAcquireCount()), "pool", p.Name)
		to.count("petstore_postgres_wait_seconds_total", "Time that was waited for connections.", p.EmptyAcquireWaitTime().Seconds(), "pool", p.Name)
		to.count("petstore_postgres_abandoned_total", "Times that somebody gave up waiting for a connection.", float64(p.CanceledAcquireCount()), "pool", p.Name)
		to.count("petstore_postgres_connections_opened_total", "Connections that were opened.", float64(p.NewConnsCount()), "pool", p.Name)
	}
}
