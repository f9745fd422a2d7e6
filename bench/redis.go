package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// redisRatio finds the figure that BenchmarkRedis of internal/ratelimit reports.
var redisRatio = regexp.MustCompile(`([0-9.]+) ratio\b`)

// measureRedis has the limiter's own benchmark compare its decisions in Redis with redis-benchmark, which calls the
// same script over as many connections, pipelined. Redis and its callers have both cores.
func (b *bench) measureRedis(ctx context.Context) error {
	say("the limiter in Redis beside redis-benchmark")
	decisions := "200000x"
	if b.short {
		decisions = "20000x"
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "test", "-C", "..", "-run", "^$", "-bench", "^BenchmarkRedis$", "-benchtime", decisions,
		"-count", strconv.Itoa(b.rounds), "./internal/ratelimit")
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := startOn(cmd, serverCore, loadCore); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("BenchmarkRedis: %w: %s", err, out.Bytes())
	}
	ratios, err := ratiosIn(out.Bytes())
	b.add(redisSection(spreadOf(ratios)))
	return err
}

func redisSection(ratio spread) section {
	return section{title: "The limiter in Redis", words: `BenchmarkRedis of internal/ratelimit: decisions a second of 64 callers, and the best rate at which redis-benchmark calls the same
script over 64 connections with 4, 16 or 64 calls in flight on each.`,
		table:   table{" | ratio", "decisions / calls | " + ratio.ranged("%.2f")},
		targets: []target{{"decisions through Redis, of redis-benchmark's best", ratio.median, .7, false}}}
}

func ratiosIn(text []byte) ([]float64, error) {
	var all []float64
	for _, found := range redisRatio.FindAllSubmatch(text, -1) {
		ratio, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return nil, err
		}
		all = append(all, ratio)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("BenchmarkRedis reports no ratio: %s", text)
	}
	return all, nil
}
