package cli

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/ops"
	"example.com/petstore/internal/postgres"
)

// sources returns what the metrics ask for figures.
func (n *node) sources() ops.Sources {
	s := ops.Sources{Version: version().Version, Limits: n.limits, Storage: n.storage}
	if n.config.Backup.Every > 0 {
		s.Backup = n.backup
	}
	return s
}

// backup looks into the folder each time, so that a restart forgets nothing and
// a backup that somebody removed is missed.
func (n *node) backup() ops.Backup {
	b := ops.Backup{Every: n.config.Backup.Every}
	all, err := n.backups().list()
	if err != nil || len(all) == 0 {
		return b
	}
	b.Newest, _ = madeAt(all[len(all)-1]) // list knows it
	return b
}

// A postgresCollector shows the figures that SQLite does not have.
type postgresCollector struct {
	read                    func() postgres.Stats
	split, retries, replica *prometheus.Desc
}

func newPostgresCollector(read func() postgres.Stats) *postgresCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("petstore_postgres_"+name, help, nil, nil)
	}
	return &postgresCollector{
		read:    read,
		split:   desc("split_groups_total", "Commits that were tried again change by change, since one of them was refused."),
		retries: desc("retries_total", "Transactions that were tried again: they met another one, or their connection was lost."),
		replica: desc("replica_reads_total", "Reads that a replica has answered."),
	}
}

// Describe implements prometheus.Collector.
func (c *postgresCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.split, c.retries, c.replica} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *postgresCollector) Collect(to chan<- prometheus.Metric) {
	s := c.read()
	count := func(d *prometheus.Desc, n int64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
	count(c.split, s.SplitGroups)
	count(c.retries, s.Retries)
	count(c.replica, s.ReplicaReads)
}
