package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// What is measured of sandboxes: resets of one that is full, and visitors beside a workspace that pays.
const (
	fullRows   = 4900 // pets, and as many orders; there can be 5,000, with those that are under way
	fullResets = 5
	visitors   = 1000 // with a sandbox each
	payers     = 4    // callers of the workspace that pays
	payerPause = 4 * time.Millisecond
	visitTime  = 5 * time.Second
)

// How long visitors wait between two requests: people who try things out, and programs that ask for as much as the free plan allows.
var paces = []time.Duration{10 * time.Second, time.Second}

// A visitor is somebody with an address, and with a sandbox once it is made.
type visitor struct{ base, addr, workspace, key string }

func newVisitor(base string, number int) *visitor {
	return &visitor{base: base, addr: fmt.Sprintf("10.1.%d.%d", number/250, number%250)}
}

// send sends a request and returns how long the answer took.
func (v *visitor) send(ctx context.Context, method, path, body string, want int) (time.Duration, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, v.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("X-Forwarded-For", v.addr)
	r.Header.Set("Content-Type", "application/json")
	if v.key != "" { // it has arrived
		r.Header.Set("Authorization", "Bearer "+v.key)
	}
	began := time.Now()
	_, answer, err := ask(http.DefaultClient, r, want)
	return time.Since(began), answer, err
}

// arrive makes the sandbox.
func (v *visitor) arrive(ctx context.Context, catalogue string) error {
	_, answer, err := v.send(ctx, http.MethodPost, "/sandboxes", `{"catalogue":"`+catalogue+`"}`, http.StatusCreated)
	var made struct {
		Workspace struct{ Name string }
		Key       string
	}
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	v.workspace, v.key = made.Workspace.Name, made.Key
	return err
}

func (v *visitor) reset(ctx context.Context, catalogue string) (time.Duration, error) {
	took, _, err := v.send(ctx, http.MethodPost, "/account/reset", `{"catalogue":"`+catalogue+`"}`, http.StatusNoContent)
	return took, err
}

func (b *bench) measureSandboxes(ctx context.Context) error {
	return b.measureVisits(ctx, b.file("sandboxes.db"), b.file("apart.db"))
}

func (b *bench) measurePostgresSandboxes(ctx context.Context) error {
	db, err := b.postgresDatabase(ctx)
	if err != nil {
		return err
	}
	elsewhere, err := b.postgresDatabase(ctx) // of another PostgreSQL
	if err != nil {
		return err
	}
	return b.measureVisits(ctx, db, elsewhere)
}

// measureVisits measures resets of full sandboxes, and what visitors cost a workspace that pays: in the same database,
// and elsewhere.
func (b *bench) measureVisits(ctx context.Context, db, elsewhere string) error {
	keepConnections()
	key, err := b.newWorkspace(db, "paying", nil)
	if err != nil {
		return err
	}
	p, err := b.startServer(ctx, db, "--sandbox", "--sandbox-max=10000")
	if err != nil {
		return err
	}
	say("resets")
	if err := b.timeResets(ctx, db, p); err != nil {
		return err
	}
	apart, err := b.startServer(ctx, elsewhere, "--sandbox", "--sandbox-max=10000")
	if err != nil {
		return err
	}
	s := section{title: "Visitors beside a workspace that pays", words: fmt.Sprintf(`%d visitors with a sandbox each, of whose requests one of five is an order. A workspace that pays has %d callers. "Elsewhere" the
visitors are at another server on the same core: what that costs is the machine's.`, visitors, payers),
		table: table{"a visitor's request each | request | alone, p50 and p99 ms | visitors elsewhere | visitors here | p99, × elsewhere"}}
	payer := &visitor{base: "http://" + p.addr, addr: "10.2.0.1", key: key}
	if err := payer.openShop(ctx, 1, stock); err != nil {
		return err
	}
	for _, pace := range paces {
		say("visitors with a request each %v", pace)
		if err := b.timePayer(ctx, p, apart, payer, pace, &s); err != nil {
			return err
		}
	}
	b.add(s)
	return nil
}

// timeResets fills a sandbox again and again, and resets it.
func (b *bench) timeResets(ctx context.Context, db string, p *process) error {
	s := section{title: "Resets of a sandbox", words: fmt.Sprintf("Of a sandbox with %d pets and as many orders.", fullRows), table: table{"catalogue | p50 ms | the slowest, ms"}}
	v := newVisitor("http://"+p.addr, visitors)
	if err := v.arrive(ctx, "empty"); err != nil {
		return err
	}
	plan := fmt.Sprint(quota)
	if _, err := b.binary.Run(b.dir, "workspace", "set-plan", v.workspace, "enterprise", "--per-minute="+plan, "--per-day="+plan, "--db="+db); err != nil {
		return err
	}
	time.Sleep(time.Second) // within which that holds
	for _, catalogue := range []string{"demo", "large"} {
		var took []time.Duration
		for range fullResets {
			if err := v.fill(ctx); err != nil {
				return err
			}
			one, err := v.reset(ctx, catalogue)
			if err != nil {
				return err
			}
			took = append(took, one)
		}
		r := newSample(took)
		s.table.add("%s | %.1f | %.1f", catalogue, millis(r, .5), millis(r, 1))
		s.targets = append(s.targets, target{"reset of a full sandbox to " + catalogue + ", the slowest, ms", millis(r, 1), 50, true})
	}
	b.add(s)
	return nil
}

// fill fills a sandbox.
func (v *visitor) fill(ctx context.Context) error {
	if _, err := v.reset(ctx, "empty"); err != nil {
		return err
	}
	if err := v.openShop(ctx, fullRows, 1_000_000); err != nil {
		return err
	}
	return v.sendOften(ctx, fullRows, http.MethodPost, "/store/orders", `{"petId":1}`, http.StatusCreated)
}

// openShop makes pets, and gives the first one a stock.
func (v *visitor) openShop(ctx context.Context, pets, stock int) error {
	if _, _, err := v.send(ctx, http.MethodPost, "/categories", `{"name":"Dogs"}`, http.StatusCreated); err != nil {
		return err
	}
	if err := v.sendOften(ctx, pets, http.MethodPost, "/pets", `{"name":"Rex of the Castle","categoryId":1}`, http.StatusCreated); err != nil {
		return err
	}
	_, _, err := v.send(ctx, http.MethodPatch, "/inventory/1", fmt.Sprintf(`{"quantity":%d}`, stock), http.StatusOK)
	return err
}

// sendOften sends a request so many times, some at once.
func (v *visitor) sendOften(ctx context.Context, times int, method, path, body string, want int) error {
	return inParallel(min(times, 64), func(n, all int) error {
		for i := n; i < times; i += all {
			if _, _, err := v.send(ctx, method, path, body, want); err != nil {
				return err
			}
		}
		return nil
	})
}

// inParallel calls f so many times at once, and returns the first error.
func inParallel(all int, f func(n, all int) error) error {
	var running sync.WaitGroup
	errs := make([]error, all)
	for n := range all {
		running.Go(func() { errs[n] = f(n, all) })
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func newSample(latencies []time.Duration) *sample {
	slices.Sort(latencies)
	return &sample{latencies: latencies}
}

func millis(s *sample, q float64) float64 { return micros(s.quantile(q)) / 1000 }

// timePayer measures the workspace that pays, in turns alone, with visitors at another server, and with visitors at its own.
func (b *bench) timePayer(ctx context.Context, p, apart *process, payer *visitor, pace time.Duration, s *section) error {
	var reads, writes [3][]*sample
	for range max(b.rounds/3, 1) {
		for i, at := range []*process{nil, apart, p} {
			leave, err := b.visit(ctx, at, pace)
			if err != nil {
				return err
			}
			read, write, err := payer.pay(ctx)
			if err := errors.Join(err, leave()); err != nil {
				return err
			}
			reads[i], writes[i] = append(reads[i], read), append(writes[i], write)
		}
	}
	for _, kind := range []struct {
		name string
		all  [3][]*sample
	}{{"GET pet", reads}, {"POST order", writes}} {
		cells := []any{pace, kind.name}
		for _, one := range kind.all {
			cells = append(cells, spreadOf(latencies(one, .5)).median/1000, spreadOf(latencies(one, .99)).median/1000)
		}
		ratio := spreadOf(quotients(latencies(kind.all[2], .99), latencies(kind.all[1], .99)))
		s.table.add("%v | %s | %.2f, %.2f | %.2f, %.2f | %.2f, %.2f | %s", append(cells, ratio.ranged("%.2f"))...)
		s.targets = append(s.targets, target{fmt.Sprintf("%s beside visitors with a request each %v, p99, × with them elsewhere", kind.name, pace), ratio.median, 1.2, true})
	}
	return nil
}

// pay has the callers of a workspace read pets and place orders.
func (v *visitor) pay(ctx context.Context) (reads, writes *sample, err error) {
	var mu sync.Mutex
	var read, written []time.Duration
	end := time.Now().Add(visitTime)
	err = inParallel(payers, func(int, int) error {
		for time.Now().Before(end) {
			time.Sleep(time.Duration(rand.ExpFloat64() * float64(payerPause)))
			method, path, body, want, to := http.MethodGet, "/pets/1", "", http.StatusOK, &read
			if rand.IntN(4) == 0 {
				method, path, body, want, to = http.MethodPost, "/store/orders", `{"petId":1}`, http.StatusCreated, &written
			}
			took, _, err := v.send(ctx, method, path, body, want)
			if err != nil {
				return err
			}
			mu.Lock()
			*to = append(*to, took)
			mu.Unlock()
		}
		return nil
	})
	return newSample(read), newSample(written), err
}

// visit has visitors come to a server, in another process, and returns when all are there. Nobody comes to nil.
func (b *bench) visit(ctx context.Context, to *process, pace time.Duration) (leave func() error, err error) {
	if to == nil {
		return func() error { return nil }, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "visitors", "http://"+to.addr, pace.String())
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, startOn(cmd, loadCore)); err != nil {
		return nil, err
	}
	_, err = out.Read(make([]byte, 1))
	return func() error { return errors.Join(in.Close(), cmd.Wait()) }, err
}

// keepConnections has each visitor keep a connection.
func keepConnections() {
	t := http.DefaultTransport.(*http.Transport)
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, visitors
}

// serveVisitors is the process of the visitors: it prints a byte when all have a sandbox, and ends with its input.
func serveVisitors(base, each string) error {
	pace, err := time.ParseDuration(each)
	if err != nil {
		return err
	}
	keepConnections()
	all := make([]*visitor, visitors)
	err = inParallel(8, func(n, step int) error {
		for i := n; i < visitors; i += step {
			all[i] = newVisitor(base, i)
			if err := all[i].arrive(context.Background(), "demo"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // its end is the end
		stop()
	}()
	fmt.Print(".")
	return inParallel(visitors, func(n, _ int) error {
		time.Sleep(time.Duration(n) * pace / visitors)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for ctx.Err() == nil {
			var err error
			if rand.IntN(5) == 0 {
				_, _, err = all[n].send(ctx, http.MethodPost, "/store/orders", `{"petId":18}`, http.StatusCreated)
			} else {
				_, _, err = all[n].send(ctx, http.MethodGet, "/pets?limit=20", "", http.StatusOK)
			}
			if err != nil && ctx.Err() == nil {
				return err
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		return nil
	})
}
