package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
