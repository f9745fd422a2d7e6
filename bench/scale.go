package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A scaleRow is one operation, with what a caller may wait for it who is the only one.
type scaleRow struct {
	row
	most float64 // milliseconds
}

func (b *bench) measureScale(ctx context.Context) error {
	return b.scaleOn(ctx, "SQLite", b.file("scale.db"))
}

func (b *bench) measurePostgresScale(ctx context.Context) error {
	db, err := b.postgresDatabase(ctx)
	if err != nil {
		return err
	}
	return b.scaleOn(ctx, "PostgreSQL", db)
}

// scaleOn measures one caller alone in a database with many pets and their orders.
func (b *bench) scaleOn(ctx context.Context, engine, db string) error {
	orders := b.scalePets * ordersPerPet
	say("filling %d pets and %d orders", b.scalePets, orders)
	began := time.Now()
	d, err := b.newDataset(ctx, db, b.scalePets, true)
	if err != nil {
		return err
	}
	imported := float64(b.scalePets+orders) / time.Since(began).Seconds()
	on, err := b.newSide(ctx, engine, d)
	if err != nil {
		return err
	}
	s := section{
		title:   fmt.Sprintf("%d pets and %d orders on %s", b.scalePets, orders, engine),
		words:   "One caller, who is the only one; a write is on the disk when it is answered. \"petstore doctor\" finds nothing wrong at the end.",
		table:   table{"operation | p50 ms, slowest round | p99 ms | at most, ms"},
		notes:   []string{fmt.Sprintf("Imported by \"petstore import\": %.0f rows a second.", imported)},
		targets: []target{{"import on " + engine + ", rows a second", imported, 50_000, false}},
	}
	for _, r := range scaleRows() {
		if !b.rows.MatchString(r.name) {
			continue
		}
		say("%s", r.name)
		if err := measureSides(ctx, &r.row, []*side{on}, b.rounds, b.round/2); err != nil {
			return err
		}
		p50 := spreadOf(latencies(on.samples, .5)).most / 1000
		s.table.add("%s | %.2f | %.2f | %.0f", r.name, p50, spreadOf(latencies(on.samples, .99)).median/1000, r.most)
		s.targets = append(s.targets, target{fmt.Sprintf("%s on %s, alone, p50, ms", r.name, engine), p50, r.most, true})
	}
	if err := on.process.Stop(); err != nil {
		return err
	}
	if _, err := b.binary.Run(b.dir, "doctor", "--db", db); err != nil {
		return err
	}
	b.add(s)
	return nil
}

// scaleRows returns the operations. Filters that match nothing, and pets of which all are alike, are the worst there can be.
// Pages have from 1 to 100 rows, so that few answers of the first round are in the cache; the slowest round counts.
func scaleRows() []scaleRow {
	const filter, name, letter = 10, 5, 50
	anyOrder := func(w *workload, r *rand.Rand) int64 { return 1 + r.Int64N(int64(w.pets)*ordersPerPet) }
	return []scaleRow{
		read("getPet", filter, getPet),
		read("listPets", filter, listFirst),
		read("listPets, deep", filter, listDeep),
		read("listPets, status", filter, getSome("/pets?status=pending")),
		read("listPets, three statuses", filter, getSome("/pets?status=available&status=pending&status=sold")),
		read("listPets, category and status", filter, getSome("/pets?categoryId=4&status=pending")),
		read("listPets, category and a status that none has", filter, getSome("/pets?categoryId=5&status=sold")),
		read("listPets, a frequent name", name, searchSome("clara")),
		read("listPets, name of one", name, searchSome(rareName)),
		read("listPets, name of none, of ordinary parts", name, searchSome("hartwick brookford")),
		read("listPets, name of none", name, searchSome("xyzzy")),
		read("listPets, a frequent letter", letter, searchSome("e")),
		read("listPets, a rare letter", letter, searchSome("q")),
		read("listPets, a letter that none has", letter, searchSome("ж")),
		read("listCategories", filter, get("/categories")),
		read("getOrder", filter, getByID("/store/orders/", anyOrder)),
		read("listOrders", filter, getSome("/store/orders")),
		read("listOrders, pet", filter, getByID("/store/orders?petId=", (*workload).anyPet)),
		read("listOrders, complete", filter, getSome("/store/orders?complete=true")),
		read("listOrders, ship date", filter, getSome("/store/orders?shipDateFrom=2020-01-01T00:00:00Z")),
		read("listOrders, ship date of none", filter, getSome("/store/orders?shipDateFrom=2090-01-01T00:00:00Z")),
		read("getInventoryItem", filter, getByID("/inventory/", (*workload).anyPet)),
		read("listInventory", filter, getSome("/inventory")),
		read("listInventory, status", filter, getSome("/inventory?status=pending")),
		read("listInventory, quantity of none", filter, getSome("/inventory?maxQuantity=1")),
		write("createPet", 201, createPet),
		write("createOrder", 201, orderAny),
		write("updateInventory", 200, setStock),
		write("updatePet, status", 200, setStatus),
		write("updatePet, name", 200, rename),
	}
}

func read(name string, most float64, request newRequest) scaleRow {
	return scaleRow{row{name: name, callers: 1, want: 200, request: request}, most}
}

func write(name string, want int, request newRequest) scaleRow {
	return scaleRow{row{name: name, callers: 1, want: want, request: request}, 25}
}

// getSome asks for a page of some length.
func getSome(path string) newRequest {
	sign := "?"
	if strings.Contains(path, sign) {
		sign = "&"
	}
	return getByID(path+sign+"limit=", func(_ *workload, r *rand.Rand) int64 { return 1 + r.Int64N(100) })
}

// searchSome asks for some of the pets with a text in their names. Each letter is large or small by chance, which is
// the same search to the service, but hardly ever one of which the response is cached.
func searchSome(text string) newRequest {
	return func(dst []byte, w *workload, r *rand.Rand) []byte {
		letters := []rune(text)
		for i, letter := range letters {
			if r.IntN(2) == 0 {
				letters[i] = unicode.ToUpper(letter)
			}
		}
		return getSome("/pets?"+url.Values{"name": {string(letters)}}.Encode())(dst, w, r)
	}
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
