package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"
)

// smallPets is how many pets the smaller database has.
const smallPets = 10_000

// A scaleRow is one operation, and its cost at both sizes: the processor time of one
// among those of all callers, and what a caller waits for one that is alone.
type scaleRow struct {
	row
	byName               bool // a search: apart from the others
	small, big           float64
	smallAlone, bigAlone float64
	aloneRatio           spread // of the rounds' medians
}

// measureScale compares two databases of very different size.
func (b *bench) measureScale(ctx context.Context) error {
	say("filling %d pets and %d orders", b.scalePets, b.scalePets*ordersPerPet)
	var data []*dataset
	for _, pets := range []int{smallPets, b.scalePets} {
		d, err := b.newDataset(ctx, fmt.Sprint(pets, ".db"), pets, true)
		if err != nil {
			return err
		}
		data = append(data, d)
	}
	size, err := fileMiB(data[1].path)
	if err != nil {
		return err
	}
	s, err := b.compareSizes(ctx, data)
	if err != nil {
		return err
	}
	say("checking the large database with petstore doctor")
	if _, err := b.binary.Run(b.dir, "doctor", "--db", data[1].path); err != nil {
		return err
	}
	s.notes = append(s.notes, fmt.Sprintf("%d pets with %d orders: %.0f MiB; petstore doctor finds nothing wrong.", b.scalePets, b.scalePets*ordersPerPet, size))
	b.add(s)
	return nil
}

// compareSizes has both databases take turns in every row.
func (b *bench) compareSizes(ctx context.Context, data []*dataset) (section, error) {
	var sides []*side
	for _, d := range data {
		release, err := lockInPageCache(d.path)
		if err != nil {
			return section{}, err
		}
		b.atEnd(release)
		s, err := b.newSide(ctx, fmt.Sprint(d.pets, " pets"), d)
		if err != nil {
			return section{}, err
		}
		sides = append(sides, s)
	}
	rows := slices.DeleteFunc(scaleRows(), func(r scaleRow) bool { return !b.rows.MatchString(r.name) })
	for i := range rows {
		say("%s", rows[i].name)
		if err := b.compareRow(ctx, &rows[i], sides); err != nil {
			return section{}, err
		}
	}
	search, err := measureSearch(ctx, sides[1], b.rounds, b.round)
	return scaleSection(b.scalePets, rows, search), err
}

// compareRow measures a row, and then its operation alone.
func (b *bench) compareRow(ctx context.Context, r *scaleRow, sides []*side) error {
	if err := b.turnsOfSizes(ctx, &r.row, sides, b.round); err != nil {
		return err
	}
	r.small, r.big = perRequest(sides[0].samples), perRequest(sides[1].samples)
	if r.callers > 1 {
		alone := r.row
		alone.callers = 1
		if err := b.turnsOfSizes(ctx, &alone, sides, b.round/2); err != nil {
			return err
		}
	}
	small, big := latencies(sides[0].samples, .5), latencies(sides[1].samples, .5)
	r.smallAlone, r.bigAlone, r.aloneRatio = spreadOf(small).median, spreadOf(big).median, spreadOf(quotients(big, small))
	return nil
}

// turnsOfSizes has both sides take turns, and empties their logs.
func (b *bench) turnsOfSizes(ctx context.Context, r *row, sides []*side, long time.Duration) error {
	err := measureSides(ctx, r, sides, b.rounds, long)
	for _, s := range sides {
		err = errors.Join(err, os.Truncate(s.process.Log, 0))
	}
	return err
}

func scaleSection(pets int, all []scaleRow, search spread) section {
	small, big := fmt.Sprint(smallPets, " pets"), fmt.Sprint(pets, " pets")
	s := section{title: "Scale", words: `Both files were locked in the kernel's cache.

Reads have 32 callers, and writes 64, whose changes share pages and syncs: the processor time is that of one request among theirs.
Searches by name, and lists by ship date and quantity, have one. "Alone" is what one caller waits for who is the only one, a write until
it is on the disk; its ratio is the median of those of the rounds, which are half as long.`}
	s.table = table{fmt.Sprintf("operation | CPU µs, %s | CPU µs, %s | ratio | alone, p50 µs, %[1]s | alone, p50 µs, %[2]s | ratio alone", small, big)}
	for _, r := range all {
		ratio := r.big / max(r.small, .001)
		s.table.add("%s | %.1f | %.1f | %.2f | %.0f | %.0f | %s", r.name, r.small, r.big, ratio, r.smallAlone, r.bigAlone, r.aloneRatio.ranged("%.2f"))
		if r.byName { // of these the one for a full name has a bound
			continue
		}
		what := fmt.Sprintf("%s at %s, × at %d, ", r.name, big, smallPets)
		s.targets = append(s.targets, target{what + "by processor time", ratio, 3, true}, target{what + "alone", r.aloneRatio.median, 1.8, true})
	}
	s.targets = append(s.targets, searchTarget(pets, search, 12))
	return s
}

// scaleRows returns the operations that are compared. Some pets are more popular
// than others, as in the row of GET one; where all are alike, and in filters that
// match nothing, it is the worst there can be.
func scaleRows() []scaleRow {
	anyOrder := func(w *workload, r *rand.Rand) int64 { return 1 + r.Int64N(int64(w.pets)*ordersPerPet) }
	return []scaleRow{
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

func read(name string, request newRequest) scaleRow {
	return scaleRow{row: row{name: name, callers: readers, want: 200, request: request}}
}

func popularRead(name string, request newRequest) scaleRow {
	r := read(name, request)
	r.warm = time.Second // what is popular has been asked for before
	return r
}

// filter has one caller, since it may read much.
func filter(name, path string) scaleRow {
	return scaleRow{row: row{name: name, callers: 1, want: 200, request: get(path)}}
}

func nameSearch(name, text string) scaleRow {
	return scaleRow{row: row{name: name, callers: 1, want: 200, request: search(text)}, byName: true}
}

func write(name string, want int, request newRequest) scaleRow {
	return scaleRow{row: row{name: name, callers: 64, want: want, request: request}}
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
	return patch(dst, w, "/pets/", w.anyPet(r), fmt.Sprintf(`{"name":%q}`, petName(r.Int())))
}

func patch(dst []byte, w *workload, path string, id int64, body string) []byte {
	return send(dst, "PATCH", path+strconv.FormatInt(id, 10), w.key, []byte(body))
}
