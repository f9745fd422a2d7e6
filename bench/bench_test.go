package main

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/sqlite"
)

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
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
		{in: "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", status: 304, complete: true},
		{in: head + "bodyHTTP/1.1 200 OK", fails: true},
		{in: "HTTP/1.1 200 OK\r\n\r\n", fails: true},
		{in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"},
		{in: chunked, status: 200, body: "2\r\nab\r\n0\r\n\r\n", complete: true},
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

// A bulk path that skipped a rule would measure another program's database.
func TestFillLeavesASoundDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fill.db")
	if _, err := fill(t.Context(), path, 250); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{NoMigrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	problems, err := db.Check(t.Context())
	if err != nil || len(problems) > 0 {
		t.Errorf("Check() = %q, %v, want nothing", problems, err)
	}
	pet, err := db.Pet(t.Context(), 1, 250)
	if err != nil || pet.Name != "Beagle 0000250" {
		t.Errorf("Pet(250) = %+v, %v, want Beagle 0000250", pet, err)
	}
	item, err := db.InventoryItem(t.Context(), 1, 250)
	if err != nil || item.Quantity != stock {
		t.Errorf("InventoryItem(250) = %+v, %v, want a stock of %d", item, err, int64(stock))
	}
}

// The plain transaction must do what the store does, or comparing is unfair.
func TestOrderPlainKeepsTheLedger(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plain.db")
	if _, err := fill(t.Context(), path, 10); err != nil {
		t.Fatal(err)
	}
	conn, err := openPlain(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, pet := range []int64{3, 3, 7} {
		if err := orderPlain(conn, pet); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{NoMigrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	problems, err := db.Check(t.Context())
	if err != nil || len(problems) > 0 {
		t.Errorf("Check() = %q, %v, want nothing", problems, err)
	}
	if item, err := db.InventoryItem(t.Context(), 1, 3); err != nil || item.Quantity != stock-2 {
		t.Errorf("InventoryItem(3) = %+v, %v, want a stock of %d", item, err, int64(stock-2))
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

func TestLosses(t *testing.T) {
	t.Parallel()
	share := func(median, most float64) spread { return spread{Median: median, Most: most} }
	times := func(median, most float64) *spread { s := share(median, most); return &s }
	before := &results{Rows: []figure{
		{Name: "same", OfFloor: share(.50, .52), CPURatio: .5},
		{Name: "fell", OfFloor: share(.50, .52), CPURatio: .5},
		{Name: "noisy", OfFloor: share(.50, .52), CPURatio: .5},
		{Name: "costly", OfFloor: share(.50, .52), CPURatio: .5},
		{Name: "order", OfFloor: share(.20, .22), CPURatio: .1, OfAppends: times(4, 4.2)},
	}}
	now := &results{Rows: []figure{
		{Name: "same", OfFloor: share(.46, .47), CPURatio: .46},
		{Name: "fell", OfFloor: share(.44, .46), CPURatio: .5},
		{Name: "noisy", OfFloor: share(.40, .55), CPURatio: .5},
		{Name: "costly", OfFloor: share(.50, .55), CPURatio: .4},
		{Name: "order", OfFloor: share(.10, .11), CPURatio: .1, OfAppends: times(3, 3.5)},
		{Name: "new", OfFloor: share(.01, .01), CPURatio: .01},
	}}
	want := []string{
		"fell: its share of the floor's rate fell from 0.50 to 0.44 (-12 %)",
		"costly: the floor's processor time as a share of its own fell from 0.50 to 0.40 (-20 %)",
		"order: its rate as a multiple of durable appends fell from 4.00 to 3.00 (-25 %)",
	}
	var got []string
	for _, l := range losses(before, now) {
		got = append(got, l.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("losses() = %q, want %q", got, want)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value, bound float64
		most         bool
		want         string
	}{
		{.7, .7, false, "≥ 0.7: met"},
		{.69, .7, false, "≥ 0.7: missed"},
		{10, 10, true, "≤ 10: met"},
		{11, 10, true, "≤ 10: missed"},
		{11, 0, true, ""},
	} {
		g := goal{value: test.value, most: test.most}
		if got := g.judge(test.bound); got != test.want {
			t.Errorf("judge(%v) of %v = %q, want %q", test.bound, test.value, got, test.want)
		}
	}
}

// Every row is a request that net/http understands, and is described.
func TestRequestsAreWellFormed(t *testing.T) {
	t.Parallel()
	w := &world{shop: &shop{pets: 9, key: "pst_a", spent: "pst_b"}, unknown: "pst_c", cursor: "abc", tags: []string{`If-None-Match: "x"`}}
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	t.Cleanup(server.Close)
	for _, r := range rows() {
		c, err := dial(t.Context(), strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		c.out = r.request(c.out, w, rand.New(rand.NewPCG(1, 1)))
		if a, err := c.call(); err != nil || a.status() != http.StatusOK {
			t.Errorf("%s: the answer is %q, %v, want 200", r.name, a.head, err)
		} else if wantPost := r.write; (got.Method == http.MethodPost) != wantPost || !strings.HasPrefix(got.Header.Get("Authorization"), "Bearer pst_") {
			t.Errorf("%s: the request is %s %s with %v", r.name, got.Method, got.URL, got.Header)
		}
		if r.describe() == "" {
			t.Errorf("%s has no description", r.name)
		}
		c.conn.Close()
	}
}

func TestFloorAnswersWhatItIsTold(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&floor{})
	t.Cleanup(server.Close)
	addr := strings.TrimPrefix(server.URL, "http://")
	for _, want := range []struct {
		status int
		body   string
	}{{200, `{"id":1}`}, {401, `{"code":"x"}`}, {304, ""}, {201, strings.Repeat("x", 3000)}} {
		if err := setFloor(t.Context(), addr, want.status, []byte(want.body)); err != nil {
			t.Fatal(err)
		}
		c, err := dial(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		c.out = getPet(c.out, &world{shop: &shop{pets: 1}}, rand.New(rand.NewPCG(1, 1)))
		if a, err := c.call(); err != nil || a.status() != want.status || string(a.body) != want.body {
			t.Errorf("the floor answered %q, %v, want %d %q", a, err, want.status, want.body)
		}
		c.conn.Close()
	}
}

func TestGoalsOfTheParts(t *testing.T) {
	t.Parallel()
	side := func(name string, rate float64) figure { return figure{Name: name, PerSecond: spread{rate, rate, rate}} }
	r := &results{
		Peers:    []contest{{"get", []figure{side("floor", 9), side("ours", 6), side("a", 3), side("b", 4)}}},
		Overload: []pressure{{Row: "order", Times: 4, OfPeak: .1}, {Row: "order", Times: 5, OfPeak: .95}, {Row: "order", Times: 5, Open: true, OfPeak: .5}},
		Grown: &grown{Pets: [2]int{10, 1000}, Start: spread{40, 40, 40}, Rows: []grownRow{
			{Name: "getPet", Ratio: 1.2, OfAlone: spread{1.1, 1, 1.2}}, {Name: "listPets, name", Ratio: 30, OfAlone: spread{1.4, 1, 2}},
			{Name: "not measured alone", Ratio: 1.1},
		}},
	}
	var got []string
	for _, row := range r.goals()[1:] {
		got = append(got, strings.Join(row, "|"))
	}
	want := []string{
		"get, × the fastest peer|1.5||≥ 1: met",
		"order at 5 × the callers, of the peak|0.95||≥ 0.9: met",
		"order at 5 × the capacity, of the peak|0.5||≥ 0.9: missed",
		"start in ms, 1000 pets|40||≤ 500: met",
		"listPets, name, × its cost in a small shop|30||≤ 1.5: missed",
		"listPets, name, alone, × its time in a small shop|1.4||≤ 1.5: met",
		"binary in MiB|0||≤ 30: met",
	}
	if !slices.Equal(got, want) {
		t.Errorf("goals() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPopularPets: of all requests a tenth of the pets get four fifths, and the
// first alone one in fourteen, as the law says for a hundred thousand.
func TestPopularPets(t *testing.T) {
	t.Parallel()
	const pets, draws = 100_000, 200_000
	z, random := newZipfian(pets), rand.New(rand.NewPCG(1, 2))
	first, tenth := 0, 0
	for range draws {
		rank := z.rank(random)
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
