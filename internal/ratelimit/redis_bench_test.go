package ratelimit

import (
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
)

// BenchmarkRedis decides for 64 callers at a time, each with a workspace of its own, and after that has redis-benchmark
// call the same script over 64 connections, pipelined. It reports both rates and their ratio.
func BenchmarkRedis(b *testing.B) {
	server := redistest.Start(b)
	r, err := NewRedis(RedisOptions{URL: server.URL(), Config: DefaultConfig(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	r.timeout = time.Second // the benchmark measures a rate, on a machine that may be busy
	keepChecking(b, r)
	rate := decideAt64(b, r)
	if s := r.RedisStats(); s.Local != 0 {
		b.Errorf("%d were decided without Redis", s.Local)
	}
	b.ReportMetric(rate, "decisions/s")
	if b.N < 10_000 {
		return // a rehearsal
	}
	bound := 0.0
	for _, pipeline := range []int{4, 16, 64} {
		bound = max(bound, redisBenchmark(b, server, pipeline))
	}
	b.ReportMetric(bound, "redis-benchmark/s")
	b.ReportMetric(rate/bound, "ratio")
}

func decideAt64(b *testing.B, r *Redis) (rate float64) {
	b.Helper()
	var keys []*Caller
	for i := range 64 {
		keys = append(keys, r.Caller(nil, int64(i), fmt.Sprint("key", i), endless, nil))
	}
	var next atomic.Int64
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	begun := time.Now()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := keys[next.Add(1)%64]
		for pb.Next() {
			if d := r.Admit(c); !d.Admitted() {
				b.Error(d)
			}
		}
	})
	b.StopTimer()
	return float64(b.N) / time.Since(begun).Seconds()
}

// redisBenchmark returns the rate of redis-benchmark. It cannot send the script's binary argument: that stands in the
// script's text, and text of the same length is sent in its place.
func redisBenchmark(b *testing.B, server *redistest.Server, pipeline int) (rate float64) {
	b.Helper()
	call := scriptCall{counts: true, limits: endless}
	arg, literal := call.arguments(0)[0], `"`
	for _, c := range []byte(arg) {
		literal += fmt.Sprintf(`\%03d`, c)
	}
	sha := server.Do(b, "SCRIPT", "LOAD", strings.ReplaceAll(decideSource, "ARGV[1])", literal+`")`))
	out, err := exec.Command("redis-benchmark",
		"-p", strconv.Itoa(server.Port()), "-c", "64", "-n", "300000", "-r", "64", "--csv", "-P", strconv.Itoa(pipeline),
		"EVALSHA", sha, "1", "petstore:b:__rand_int__", strings.Repeat("x", len(arg)),
	).Output()
	if err != nil {
		b.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Split(lines[len(lines)-1], `","`)
	if len(fields) < 2 {
		b.Fatalf("redis-benchmark says %q", out)
	}
	if rate, err = strconv.ParseFloat(strings.Trim(fields[1], `"`), 64); err != nil {
		b.Fatal(err)
	}
	return rate
}
