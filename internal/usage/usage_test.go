package usage_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/usage"
)

// A flaky store fails to add anything while err is set.
type flaky struct {
	usage.Store

	err error
}

func newStore(t testing.TB) *flaky {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{Readers: 1})
	processtest.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return &flaky{Store: db}
}

func (f *flaky) AddUsage(ctx context.Context, rows []usage.Row) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.AddUsage(ctx, rows)
}

// A taker takes everything, and keeps only how many rows that were.
type taker struct {
	usage.Store

	rows int
}

func (k *taker) AddUsage(_ context.Context, rows []usage.Row) error {
	k.rows += len(rows)
	return nil
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration, status int) usage.Event {
	return usage.Event{At: noon.Add(d), Method: "GET", Path: "/pets", Status: status, Duration: time.Millisecond}
}

// saved returns what the store has for a query.
func saved(t *testing.T, r *usage.Recorder, q usage.Query) []usage.Row {
	t.Helper()
	rows, err := r.Usage(t.Context(), q)
	processtest.Must(t, err)
	return rows
}

// totals returns the requests of each span of a workspace that the store has.
func totals(t *testing.T, r *usage.Recorder, workspace int64, interval usage.Interval) (list []int64) {
	t.Helper()
	for _, row := range saved(t, r, usage.Query{Workspace: workspace, Interval: interval, From: noon, To: noon.Add(24 * time.Hour)}) {
		list = append(list, row.Total())
	}
	return list
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{200: "2xx", 204: "2xx", 304: "304", 400: "4xx", 404: "4xx", 429: "429", 499: "4xx", 500: "5xx", 503: "5xx"} {
		if got := usage.ClassOf(status).String(); got != want {
			t.Errorf("ClassOf(%d) = %s, want %s", status, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	var c usage.Counts
	if got := c.Quantile(.5); got != 0 {
		t.Errorf("Quantile(.5) of nothing = %v, want 0", got)
	}
	c.Latency[0], c.Latency[2], c.Latency[9] = 50, 40, 10
	for q, want := range map[float64]time.Duration{.5: 250 * time.Microsecond, .7: 750 * time.Microsecond, .9: time.Millisecond, .99: 2 * time.Second} {
		if got := c.Quantile(q).Round(time.Microsecond); got != want {
			t.Errorf("Quantile(%v) = %v, want %v", q, got, want)
		}
	}
}

// TestFailedSave: what the store did not take is taken by the next save, once, by minutes and by hours.
func TestFailedSave(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	r := usage.NewRecorder(store, func() time.Time { return noon })
	r.Record(7, at(0, 200))
	store.err = errors.New("no room")
	if err := r.Save(t.Context()); !errors.Is(err, store.err) {
		t.Fatalf("Save = %v, want %v", err, store.err)
	}
	r.Record(7, at(0, 200))
	r.Record(7, at(time.Minute, 404))
	r.Record(7, at(time.Hour, 500))
	r.Record(8, at(0, 200))
	store.err = nil
	for range 2 {
		processtest.Must(t, r.Save(t.Context()))
	}
	if got, want := totals(t, r, 7, usage.Minute), []int64{2, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("minutes = %v, want %v", got, want)
	}
	if got, want := totals(t, r, 7, usage.Hour), []int64{3, 1}; !slices.Equal(got, want) {
		t.Errorf("hours = %v, want %v", got, want)
	}
}

// TestBoundedWithoutAStore: while saving fails, so much is held for the next save, and no more.
func TestBoundedWithoutAStore(t *testing.T) {
	t.Parallel()
	held := new(taker)
	store := &flaky{held, errors.New("no room")}
	r := usage.NewRecorder(store, func() time.Time { return noon })
	for i := range 60_000 {
		r.Record(7, at(time.Duration(i)*time.Minute, 200))
	}
	if err := r.Save(t.Context()); !errors.Is(err, store.err) {
		t.Fatalf("Save = %v, want %v", err, store.err)
	}
	store.err = nil
	processtest.Must(t, r.Save(t.Context()))
	if held.rows != 50_000 {
		t.Errorf("%d rows were held, want 50,000", held.rows)
	}
}

// TestErrorsAreKeptApart: neither a flood of successes nor one of refusals drives out the errors, and the log stays in order.
func TestErrorsAreKeptApart(t *testing.T) {
	t.Parallel()
	r := usage.NewRecorder(newStore(t), func() time.Time { return noon })
	for i := range 5000 {
		status := []int{200, 429, 304}[i%3]
		if i%50 == 0 && i < 1000 {
			status = []int{404, 500}[i/50%2]
		}
		r.Record(7, at(time.Duration(i)*time.Second, status))
	}
	held, last := map[usage.Class]int{}, noon.Add(time.Hour*24)
	for _, e := range r.Latest(7) {
		held[usage.ClassOf(e.Status)]++
		if e.At.After(last) {
			t.Errorf("%v comes after %v", e.At, last)
		}
		last = e.At
	}
	if held[usage.ClientError]+held[usage.ServerError] != 20 || held[usage.Limited] != 100 || held[usage.Success]+held[usage.NotModified] != 200 {
		t.Errorf("of 20 errors among 5000 requests there are %v", held)
	}
}

// TestLongQuery: what the log holds of a long line is short.
func TestLongQuery(t *testing.T) {
	t.Parallel()
	r := usage.NewRecorder(newStore(t), func() time.Time { return noon })
	e := at(0, 200)
	e.Path, e.Query, e.RequestID = "/pets", "name="+strings.Repeat("é", 4000), strings.Repeat("x", 128)
	r.Record(7, e)
	got := r.Latest(7)[0]
	if got.Path != "/pets" || len(got.Query) > 204 || !strings.HasPrefix(got.Query, "name=éé") || !utf8.ValidString(got.Query) || len(got.RequestID) > 68 {
		t.Errorf("the log holds %d bytes of query and %d of id: %+v", len(got.Query), len(got.RequestID), got)
	}
}

// TestManyWorkspaces: the log is bounded in total, and room comes back when workspaces fall silent.
func TestManyWorkspaces(t *testing.T) {
	t.Parallel()
	now := noon
	r := usage.NewRecorder(new(taker), func() time.Time { return now })
	held := 0
	for workspace := range int64(20_000) {
		r.Record(workspace, at(0, 200))
		r.Record(workspace, at(0, 404))
		held += len(r.Latest(workspace))
	}
	if held != 36_000 {
		t.Errorf("%d events are held, want 36,000", held)
	}
	now = noon.Add(2 * time.Hour)
	processtest.Must(t, r.Save(t.Context()))
	r.Record(19_999, at(2*time.Hour, 200))
	if got := len(r.Latest(19_999)); got != 1 {
		t.Errorf("after the others fell silent %d events are held, want 1", got)
	}
}

// TestConcurrent: nothing is lost between counting and saving.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	r := usage.NewRecorder(store, func() time.Time { return noon.Add(3 * time.Hour) })
	var work sync.WaitGroup
	for worker := range 4 {
		work.Go(func() {
			for i := range 2000 {
				r.Record(int64(i%5), at(time.Duration(worker)*time.Minute, 200))
				if i%200 == 0 {
					if err := r.Save(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	work.Wait()
	processtest.Must(t, r.Save(t.Context()))
	if got, want := totals(t, r, 4, usage.Hour), []int64{1600}; !slices.Equal(got, want) {
		t.Errorf("requests of a workspace = %v, want %v", got, want)
	}
}

// TestKeyDays: what a key did is counted by the day, on all nodes.
func TestKeyDays(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	one, two := usage.NewRecorder(store, func() time.Time { return noon }), usage.NewRecorder(store, func() time.Time { return noon })
	record := func(r *usage.Recorder, key string, on time.Time, status int, deprecated bool) {
		r.Record(7, usage.Event{At: on, Status: status, KeyID: key, Deprecated: deprecated})
	}
	record(one, "a", noon, 200, true)
	record(one, "a", noon, 429, false)
	record(two, "a", noon, 200, true)
	record(one, "a", noon.Add(24*time.Hour), 500, false)
	record(one, "b", noon, 404, false)
	two.Record(7, usage.Event{At: noon, Path: "/console/pets/new", Status: 303, Duration: time.Second, KeyID: "a", Console: true})
	for _, r := range []*usage.Recorder{one, two} {
		processtest.Must(t, r.Save(t.Context()))
	}
	days := func(key string, from time.Time) []usage.Row {
		t.Helper()
		return saved(t, two, usage.Query{Workspace: 7, Interval: usage.Day, Key: key, From: from, To: noon.Add(24 * time.Hour)})
	}
	if d := days("a", noon); len(d) != 2 || d[0].Total() != 3 || d[0].Requests[usage.Limited] != 1 || d[0].Deprecated != 2 || d[1].Requests[usage.ServerError] != 1 {
		t.Errorf("the days of a are %+v, want 3 requests, one of them refused and two deprecated, and a failure on the next day", d)
	}
	if d := days(usage.Forms, noon); len(d) != 1 || d[0].Total() != 1 {
		t.Errorf("the days of forms are %+v, want one form", d)
	}
	if d := days("", noon.Add(24*time.Hour)); len(d) != 1 {
		t.Errorf("from tomorrow on the days are %+v, want one", d)
	}
	if rows := saved(t, two, usage.Query{Workspace: 7, Interval: usage.Minute, From: noon, To: noon}); len(rows) != 1 || rows[0].Total() != 4 || rows[0].Quantile(1) >= time.Second {
		t.Errorf("the minute has %+v, want the 4 requests of the API alone", rows)
	}
	if latest := two.Latest(7); len(latest) == 0 || latest[0].Path != "/console/pets/new" {
		t.Errorf("Latest = %+v, want the form first", latest)
	}
}
