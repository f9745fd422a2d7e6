package httpapi_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/ratelimit/redistest"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/webhook"
)

// What every service of the run stands on. The tests are the same on each.
var (
	storeName   = flag.String("store", "sqlite", "keep the services in `STORE`: sqlite or postgres")
	limiterName = flag.String("limiter", "memory", "count requests in `LIMITER`: memory or redis")
)

// A store is what a service keeps all that it has in.
type store interface {
	petstore.Store
	petstore.Bulk
	access.Store
	petstore.Feed
	webhook.Store
	Secret(ctx context.Context) ([]byte, error)
	Close() error
}

// database is the server of this run with a migrated database to copy, if the
// services stand on PostgreSQL. No test here ends it.
var database = postgrestest.Shared{
	Settings: append(postgrestest.Lax(), "max_connections = 1000", "autovacuum = off", "max_wal_size = 4GB"),
	Prepare:  makeTemplate,
}

// counter is the Redis of this run; without a server if it is not wanted, or
// with the reason if there is none.
var counter struct {
	*redistest.Server
	err       error
	databases atomic.Int64 // handed out
}

const (
	template = "petstore_template"
	// maxServices is how many databases Redis has: one for each service, since all
	// their workspaces have the same ids.
	maxServices = 16384
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(database.Main(func() int { return run(m) }))
}

func run(m *testing.M) int {
	if err := startServers(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	code := m.Run()
	if counter.Server == nil {
		return code
	}
	if err := counter.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func startServers() error {
	switch *storeName {
	case "sqlite", "postgres":
	default:
		return fmt.Errorf("-store=%s is none of sqlite and postgres", *storeName)
	}
	switch *limiterName {
	case "memory":
	case "redis":
		counter.Server, counter.err = redistest.Open("--databases", strconv.Itoa(maxServices))
	default:
		return fmt.Errorf("-limiter=%s is none of memory and redis", *limiterName)
	}
	return nil
}

func makeTemplate(s *postgrestest.Server) error {
	ctx := context.Background()
	if err := s.Exec(ctx, "postgres", "CREATE DATABASE "+template); err != nil {
		return err
	}
	_, err := postgres.MigrateUp(ctx, s.URL(template), nil)
	return err
}

// openStore returns an empty store for the time of one test.
func openStore(t testing.TB, now func() time.Time) store {
	t.Helper()
	var (
		db  store
		err error
	)
	switch *storeName {
	case "sqlite":
		db, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{Now: now})
	default:
		url := database.Server(t).Database(t, template)
		db, err = postgres.Open(t.Context(), url, postgres.Options{Now: now, Readers: 4, NoMigrate: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// openLimiter returns a limiter that has counted nothing, for the time of one
// test.
func openLimiter(t testing.TB, cfg ratelimit.Config, now func() time.Time) ratelimit.Limiter {
	t.Helper()
	if *limiterName == "memory" {
		return ratelimit.NewMemory(cfg, now)
	}
	if counter.err != nil {
		redistest.Missing(t, counter.err)
	}
	n := counter.databases.Add(1) - 1
	if n >= maxServices {
		t.Fatalf("there are more than %d services", maxServices)
	}
	r, err := ratelimit.NewRedis(ratelimit.RedisOptions{URL: fmt.Sprintf("%s/%d", counter.URL(), n), Config: cfg, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if r.RedisStats().Away {
		t.Fatal("Redis does not answer")
	}
	return r
}

// startOfService returns when a service opens. Redis counts by its own clock: then it
// is the time of day, as that of the service must agree with it.
func startOfService() time.Time {
	if *limiterName == "redis" {
		return time.Now().UTC().Truncate(time.Second).Add(-411 * time.Millisecond) // never ahead of Redis
	}
	return time.Date(2026, 3, 14, 9, 26, 53, 589e6, time.UTC)
}

// needsClockOfLimits skips a test that moves the clock by which requests are
// counted, which nobody can do with that of Redis. The suite of
// internal/ratelimit has the same rules on both limiters.
func needsClockOfLimits(t testing.TB) {
	t.Helper()
	if *limiterName == "redis" {
		t.Skip("moves the clock of the limits, which is that of the Redis server; internal/ratelimit shows these rules on Redis")
	}
}

// passed is how far the clock of the limits may have gone by itself in a test.
func passed() time.Duration {
	if *limiterName == "redis" {
		return 30 * time.Second
	}
	return 0
}

// milliseconds is how the interface writes an instant that is not on a second.
const milliseconds = "2006-01-02T15:04:05.000Z07:00"

// withoutRedis returns how many decisions the service made without an answer of
// Redis within its 25 ms.
func (s *service) withoutRedis() int64 {
	if r, ok := s.limiter.(*ratelimit.Redis); ok {
		return r.RedisStats().Local
	}
	return 0
}

// whileRedisAnswers fails the test for each fault that try returns. Where a
// machine was too busy for Redis to answer in time, counts are bounded and no
// longer exact: if try says that so many decisions were made without Redis, it
// is called again, a few times.
func whileRedisAnswers(t testing.TB, try func() (faults []string, alone int64)) {
	t.Helper()
	for left := 5; ; left-- {
		faults, alone := try()
		switch {
		case alone > 0 && left > 0:
			t.Logf("once more, since Redis did not answer in time: %d decisions without it, %d faults", alone, len(faults))
		case len(faults) > 0:
			t.Fatal(strings.Join(faults, "\n"))
		default:
			return
		}
	}
}
