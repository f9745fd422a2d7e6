package node

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store"
)

// wantFigures fails unless collectors have the series and values given.
func wantFigures(t *testing.T, of []prometheus.Collector, want ...string) {
	t.Helper()
	m, rec := prometheus.NewPedanticRegistry(), httptest.NewRecorder()
	m.MustRegister(of...)
	promhttp.HandlerFor(m, promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, w := range want {
		if !strings.Contains(rec.Body.String(), "\npetstore_"+w+"\n") {
			t.Errorf("the metrics lack petstore_%s", w)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	limiter := ratelimit.Stats{Workspaces: 5, Keys: 6, Bans: 2, Addresses: 3, AddressCapacity: 4, OverflowAdmitted: 7, FailedSaves: 8}
	stats := store.Stats{Groups: 5, Writes: 6, LostGroups: 8, Waiting: 7, Readers: 9, IdleReaders: 3}
	workload := map[string]fairshare.Stats{"read": {Capacity: 512}, "write": {Capacity: 300, Used: 299, Waiting: 12, Refused: 34}}
	wantFigures(t, []prometheus.Collector{
		newLimiterCollector(func() ratelimit.Stats { return limiter }),
		newStoreCollector(func() store.Stats { return stats }),
		newWorkloadCollector(func() map[string]fairshare.Stats { return workload }),
		newConnectionCollector(func() fairshare.Stats { return fairshare.Stats{Used: 12, Yielded: 3, Refused: 4} },
			func() fairshare.Stats { return fairshare.Stats{Capacity: 9000, Used: 800, Yielded: 7, Refused: 60} }),
		newBackupCollector(time.Hour, func() time.Time { return time.UnixMilli(1500) }),
	},
		"limiter_workspaces 5", "limiter_keys 6", "limiter_bans_running 2", "limiter_addresses 3",
		"limiter_address_capacity 4", "limiter_overflow_admitted 7", "limiter_failed_saves_total 8",
		"store_groups_total 5", "store_writes_total 6", "store_lost_groups_total 8",
		"store_waiting 7", "store_readers 9", "store_readers_idle 3",
		`gate_limit{kind="read"} 512`, `gate_limit{kind="write"} 300`, `gate_inside{kind="write"} 299`,
		`gate_waiting{kind="write"} 12`, `gate_refused_total{kind="write"} 34`,
		"connections 12", "connections_closed_total 7", "client_memory_bytes 800", "client_memory_limit_bytes 9000", "client_memory_ended_total 67",
		"backup_newest_timestamp_seconds 1.5", "backup_interval_seconds 3600")
}

func TestNoBackupYet(t *testing.T) {
	t.Parallel()
	wantFigures(t, []prometheus.Collector{newBackupCollector(time.Hour, func() time.Time { return time.Time{} })}, "backup_newest_timestamp_seconds 0")
}
