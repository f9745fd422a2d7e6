package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit"
)

// The limiter's decisions in Redis beside redis-benchmark, which calls the same script over as many connections,
// pipelined. Redis has the core of what is measured, and the callers have the other.

const redisCallers = 64

// limiterScript is the text of the limiter's script, from the root of the repository.
const limiterScript = "internal/ratelimit/redis.lua"

// pipelines are the depths at which redis-benchmark is tried; the fastest is the bound.
func pipelines() []int { return []int{4, 16, 64} }

// limiterRun is what a round measured: decisions and calls a second, and the server's CPU for each, in µs.
type limiterRun struct {
	decisions, decisionCPU float64
	calls                  []float64 // by pipeline
	callCPU                []float64
}

// limiterOnRedis measures in turns and prints the table.
func limiterOnRedis(ctx context.Context, s *settings) (err error) {
	p, err := startRedis(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	limiter, err := ratelimit.NewRedis(ratelimit.RedisOptions{
		URL: "redis://" + p.addr, Config: ratelimit.DefaultConfig(), Now: time.Now, OnFailure: ratelimit.Deny,
	})
	if err != nil {
		return err
	}
	defer limiter.Close()
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		return err
	}
	call, err := loadScript(ctx, host, port)
	if err != nil {
		return err
	}
	var runs []limiterRun
	for range s.rounds {
		run, err := limiterRound(ctx, s, p, limiter, call)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	limiterTable(runs).text(os.Stdout)
	return nil
}

func startRedis(ctx context.Context) (*process, error) {
	addr, err := processtest.FreeAddr()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	p := &process{addr: addr}
	p.cmd = exec.CommandContext(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	if err := p.start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return p, c.Close()
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("redis-server: %w", p.err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil, errors.Join(errors.New("redis-server does not answer"), p.stop())
}

// loadScript gives the server the script for redis-benchmark and returns the call. The program cannot send the binary
// arguments: they stand in the script's text, and text of the same length is sent in their place.
func loadScript(ctx context.Context, host, port string) ([]string, error) {
	text, err := os.ReadFile(limiterScript)
	if err != nil {
		return nil, fmt.Errorf("run it from the root of the repository: %w", err)
	}
	var numbers []byte
	for _, n := range []float64{0, 0, 0, 1e15, 1e15, 0, 0, 0, 0} { // admit, by the server's clock, both limits, nothing known
		numbers = binary.LittleEndian.AppendUint64(numbers, math.Float64bits(n))
	}
	key := "0123456789abcdef"
	source := strings.NewReplacer("ARGV[1]", luaString(numbers), "ARGV[2]", luaString([]byte(key)),
		"RULES", "20, 60000000, 2000000, 120000000, 86400000000, 11").Replace(string(text))
	cmd := exec.CommandContext(ctx, "redis-cli", "-h", host, "-p", port, "-x", "SCRIPT", "LOAD")
	cmd.Stdin = strings.NewReader(source)
	sha, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("redis-cli: %w: %s", err, sha)
	}
	return []string{
		"-h", host, "-p", port, "-c", strconv.Itoa(redisCallers), "-r", strconv.Itoa(redisCallers), "--csv",
		"EVALSHA", strings.TrimSpace(string(sha)), "1", "petstore:b:__rand_int__", strings.Repeat("x", len(numbers)), key,
	}, nil
}

// luaString returns a literal of Lua for any bytes.
func luaString(b []byte) string {
	var text strings.Builder
	text.WriteByte('"')
	for _, c := range b {
		fmt.Fprintf(&text, `\%03d`, c)
	}
	return text.String() + `"`
}

func limiterRound(ctx context.Context, s *settings, p *process, limiter *ratelimit.Redis, call []string) (run limiterRun, err error) {
	if err := run.decide(ctx, s, p, limiter); err != nil {
		return run, err
	}
	for _, pipeline := range pipelines() {
		n := int(run.decisions * s.round.Seconds())
		words := append([]string{"-P", strconv.Itoa(pipeline), "-n", strconv.Itoa(n)}, call...)
		calls, cpu, err := p.rate(func() (int, error) {
			out, err := exec.CommandContext(ctx, "redis-benchmark", words...).CombinedOutput()
			if err != nil || strings.Contains(string(out), "ERR") {
				return 0, errors.Join(err, fmt.Errorf("redis-benchmark: %s", out))
			}
			return n, nil
		})
		if err != nil {
			return run, err
		}
		run.calls, run.callCPU = append(run.calls, calls), append(run.callCPU, cpu)
	}
	return run, nil
}

// decide measures the limiter. A stretch in which a call took longer than 25 ms, so that a decision was made without
// Redis, says nothing and is measured again.
func (run *limiterRun) decide(ctx context.Context, s *settings, p *process, limiter *ratelimit.Redis) (err error) {
	for range 10 {
		before := limiter.RedisStats().Alone
		run.decisions, run.decisionCPU, err = p.rate(func() (int, error) { return decide(ctx, limiter, s.round), ctx.Err() })
		if after := limiter.RedisStats(); err != nil || after.Alone == before {
			return err
		}
		for limiter.RedisStats().Away && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return errors.New("this machine is too busy for each call to Redis to take 25 ms at most")
}

// rate returns how much of something was done a second, and the CPU of the process for each, in µs.
func (p *process) rate(work func() (int, error)) (perSecond, cpu float64, err error) {
	before, err := p.cpu()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	n, err := work()
	took := time.Since(began)
	if err != nil {
		return 0, 0, err
	}
	after, err := p.cpu()
	return float64(n) / took.Seconds(), float64((after - before).Microseconds()) / float64(n), err
}

// decide has the callers, each of a workspace of its own, ask without a pause.
func decide(ctx context.Context, limiter *ratelimit.Redis, long time.Duration) int {
	var (
		all  sync.WaitGroup
		done atomic.Int64
		end  = time.Now().Add(long)
		many = ratelimit.Limits{PerMinute: 1e15, PerDay: 1e15}
	)
	for i := range redisCallers {
		c := limiter.Caller(int64(i+1), fmt.Sprintf("key%013d", i), many)
		all.Go(func() {
			n := int64(0)
			for ; time.Now().Before(end) && ctx.Err() == nil; n++ {
				limiter.Admit(ctx, c)
			}
			done.Add(n)
		})
	}
	all.Wait()
	return int(done.Load())
}

// limiterTable returns what was measured, with the ratios within each round.
func limiterTable(runs []limiterRun) table {
	over := func(f func(limiterRun) float64) spread {
		var all []float64
		for _, r := range runs {
			all = append(all, f(r))
		}
		return spreadOf(all)
	}
	t := table{{"limiter in Redis, 64 callers", "calls/s", "server CPU µs", "decisions / calls"}}
	t.add("decisions of the limiter", over(func(r limiterRun) float64 { return r.decisions }).ranged("%.0f"),
		fmt.Sprintf("%.1f", over(func(r limiterRun) float64 { return r.decisionCPU }).Median), "")
	for i, pipeline := range pipelines() {
		t.add(fmt.Sprintf("redis-benchmark -P %d", pipeline), over(func(r limiterRun) float64 { return r.calls[i] }).ranged("%.0f"),
			fmt.Sprintf("%.1f", over(func(r limiterRun) float64 { return r.callCPU[i] }).Median),
			over(func(r limiterRun) float64 { return r.decisions / r.calls[i] }).ranged("%.2f"))
	}
	t.add("the fastest of these", "", "", over(func(r limiterRun) float64 { return r.decisions / slices.Max(r.calls) }).ranged("%.2f"))
	return t
}
