package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
	for _, test := range []struct {
		in       string
		status   int
		body     string
		complete bool
		fails    bool
	}{
		{in: "HTTP/1.1 200 OK\r\nContent-Le"},
		{in: head + "bod"},
		{in: head + "body", status: 200, body: "body", complete: true},
		{in: head + "bodyHTTP/1.1 200 OK", fails: true},
		{in: "HTTP/1.1 200 OK\r\n\r\n", fails: true},
		{in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", fails: true},
		{in: "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", status: 200, body: "body", complete: true},
		{in: "SSH-2.0\r\n\r\n", fails: true},
	} {
		a, err := parseAnswer([]byte(test.in))
		if (err != nil) != test.fails {
			t.Errorf("parseAnswer(%q) = error %v, want one: %v", test.in, err, test.fails)
			continue
		}
		if got := a.body != nil; got != test.complete {
			t.Errorf("parseAnswer(%q) is complete: %v, want %v", test.in, got, test.complete)
			continue
		}
		if test.complete && (a.status() != test.status || string(a.body) != test.body) {
			t.Errorf("parseAnswer(%q) = %d %q, want %d %q", test.in, a.status(), a.body, test.status, test.body)
		}
	}
}

// The pets of a dataset have ordinary names, and one of them has the rare one.
func TestWritePets(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := writePets(&out, 300, true, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	counts, names := map[string]int{}, map[string]int{}
	for line := range strings.Lines(out.String()) {
		var record struct{ Type, Name, Status string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		counts[record.Type]++
		counts[record.Status]++
		if record.Type == "pet" {
			names[record.Name]++
		}
	}
	if counts["pet"] != 300 || counts["pending"] != 30 || counts["order"] != 300*ordersPerPet || counts["category"] != categories {
		t.Errorf("writePets(300) wrote %v", counts)
	}
	if names[rareName] != 1 {
		t.Errorf("writePets(300) gave %q to %d pets, want 1", rareName, names[rareName])
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	firsts, all := map[string]int{}, map[string]int{}
	const pets = 200_000
	for i := range pets {
		name := petName(i)
		first, _, _ := strings.Cut(name, " ")
		firsts[first]++
		all[name]++
	}
	if all[rareName] != 0 {
		t.Errorf("%d pets are called %q, want none", all[rareName], rareName)
	}
	if len(firsts) != len(given) || firsts["Clara"] == 0 {
		t.Errorf("%d given names are in use, want all %d", len(firsts), len(given))
	}
	if len(all) < pets/3 || len(all) > pets*9/10 {
		t.Errorf("%d pets have %d names, want some namesakes and not too many", pets, len(all))
	}
}

func TestSpreadOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   []float64
		want spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{9, 1, 5}, spread{5, 1, 9}},
		{[]float64{4, 1, 2, 9}, spread{3, 1, 9}},
	} {
		if got := spreadOf(test.in); got != test.want {
			t.Errorf("spreadOf(%v) = %v, want %v", test.in, got, test.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	s := &sample{}
	if got := s.quantile(.5); got != 0 {
		t.Errorf("quantile(.5) of nothing = %v, want 0", got)
	}
	for i := range 1000 {
		s.latencies = append(s.latencies, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{.5: 501, .99: 991, .999: 1000, 1: 1000} {
		if got := s.quantile(q); got != want {
			t.Errorf("quantile(%v) = %v, want %v", q, got, want)
		}
	}
}

// Every row is a request that net/http understands, and is described.
func TestRequestsAreWellFormed(t *testing.T) {
	t.Parallel()
	w := &workload{dataset: &dataset{pets: 9, key: "pst_a", spent: "pst_b", unknown: "pst_c"}, cursor: "abc", pending: map[int64]bool{}}
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	t.Cleanup(server.Close)
	p := &process{addr: strings.TrimPrefix(server.URL, "http://")}
	all := rows()
	for _, r := range scaleRows() {
		all = append(all, r.row)
	}
	seen := map[string]bool{}
	for _, r := range all {
		r.want, r.transport = http.StatusOK, plain
		if _, _, err := r.do(t.Context(), http.DefaultClient, p, w, rand.New(rand.NewPCG(1, 1))); err != nil {
			t.Errorf("%s: %v", r.name, err)
		} else if r.write && got.Method != http.MethodPost || !strings.HasPrefix(got.Header.Get("Authorization"), "Bearer pst_") {
			t.Errorf("%s: the request is %s %s with %v", r.name, got.Method, got.URL, got.Header)
		}
		if seen[r.name] {
			t.Errorf("two rows are called %s", r.name)
		}
		seen[r.name] = true
	}
	for _, r := range rows() {
		if r.words == "" {
			t.Errorf("%s has no description", r.name)
		}
	}
}

func TestReferenceAnswersWhatItIsTold(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&reference{})
	t.Cleanup(server.Close)
	addr := strings.TrimPrefix(server.URL, "http://")
	for _, want := range []constant{
		{200, http.Header{"Content-Type": {"application/json"}, "ETag": {`"x"`}}, []byte(`{"id":1}`)},
		{401, http.Header{"Content-Type": {"application/json"}}, []byte(`{"code":"x"}`)},
		{201, http.Header{"X-Ratelimit-Limit": {"7"}}, bytes.Repeat([]byte("x"), 3000)},
	} {
		if err := setReference(t.Context(), addr, &want); err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET /pets/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		text, err := io.ReadAll(c)
		c.Close()
		if err != nil {
			t.Fatal(err)
		}
		a, err := parseAnswer(text)
		if err != nil || a.status() != want.Status || !bytes.Equal(a.body, want.Body) {
			t.Errorf("the reference answered %q, %v, want %d %q", a, err, want.Status, want.Body)
		}
		for name := range want.Header {
			if line := "\r\n" + name + ": " + want.Header[name][0] + "\r\n"; !strings.Contains(string(a.head), line) {
				t.Errorf("the reference answered %q, want %q", a.head, line)
			}
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	var requests, peers section
	add := func(name string, f figure) { requests.addRow(findRow(rows(), name), f) }
	add("get", figure{ofReference: spread{median: .9}, cpuRatio: .1})
	add("create-pet", figure{ofReference: spread{median: .2}, cpuRatio: .1})
	add("get, HTTP/1.0", figure{ofReference: spread{median: 9}, cpuRatio: .5})
	add("order", figure{ofAppends: spread{median: 2.5}})
	ran := func(name string, rate int) *side {
		return &side{name: name, samples: []*sample{{requests: rate, elapsed: time.Second}}}
	}
	peers.addContest(findRow(rows(), "get"), 1, []*side{ran("bare", 9), ran("ours", 6), ran("a", 3), ran("b", 4)})
	memory := &memory{pets: 1000, loaded: 128, search: spread{median: 2.5}}
	scale := scaleSection(1_000_000, []scaleRow{
		{row: row{name: "listPets"}, small: 10, big: 35, aloneRatio: spread{median: 1.4}},
		{row: row{name: "by name"}, byName: true, small: 10, big: 300, aloneRatio: spread{median: 30}},
	}, spread{median: 11})
	var got []string
	for _, row := range targetTable([]section{
		requests, peers, feedSection(spread{median: .8}), webhookSection(spread{median: 2100}, spread{median: 21}), memory.section(), scale, redisSection(spread{median: .7}),
	})[1:] {
		got = append(got, strings.ReplaceAll(row, " | ", "|"))
	}
	get := findRow(rows(), "get").words
	want := []string{
		get + ", of bare net/http|≥ 0.85|0.9|met",
		get + "; HTTP/1.0 from a proxy, of bare net/http|≥ 0.6|0.5|missed",
		"order, different pets, 64 callers, × durable appends|≥ 3|2.5|missed",
		get + ", × the fastest peer|≥ 1|1.5|met",
		"orders with events, of those without|≥ 0.85|0.8|missed",
		"deliveries to 64 receivers, thousands a second|≥ 2|2.1|met",
		"from the commit to the receipt, p50, ms|≤ 20|21|missed",
		"memory under load with 1000 pets, MiB|≤ 128|128|met",
		"search for the full name of one of 1000 pets, alone, ms|≤ 2|2.5|missed",
		"listPets at 1000000 pets, × at 10000, by processor time|≤ 3|3.5|missed",
		"listPets at 1000000 pets, × at 10000, alone|≤ 1.8|1.4|met",
		"search for the full name of one of 1000000 pets, alone, ms|≤ 12|11|met",
		"decisions through Redis, of redis-benchmark's best|≥ 0.7|0.7|met",
	}
	if !slices.Equal(got, want) {
		t.Errorf("targetTable() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRatiosIn(t *testing.T) {
	t.Parallel()
	got, err := ratiosIn([]byte("BenchmarkRedis-2 \t 100\t 14 ns/op\t 70000 decisions/s\t 0.84 ratio\t 83000 redis-benchmark/s\nBenchmarkRedis-2 100 1.02 ratio\n"))
	if err != nil || !slices.Equal(got, []float64{.84, 1.02}) {
		t.Errorf("ratiosIn() = %v, %v, want 0.84 and 1.02", got, err)
	}
	if _, err := ratiosIn([]byte("PASS\n")); err == nil {
		t.Error("ratiosIn() of no figures succeeded, want an error")
	}
}

// TestPopularPets: of all requests a tenth of the pets get four fifths, and the
// first alone one in twelve, as the law says for a hundred thousand.
func TestPopularPets(t *testing.T) {
	t.Parallel()
	const pets, draws = 100_000, 200_000
	random := rand.New(rand.NewPCG(1, 2))
	first, tenth := 0, 0
	for range draws {
		rank := popular(random, pets)
		if rank < 0 || rank >= pets {
			t.Fatalf("the rank is %d of %d", rank, pets)
		}
		if rank == 0 {
			first++
		}
		if rank < pets/10 {
			tenth++
		}
	}
	if share := float64(first) / draws; share < .07 || share > .09 {
		t.Errorf("the first has %.3f of the requests", share)
	}
	if share := float64(tenth) / draws; share < .78 || share > .84 {
		t.Errorf("a tenth has %.3f of the requests", share)
	}
}

// TestSimulate: what costs nothing but the nodes' time grows with them, and what is shared bounds it.
func TestSimulate(t *testing.T) {
	t.Parallel()
	base := model{costs: costs{nodeRead: 100, nodeOrder: 100}, growthLoad: growthLoad{workspaces: 1000, pets: 20}, callers: 64, cores: 1, databaseCores: 1}
	for name, test := range map[string]struct {
		change    func(*model)
		perSecond float64 // with four nodes
		bound     string
	}{
		"the nodes": {func(*model) {}, 40_000, "the nodes' processors"},
		"reads":     {func(m *model) { m.databaseRead = 50 }, 20_000, "PostgreSQL's processors"},
		"orders":    {func(m *model) { m.orders, m.databaseOrder = 1, 50 }, 20_000, "PostgreSQL's processors"},
		"two cores": {func(m *model) { m.databaseRead, m.databaseCores = 100, 2 }, 20_000, "PostgreSQL's processors"},
		"decisions": {func(m *model) { m.decision = 200 }, 5_000, "Redis's processor"},
		"one core":  {func(m *model) { m.together = true }, 10_000, "PostgreSQL's processors"},
		"far away":  {func(m *model) { m.trip = 100_000 }, 4 * 64 * 5, "waiting for answers"},
	} {
		m := base
		m.nodes = 4
		test.change(&m)
		o := simulate(m, 1)
		if o.perSecond < test.perSecond*.95 || o.perSecond > test.perSecond*1.05 || o.bound() != test.bound {
			t.Errorf("%s: %.0f requests a second, bound by %s, want about %.0f, by %s", name, o.perSecond, o.bound(), test.perSecond, test.bound)
		}
		if again := simulate(m, 1); again != o {
			t.Errorf("%s: the same model gives %+v and %+v", name, o, again)
		}
	}
}

// TestSimulateLocks: groups of orders for one pet follow each other, and share a commit.
func TestSimulateLocks(t *testing.T) {
	t.Parallel()
	m := model{costs: costs{nodeOrder: 1, sync: 1000}, growthLoad: growthLoad{orders: 1, workspaces: 1, pets: 1}, nodes: 4, callers: 64, cores: 1, databaseCores: 1}
	o := simulate(m, 1)
	if groups := o.perSecond / o.group; groups < 950 || groups > 1050 || o.bound() != "locks of the largest workspaces" {
		t.Errorf("%.0f groups a second, bound by %s, want 1000, by the locks", groups, o.bound())
	}
	m.workspaces = 1_000_000
	if many := simulate(m, 1); many.locked > o.locked*.8 || many.perSecond < o.perSecond {
		t.Errorf("of many workspaces %.0f orders a second, waiting %.2f for locks, want more than %.0f and less than %.2f", many.perSecond, many.locked, o.perSecond, o.locked)
	}
}
