package interchange_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
)

// everyPet has each pet that it is asked for, and keeps nothing.
type everyPet struct{ petstore.Bulk }

func (e everyPet) DryRun(_ context.Context, _ int64, f func(petstore.Bulk) error) error {
	return f(e)
}

func (everyPet) Categories(context.Context, int64, petstore.CategoryQuery) ([]petstore.Category, error) {
	return nil, nil
}

func (everyPet) Pets(_ context.Context, _ int64, q petstore.PetQuery) (pets []petstore.StockedPet, _ error) {
	for _, id := range q.IDs {
		pets = append(pets, petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "Rex", CategoryID: 1, Status: petstore.Available}, Quantity: 1})
	}
	return pets, nil
}

func (e everyPet) Load(ctx context.Context, workspace int64, b *petstore.Batch) (refused []petstore.Refusal, _ error) {
	for i, u := range b.Units {
		if u.Change != nil {
			pets, _ := e.Pets(ctx, workspace, petstore.PetQuery{IDs: []int64{u.Change.Needs.PetID}})
			if _, err := u.Change.Decide(petstore.Facts{Pet: &pets[0]}); err != nil {
				refused = append(refused, petstore.Refusal{Unit: i, Err: err})
			}
		}
	}
	return refused, nil
}

// liveHeap returns how many bytes of the heap the last collection found in use. What waits to be collected is not
// among them: that depends on how busy the machine is.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// heapPeak returns how much more of the heap f had in use at a time than there was before. Garbage is collected soon
// meanwhile, so no other test may run.
func heapPeak(f func()) (peak int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	before, stop, stopped := liveHeap(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(100 * time.Microsecond); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
				peak = max(peak, liveHeap()-before)
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return peak
}

const (
	size   = 1 << 18 // a quarter of what may be sent, for the race detector
	record = 1 << 17 // what a record may have
)

// rows returns a file of the size.
func rows(head string, row func(i int) string) string {
	var b strings.Builder
	b.Grow(size)
	b.WriteString(head + "\n")
	for i := 0; ; i++ {
		r := row(i)
		if b.Len()+len(r) > size {
			return b.String()
		}
		b.WriteString(r)
	}
}

// spelt returns a row whose category is one name in a spelling of its own.
func spelt(i int) string {
	name := []byte("abcdefghijklmnopqr")
	for bit := range name {
		if i>>bit&1 == 1 {
			name[bit] -= 'a' - 'A'
		}
	}
	return "a," + string(name) + "\n"
}

// largeFiles are files of the size, and what the trial says of each.
var largeFiles = []struct{ name, file, want string }{
	{"columns without number", "name,category" + strings.Repeat(",x", record/3), "the line has more than 1000 columns"},
	{"a thousand columns", "name,category" + strings.Repeat(",x", 900), `"x…; the columns are id, name, category, status, stock, add, version; --ignore-columns leaves others out`},
	{"commas alone", rows("name,category", func(int) string { return strings.Repeat(",", record-20) + "\n" }), "the line has more than 1000 columns"},
	{"commas after a quotation mark too many", rows("name,category", func(int) string { return "a\"" + strings.Repeat(",", record-20) + "\n" }), "a quotation mark within a cell"},
	{"a long name of a column", "name,category," + strings.Repeat("x", record-100), `there is no column "xxxxxx`},
	{"a long cell", "name,category,stock\na,b," + strings.Repeat("\x01", record-100), `stock: "\x01\x01`},
	{"CR alone", strings.ReplaceAll(rows("name,category", func(int) string { return "a,b\n" }), "\n", "\r"), ""},
	{"no end of a quotation", "name,category\na,\"" + strings.Repeat("b\n", size/2-20), "the record that begins here has more than 131072 bytes; is a quotation mark missing?"},
	{"short rows", rows("name,category", func(int) string { return "a,b\n" }), ""},
	{"faults alone", rows("name,category", func(int) string { return ",b\n" }), "name must have at least 1 character"},
	{"new categories", rows("name,category", func(i int) string { return fmt.Sprintf("a,%x\n", i) }), "more than 2500 categories"},
	{"spellings of one", rows("name,category", spelt), ""},
	{"ids", rows("id,stock", func(i int) string { return fmt.Sprintf("%d,5\n", i+1) }), ""},
}

// TestTryIsSmall: what the trial of a file takes is a small multiple of the file, and what it says of it is bounded,
// whatever stands in the file.
func TestTryIsSmall(t *testing.T) { //nolint:paralleltest // it measures the heap
	for _, test := range largeFiles {
		t.Run(test.name, func(t *testing.T) {
			said, longest := "", 0
			peak := heapPeak(func() {
				from, err := interchange.NewReader(strings.NewReader(test.file), interchange.CSV)
				if err == nil {
					i := interchange.Import{From: from, To: everyPet{}, Workspace: 1, Now: time.Now, MaxCategories: 2500, SkipFaults: true}
					var report interchange.Report
					report, err = i.DryRun(t.Context())
					for _, f := range report.Faults {
						said, longest = f.Reason, max(longest, len(f.Reason))
					}
				}
				if f, ok := errors.AsType[*interchange.Fault](err); ok {
					said, longest = f.Reason, max(longest, len(f.Reason))
				} else if err != nil {
					t.Error(err)
				}
			})
			t.Logf("at most %d KiB: %.250q", peak>>10, said)
			if !strings.Contains(said, test.want) || said != "" && test.want == "" {
				t.Errorf("Try says %.300q, want %q", said, test.want)
			}
			if longest > petstore.MaxText {
				t.Errorf("a reason has %d bytes, want %d at most", longest, petstore.MaxText)
			}
			if most := int64(12<<20 + 8*size); peak > most { // batches of rows, what grows with the file, and garbage that a busy machine collects late
				t.Errorf("Try takes %d KiB, want %d at most", peak>>10, most>>10)
			}
		})
	}
}
