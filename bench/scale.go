package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// smallPets is how many pets the smaller database has.
const smallPets = 10_000

// A scale compares a large database with a small one.
type scale struct {
	Date        string     `json:"date"`
	Pets        [2]int     `json:"pets"`
	FileMiB     float64    `json:"fileMiB"`
	FillSeconds float64    `json:"fillSeconds"`
	Start       spread     `json:"startMillis"`
	Idle        float64    `json:"idleMiB"`
	Loaded      float64    `json:"loadedMiB"`
	Search      spread     `json:"searchMillis"`    // for the full name of one pet, alone
	Loose       bool       `json:"loose,omitempty"` // the kernel may have given away parts of the files meanwhile
	Rows        []scaleRow `json:"rows"`
}

// A scaleRow is one operation's cost at both sizes: the processor time of one
// among those of all callers, and what a caller waits for one that is alone.
type scaleRow struct {
	Name   string  `json:"name"`
	Search bool    `json:"search,omitempty"` // by name
	Small  float64 `json:"smallCPUMicros"`
	Big    float64 `json:"bigCPUMicros"`
	Ratio  float64 `json:"ratio"`
	P99    float64 `json:"bigP99Micros"`
	Rate   spread  `json:"bigRateOfSmall"`

	SmallAlone float64 `json:"smallAloneP50Micros"`
	BigAlone   float64 `json:"bigAloneP50Micros"`
	AloneRatio spread  `json:"aloneRatio"` // of the rounds' medians
}

// measureScale makes both databases, measures, prints, and puts the comparison into the saved results.
func measureScale(ctx context.Context, settings *settings) (err error) {
	b, err := newBench(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end()) }()
	s := &scale{Date: time.Now().UTC().Format(time.DateOnly), Pets: [2]int{smallPets, b.scalePets}}
	if err := b.compareSizes(ctx, s); err != nil {
		return err
	}
	part := results{Scale: s}
	part.print(os.Stdout)
	if b.short || b.rows.String() != "" {
		return nil
	}
	all, err := loadResults(".")
	if err != nil {
		all = &results{} // nothing else was measured yet
	}
	all.Scale = s
	return all.save(".")
}

func (b *bench) compareSizes(ctx context.Context, s *scale) error {
	small, err := b.newDataset(ctx, "small.db", s.Pets[0], true)
	if err != nil {
		return err
	}
	say("filling %d pets and %d orders", s.Pets[1], s.Pets[1]*ordersPerPet)
	began := time.Now()
	big, err := b.newDataset(ctx, "big.db", s.Pets[1], true)
	if err != nil {
		return err
	}
	s.FillSeconds = time.Since(began).Seconds()
	if s.FileMiB, err = fileMiB(big.path); err != nil {
		return err
	}
	if s.Start, s.Idle, err = b.measureStarts(ctx, big, b.rounds); err != nil {
		return err
	}
	if err := b.compareRows(ctx, s, small, big); err != nil {
		return err
	}
	say("checking the large database with petstore doctor")
	_, err = b.petstore(ctx, nil, "doctor", "--db", big.path)
	return err
}

// compareRows has both databases take turns in every row.
func (b *bench) compareRows(ctx context.Context, s *scale, datasets ...*dataset) (err error) {
	var sides []*side
	for _, d := range datasets {
		release, held, failed := lockInPageCache(d.path)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, release()) }()
		s.Loose = s.Loose || !held
		p, _, failed := b.startServer(ctx, d.path, false)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, p.stop()) }()
		w, failed := newWorkload(ctx, p, d)
		if failed != nil {
			return failed
		}
		if err := p.settle(ctx); err != nil {
			return err
		}
		sides = append(sides, &side{name: fmt.Sprintf("%d pets", d.pets), process: p, workload: w})
	}
	if s.Search, err = measureSearch(ctx, sides[1], b.rounds, b.round); err != nil {
		return err
	}
	for _, r := range scaleRows() {
		if !b.rows.MatchString(r.name) {
			continue
		}
		say("%s", r.name)
		row, err := b.compareRow(ctx, &r.row, sides)
		if err != nil {
			return err
		}
		row.Search = r.search
		s.Rows = append(s.Rows, *row)
	}
	_, most, err := sides[1].process.memory()
	s.Loaded = mib(most)
	return err
}

// compareRow measures a row, and then its operation alone.
func (b *bench) compareRow(ctx context.Context, r *row, sides []*side) (*scaleRow, error) {
	if err := b.turnsOfSizes(ctx, r, sides, b.round); err != nil {
		return nil, err
	}
	small, big := sides[0].samples, sides[1].samples
	row := &scaleRow{Name: r.name, Small: perRequest(small), Big: perRequest(big)}
	row.Ratio = row.Big / max(row.Small, .001)
	row.P99 = spreadOf(each(big, func(s *sample) float64 { return micros(s.quantile(.99)) })).Median
	row.Rate = spreadOf(ratios(big, small))
	if r.callers > 1 {
		alone := *r
		alone.callers = 1
		if err := b.turnsOfSizes(ctx, &alone, sides, b.round/2); err != nil {
			return nil, err
		}
	}
	medians := func(s *side) []float64 {
		return each(s.samples, func(s *sample) float64 { return micros(s.quantile(.5)) })
	}
	row.SmallAlone, row.BigAlone = spreadOf(medians(sides[0])).Median, spreadOf(medians(sides[1])).Median
	row.AloneRatio = spreadOf(quotients(medians(sides[1]), medians(sides[0])))
	return row, nil
}

// turnsOfSizes has both sides take turns, and empties their logs.
func (b *bench) turnsOfSizes(ctx context.Context, r *row, sides []*side, long time.Duration) error {
	if err := measureSides(ctx, r, sides, b.rounds, long); err != nil {
		return err
	}
	for _, s := range sides {
		if err := s.process.log.Truncate(0); err != nil {
			return err
		}
	}
	return nil
}

// A sizedRow is a row that is compared.
type sizedRow struct {
	row
	search bool // by name: apart from the others
}

// scaleRows returns the operations that are compared. Some pets are more popular
// than others, as in the row of GET one; where all are alike, and in filters that
// match nothing, it is the worst there can be.
func scaleRows() []sizedRow {
	anyOrder := func(w *workload, r *rand.Rand) int64 { return 1 + r.Int64N(int64(w.pets)*ordersPerPet) }
	return []sizedRow{
		popularRead("getPet", getPopular),
		read("getPet, all alike", getPet),
		read("listPets", listFirst),
		read("listPets, deep", listDeep),
		read("listPets, status", get("/pets?status=pending")),
		read("listPets, three statuses", get("/pets?status=available&status=pending&status=sold")),
		read("listPets, category and status", get("/pets?categoryId=4&status=pending")),
		read("listPets, category and a status that none has", get("/pets?categoryId=5&status=sold")),
		nameSearch("listPets, a frequent name", "clara"),
		nameSearch("listPets, name of one", rareName),
		nameSearch("listPets, name of none, of ordinary parts", "hartwick brookford"),
		nameSearch("listPets, name of none", "xyzzy"),
		read("listCategories", get("/categories")),
		read("getOrder", getByID("/store/orders/", anyOrder)),
		read("listOrders", get("/store/orders")),
		read("listOrders, pet", getByID("/store/orders?petId=", (*workload).anyPet)),
		read("listOrders, complete", get("/store/orders?complete=true")),
		filter("listOrders, ship date", "/store/orders?shipDateFrom=2020-01-01T00:00:00Z"),
		filter("listOrders, ship date of none", "/store/orders?shipDateFrom=2090-01-01T00:00:00Z"),
		popularRead("getInventoryItem", getByID("/inventory/", (*workload).popularPet)),
		read("getInventoryItem, all alike", getByID("/inventory/", (*workload).anyPet)),
		read("listInventory", get("/inventory")),
		read("listInventory, status", get("/inventory?status=pending")),
		filter("listInventory, quantity of none", "/inventory?maxQuantity=1"),
		write("createPet", 201, createPet),
		write("createOrder", 201, orderPopular),
		write("createOrder, all alike", 201, orderAny),
		write("updateInventory", 200, setStock),
		write("updatePet, status", 200, setStatus),
		write("updatePet, name", 200, rename),
	}
}

func read(name string, request newRequest) sizedRow {
	return sizedRow{row: row{name: name, callers: readers, want: 200, request: request}}
}

func popularRead(name string, request newRequest) sizedRow {
	r := read(name, request)
	r.warm = time.Second // what is popular has been asked for before
	return r
}

// filter has one caller, since it may read much.
func filter(name, path string) sizedRow {
	return sizedRow{row: row{name: name, callers: 1, want: 200, request: get(path)}}
}

func nameSearch(name, text string) sizedRow {
	return sizedRow{row{name: name, callers: 1, want: 200, request: search(text)}, true}
}

func write(name string, want int, request newRequest) sizedRow {
	return sizedRow{row: row{name: name, callers: 64, want: want, request: request}}
}

func getByID(path string, id func(*workload, *rand.Rand) int64) newRequest {
	return func(dst []byte, w *workload, r *rand.Rand) []byte {
		return head(strconv.AppendInt(append(append(dst, "GET "...), path...), id(w, r), 10), w.key)
	}
}

func setStock(dst []byte, w *workload, r *rand.Rand) []byte {
	return patch(dst, w, "/inventory/", w.anyPet(r), fmt.Sprintf(`{"quantity":%d}`, 900_000_000+r.IntN(1000)))
}

// setStatus makes a pet that nobody orders here pending, or available again.
func setStatus(dst []byte, w *workload, r *rand.Rand) []byte {
	id := firstOfTen(w.anyPet(r)) + 1
	status := "pending"
	if w.pending[id] {
		status = "available"
	}
	w.pending[id] = !w.pending[id]
	return patch(dst, w, "/pets/", id, `{"status":"`+status+`"}`)
}

// rename gives a pet another ordinary name.
func rename(dst []byte, w *workload, r *rand.Rand) []byte {
	return patch(dst, w, "/pets/", w.anyPet(r), fmt.Sprintf(`{"name":%q}`, w.names.name(r.Int())))
}

func patch(dst []byte, w *workload, path string, id int64, body string) []byte {
	return send(dst, "PATCH", path+strconv.FormatInt(id, 10), w.key, []byte(body))
}
