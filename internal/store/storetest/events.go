package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"pgregory.net/rapid"
)

// eventTests compare the feeds of workspaces with the changes in them.
var eventTests = map[string]func(*testing.T, Open){
	"each change":     testEachChange,
	"no change":       testNoChange,
	"whole workspace": testWholeWorkspace,
	"many writers":    testManyWriters,
	"pages":           testEventPages,
	"large events":    testLargeEvents,
	"forgotten":       testForgotten,
	"not kept":        testNotKept,
	"reset":           testEventsOfReset,
	"import":          testEventsOfImport,
	"waiting":         testWritten,
}

// events returns the whole feed of the workspace.
func (s *tenant) events() []petstore.Event {
	s.Helper()
	return s.eventsAfter(petstore.EventQuery{Oldest: true, Limit: 50})
}

func (s *tenant) eventsAfter(q petstore.EventQuery) (all []petstore.Event) {
	s.Helper()
	for {
		page, err := s.Events(s.ctx, s.workspace, q)
		if err != nil {
			s.Fatalf("Events(%+v) = %v", q, err)
		}
		all = append(all, page.Events...)
		q.After, q.Oldest = page.Next, false
		if !page.More {
			return all
		}
	}
}

// since returns what f adds to the feed, one line for each event.
func (s *tenant) since(f func()) []string {
	s.Helper()
	before := s.events()
	f()
	var lines []string
	for _, e := range s.events()[len(before):] {
		line := fmt.Sprintf("%s %s", e.Type, e.Data)
		if e.Previous != nil {
			line += " " + string(e.Previous)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func (s *tenant) wantEvents(what string, f func(), want ...string) {
	s.Helper()
	if got := s.since(f); !slices.Equal(got, want) {
		s.Errorf("%s: events\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (s *tenant) must(_ any, err error) {
	s.Helper()
	must(s, err)
}

// testLargeEvents: pages of large events are short, and so is what one call looks at, but
// nothing is left out.
func testLargeEvents(t *testing.T, open Open) {
	s := newTenant(t, open)
	const many = 300
	text := strings.Repeat("𝄞", 1000) // 4 KB
	large := petstore.NewCategory{Description: &text}
	for i := range many {
		large.Name = fmt.Sprint("category ", i)
		s.must(s.CreateCategory(s.ctx, s.workspace, large, nil))
	}
	s.petIn(1, "Rex", petstore.Available)
	page, err := s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 100})
	if err != nil || !page.More || len(page.Events) < 10 || len(page.Events) > 40 {
		t.Errorf("a page of at most 100 has %d events of 4 KB, more %t (%v), want some 32 and more", len(page.Events), page.More, err)
	}
	for i, e := range s.eventsAfter(petstore.EventQuery{Limit: 100}) {
		if e.ID != int64(i+1) {
			t.Fatalf("the pages have the event %d at place %d", e.ID, i)
		}
	}
	rare := petstore.EventQuery{Limit: 100, Types: []petstore.EventType{petstore.PetCreated}}
	page, err = s.Events(s.ctx, s.workspace, rare) // what it looks at for others is not read
	if err != nil || len(page.Events) != 1 || page.Events[0].Type != petstore.PetCreated || len(page.Events[0].Data) == 0 {
		t.Errorf("behind %d events of 4 KB for others one call finds %v (%v), want one with its data", many, page.Events, err)
	}
}

func testEachChange(t *testing.T, open Open) {
	s := newTenant(t, open)
	on := petstore.Condition{}
	var dogs, pet, first, second int64
	s.wantEvents("create category", func() { dogs = s.category("dogs") }, `category.created {"id":1,"name":"dogs"}`)
	s.wantEvents("update category", func() {
		s.must(s.UpdateCategory(s.ctx, s.workspace, dogs, petstore.CategoryPatch{Description: petstore.Some("They bark.")}, on))
	}, `category.updated {"id":1,"name":"dogs","description":"They bark."} {"description":null}`)
	s.wantEvents("replace category", func() {
		s.must(s.ReplaceCategory(s.ctx, s.workspace, dogs, petstore.NewCategory{Name: "Dogs"}, on))
	}, `category.updated {"id":1,"name":"Dogs"} {"name":"dogs","description":"They bark."}`)
	s.wantEvents("create pet", func() { pet = s.petIn(dogs, "Rex", petstore.Available) },
		`pet.created {"id":1,"name":"Rex","categoryId":1,"status":"available"}`, `inventory.created {"petId":1,"quantity":1,"status":"available"}`)
	s.wantEvents("set stock", func() { s.stock(pet, 3) }, `inventory.updated {"petId":1,"quantity":3,"status":"available"} {"quantity":1}`)
	s.wantEvents("order", func() { first = s.order(pet, 1) },
		`order.created {"id":1,"petId":1,"quantity":1,"complete":false}`, `inventory.updated {"petId":1,"quantity":2,"status":"available"} {"quantity":3}`)
	s.wantEvents("order the last", func() { second = s.order(pet, 2) },
		`order.created {"id":2,"petId":1,"quantity":2,"complete":false}`,
		`inventory.updated {"petId":1,"quantity":0,"status":"pending"} {"quantity":2,"status":"available"}`,
		`pet.updated {"id":1,"name":"Rex","categoryId":1,"status":"pending"} {"status":"available"}`)
	s.wantEvents("set date", func() {
		at, _ := petstore.ParseTime("2026-05-01T00:00:00Z")
		s.must(s.UpdateOrder(s.ctx, s.workspace, second, petstore.OrderPatch{ShipDate: petstore.Some(at)}, on))
	}, `order.updated {"id":2,"petId":1,"quantity":2,"shipDate":"2026-05-01T00:00:00Z","complete":false} {"shipDate":null}`)
	s.wantEvents("complete", func() { s.must(0, s.complete(first)) },
		`order.completed {"id":1,"petId":1,"quantity":1,"shipDate":"2026-03-01T12:00:00Z","complete":true} {"shipDate":null,"complete":false}`)
	s.wantEvents("cancel", func() { s.must(0, s.cancel(second)) },
		`order.cancelled {"id":2,"petId":1,"quantity":2,"shipDate":"2026-05-01T00:00:00Z","complete":false}`,
		`inventory.updated {"petId":1,"quantity":2,"status":"available"} {"quantity":0,"status":"pending"}`,
		`pet.updated {"id":1,"name":"Rex","categoryId":1,"status":"available"} {"status":"pending"}`)
	s.wantEvents("rename", func() {
		s.must(s.UpdatePet(s.ctx, s.workspace, pet, petstore.PetPatch{Name: petstore.Some("Tom")}, on))
	}, `pet.updated {"id":1,"name":"Tom","categoryId":1,"status":"available"} {"name":"Rex"}`)
	s.wantEvents("delete pet", func() { s.must(0, s.DeletePet(s.ctx, s.workspace, pet, on)) },
		`inventory.deleted {"petId":1,"quantity":2,"status":"available"}`, `pet.deleted {"id":1,"name":"Tom","categoryId":1,"status":"available"}`)
	s.wantEvents("delete category", func() { s.must(0, s.DeleteCategory(s.ctx, s.workspace, dogs, on)) }, `category.deleted {"id":1,"name":"Dogs"}`)
	for i, e := range s.events() {
		if e.ID != int64(i)+1 || e.CreatedAt != petstore.At(start) {
			t.Errorf("event %d has the id %d, of %v, want %v", i, e.ID, e.CreatedAt, start)
		}
		if got, err := s.Event(s.ctx, s.workspace, e.ID); err != nil || string(got.AppendJSON(nil)) != string(e.AppendJSON(nil)) {
			t.Errorf("Event(%d) = %s, %v, want %s", e.ID, got.AppendJSON(nil), err, e.AppendJSON(nil))
		}
	}
	_, err := s.Event(s.ctx, s.workspace, 99)
	wantCode(t, "Event", err, petstore.CodeEventNotFound)
}

// testNoChange: what leaves a workspace as it is has no event; what a request causes
// names it.
func testNoChange(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(3)
	s.wantEvents("no change", func() {
		s.stock(pet, 3)
		s.must(0, s.mark(pet, petstore.Available))
		s.must(s.UpdateCategory(s.ctx, s.workspace, 1, petstore.CategoryPatch{Name: petstore.Some("pets")}, petstore.Condition{}))
		_, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 9}, nil)
		wantCode(t, "CreateOrder", err, petstore.CodeInsufficientStock)
	})
	again := func() {
		_, err := s.CreateCategory(petstore.OfRequest(s.ctx, "r-1"), s.workspace, petstore.NewCategory{Name: "cats"}, once("k", "a"))
		wantCode(t, "CreateCategory", err, "")
	}
	s.wantEvents("first", again, `category.created {"id":2,"name":"cats"}`)
	s.wantEvents("replay", again)
	if all := s.events(); all[len(all)-1].RequestID != "r-1" || all[0].RequestID != "" {
		t.Errorf("requests %q and %q, want none and r-1", all[0].RequestID, all[len(all)-1].RequestID)
	}
}

// A mirror is a workspace that knows nothing but events: resources by kind and id.
type mirror map[string]string

// apply does what an event says, and returns what is wrong with it.
func (m mirror) apply(e petstore.Event) error {
	kind, verb, _ := strings.Cut(string(e.Type), ".")
	var names struct{ ID, PetID int64 }
	if err := json.Unmarshal(e.Data, &names); err != nil {
		return err
	}
	key := fmt.Sprint(kind, " ", names.ID)
	if kind == "inventory" {
		key = fmt.Sprint(kind, " ", names.PetID)
	}
	was, there := m[key]
	if there == (verb == "created") {
		return fmt.Errorf("%s %s: it was there before: %t", e.Type, key, there)
	}
	switch verb {
	case "deleted", "cancelled":
		if was != string(e.Data) {
			return fmt.Errorf("%s %s of %s, was %s", e.Type, key, e.Data, was)
		}
		delete(m, key)
		return nil
	case "updated", "completed":
		if back := before(e); back != was {
			return fmt.Errorf("%s %s: %s with %s was %s, want %s", e.Type, key, e.Data, e.Previous, back, was)
		}
	}
	m[key] = string(e.Data)
	return nil
}

// before returns the data of an update with the members of before, in the order of was.
func before(e petstore.Event) string {
	var data, previous map[string]json.RawMessage
	_ = json.Unmarshal(e.Data, &data)         // what fails
	_ = json.Unmarshal(e.Previous, &previous) // is another workspace
	maps.Copy(data, previous)
	var out []string
	for _, name := range []string{"id", "petId", "name", "categoryId", "description", "quantity", "shipDate", "status", "complete"} {
		if value, there := data[name]; there && string(value) != "null" {
			out = append(out, fmt.Sprintf("%q:%s", name, value))
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

// wantMirror fails unless all events, from the first on, give the workspace.
func (s *tenant) wantMirror(t interface{ Errorf(string, ...any) }) {
	s.Helper()
	got := mirror{}
	for _, e := range s.events() {
		if err := got.apply(e); err != nil {
			t.Errorf("event %d: %v", e.ID, err)
		}
	}
	want := mirror{}
	k := s.dump()
	for _, u := range k.units {
		if c := u.Category; c != nil {
			want[fmt.Sprint("category ", c.ID)] = string(c.AppendJSON(nil))
		}
		if p := u.Pet; p != nil {
			want[fmt.Sprint("pet ", p.ID)] = string(p.Pet.AppendJSON(nil))
			want[fmt.Sprint("inventory ", p.ID)] = string(p.Item().AppendJSON(nil))
		}
		for _, o := range u.Orders {
			want[fmt.Sprint("order ", o.ID)] = string(o.AppendJSON(nil))
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("all events give\n%v\nwant the workspace\n%v", got, want)
	}
	if problems, err := s.CheckFeed(s.ctx, s.workspace); err != nil || len(problems) > 0 {
		t.Errorf("Check = %q, %v, want no problems", problems, err)
	}
}

// testWholeWorkspace: all events applied to an empty workspace give the workspace, whatever was done.
func testWholeWorkspace(t *testing.T, open Open) {
	s := newTenant(t, open)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		one := s.beside(fmt.Sprint("workspace ", n))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.IntRange(1, 25).Draw(t, "writes") {
			if err := one.anyWrite(random); err != nil && petstore.CodeOf(err) == "" {
				t.Fatal(err)
			}
		}
		one.wantMirror(t)
	})
}

// anyWrite is randomWrite, and what that leaves out.
func (s *tenant) anyWrite(random *rand.Rand) error {
	id, on := random.Int64N(4)+1, petstore.Condition{}
	switch random.IntN(12) {
	case 0, 1:
		_, err := s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "dogs"}, nil)
		return err
	case 2:
		_, err := s.ReplaceCategory(s.ctx, s.workspace, id, petstore.NewCategory{Name: "\"cats\"", Description: new(string)}, on)
		return err
	case 3:
		_, err := s.UpdatePet(s.ctx, s.workspace, id, petstore.PetPatch{
			Name: petstore.Some("Tom"), CategoryID: petstore.Some(random.Int64N(3) + 1), Status: petstore.Null[petstore.Status](),
		}, on)
		return err
	case 4:
		p := petstore.OrderPatch{ShipDate: petstore.Some(petstore.At(start))}
		if random.IntN(2) == 0 {
			p.ShipDate = petstore.Null[petstore.Time]()
		}
		_, err := s.UpdateOrder(s.ctx, s.workspace, id, p, on)
		return err
	}
	return s.randomWrite(random)
}

// testManyWriters: all writes at once, on few rows. A reader who goes on from the last id he
// saw misses nothing, and the feeds give their workspaces. Whether each order ended once, and
// what names a category or a pet has it, is checked with the ledger when the test ends.
func testManyWriters(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.beside("other")
	for range 4 {
		s.pet(20)
		other.pet(20)
	}
	var ended atomic.Bool
	read := make(chan []petstore.Event, 1)
	go func() {
		var seen []petstore.Event
		for q, last := (petstore.EventQuery{Limit: 7}), false; ; {
			done := ended.Load()
			page, err := s.Events(s.ctx, s.workspace, q)
			if err != nil {
				t.Error(err)
				break
			}
			seen = append(seen, page.Events...)
			if q.After = page.Next; last && !page.More {
				break
			}
			last = done
		}
		read <- seen
	}()
	errs := parallel(32, func(worker int) error {
		random := rand.New(rand.NewPCG(9, uint64(worker)))
		for range 25 {
			one := []*tenant{s, other}[random.IntN(2)]
			if err := one.anyWrite(random); err != nil && petstore.CodeOf(err) == "" {
				return err
			}
		}
		return nil
	})
	ended.Store(true)
	if got := codes(errs); got[""] != len(errs) {
		t.Errorf("outcomes = %v, want no failure but the rules'", got)
	}
	seen, all := <-read, s.events()
	if len(seen) != len(all) {
		t.Errorf("the reader saw %d events of %d", len(seen), len(all))
	}
	for i, e := range all {
		if i > 0 && e.ID <= all[i-1].ID || i < len(seen) && seen[i].ID != e.ID {
			t.Fatalf("event %d has the id %d", i, e.ID)
		}
	}
	s.wantMirror(t)
	other.wantMirror(t)
}

func testEventPages(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(1000)
	for range 30 {
		s.order(pet, 1)
	}
	all := s.events()
	if len(all) != 64 {
		t.Fatalf("%d events, want 64", len(all))
	}
	for _, limit := range []int{1, 7, 64, 100} {
		if got := s.eventsAfter(petstore.EventQuery{Limit: limit}); len(got) != len(all) {
			t.Errorf("with the limit %d there are %d events, want %d", limit, len(got), len(all))
		}
	}
	orders := s.eventsAfter(petstore.EventQuery{Limit: 7, After: 10, Types: []petstore.EventType{petstore.OrderCreated, petstore.PetDeleted}})
	if len(orders) != 27 || orders[0].Type != petstore.OrderCreated || orders[0].ID <= 10 {
		t.Errorf("%d orders after the id 10, from %+v on, want 27", len(orders), orders[0])
	}
	for _, limit := range []int{7, 64} {
		back := s.eventsAfter(petstore.EventQuery{Limit: limit, Newest: true})
		if slices.Reverse(back); !slices.EqualFunc(back, all, func(a, b petstore.Event) bool { return a.ID == b.ID }) {
			t.Errorf("with the limit %d, newest first, there are %d events, want the %d in the other order", limit, len(back), len(all))
		}
	}
	page, err := s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 5, After: 64})
	if err != nil || len(page.Events) != 0 || page.Next != 64 || page.Last != 64 || page.More {
		t.Errorf("Events at the end = %+v, %v, want none, and to go on after 64", page, err)
	}
	_, err = s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 5, After: 65})
	if wantCode(t, "Events beyond the end", err, petstore.CodeEventsExpired); err == nil || !strings.Contains(err.Error(), "the newest has the id 64") {
		t.Errorf("the error %v does not name the newest id 64", err)
	}
	page, err = s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 5, After: 20})
	if err != nil || page.Next != 25 || page.Last != 64 {
		t.Errorf("Events after 20 = %+v, %v, want the end at 64", page, err)
	}
	wantCode(t, "cancel", s.cancel(17), "") // the events 65 and 66
	s.order(s.pet(5), 5)                    // and seven more, the first of them of a category
	for _, test := range []struct {
		q    petstore.EventQuery
		want []int64
	}{
		{petstore.EventQuery{Order: 17}, []int64{65, 37}},
		{petstore.EventQuery{Order: 17, Types: []petstore.EventType{petstore.OrderCreated, petstore.PetCreated}}, []int64{37}},
		{petstore.EventQuery{Pet: pet, After: 7}, []int64{6, 5, 4, 3, 2}},
		{petstore.EventQuery{Pet: pet + 1, Types: []petstore.EventType{petstore.PetUpdated, petstore.OrderCreated}}, []int64{73, 71}},
		{petstore.EventQuery{Order: 1700}, nil},
	} {
		var got []int64
		test.q.Newest, test.q.Limit = true, 2
		for _, e := range s.eventsAfter(test.q) {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("the events of %+v are %v, want %v", test.q, got, test.want)
		}
	}
}

// testForgotten: old events are removed, the oldest first, and a reader that asks for
// them gets an error.
func testForgotten(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(5000)
	for range 300 {
		s.order(pet, 1)
	}
	before := len(s.events())
	s.clock.Advance(time.Hour)
	s.order(pet, 1)
	n, err := s.ForgetEvents(s.ctx, petstore.At(s.clock.Now().Add(-time.Minute)))
	if err != nil || n != int64(before) {
		t.Fatalf("ForgetEvents = %d, %v, want %d", n, err, before)
	}
	left := s.events()
	if len(left) != 2 || left[0].ID != int64(before)+1 {
		t.Errorf("%d events are left, from %d on, want 2 from %d on", len(left), left[0].ID, before+1)
	}
	_, err = s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 5, After: int64(before) - 1})
	wantCode(t, "Events after one that is gone", err, petstore.CodeEventsExpired)
	if want := fmt.Sprint("the oldest that is kept has the id ", before+1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error %v does not say: %s", err, want)
	}
	if got := s.eventsAfter(petstore.EventQuery{Limit: 5, After: int64(before)}); len(got) != 2 {
		t.Errorf("after the last that is gone there are %d events, want 2", len(got))
	}
	s.clock.Advance(time.Hour)
	if n, err := s.ForgetEvents(s.ctx, petstore.At(s.clock.Now())); n != 2 || err != nil {
		t.Errorf("ForgetEvents = %d, %v, want 2", n, err)
	}
	page, err := s.Events(s.ctx, s.workspace, petstore.EventQuery{Oldest: true, Limit: 5})
	if err != nil || len(page.Events) != 0 || page.Next != int64(before)+2 || page.Last != page.Next {
		t.Errorf("Events of an empty feed = %+v, %v, want to go on after %d", page, err, before+2)
	}
	s.order(pet, 1)
	if got := s.eventsAfter(petstore.EventQuery{Limit: 5, After: page.Next}); len(got) != 2 || got[0].ID != page.Next+1 {
		t.Errorf("events = %+v, want two behind the last that is gone", got)
	}
}

// testNotKept: while no events are kept, changes may happen that none tells of. Who goes
// on from before learns that.
func testNotKept(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(5)
	last := int64(len(s.events()))
	for _, end := range []func() error{
		func() error { return s.EndFeeds(s.ctx) },
		func() error { return s.EndFeeds(s.ctx) },
		func() error { return s.forgetAll(last) },
		func() error { return s.forgetAll(0) },
	} {
		must(t, end())
		_, err := s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 5, After: last})
		wantCode(t, "Events after the last one", err, petstore.CodeEventsExpired)
		_, err = s.Event(s.ctx, s.workspace, last)
		wantCode(t, "Event that is not kept", err, petstore.CodeEventNotFound)
		for _, q := range []petstore.EventQuery{{Oldest: true, Limit: 5}, {Newest: true, Limit: 5}} {
			if page, err := s.Events(s.ctx, s.workspace, q); err != nil || len(page.Events) > 0 {
				t.Errorf("Events of %+v = %+v, %v, want none", q, page, err)
			}
		}
	}
	page, err := s.Events(s.ctx, s.workspace, petstore.EventQuery{Oldest: true, Limit: 5})
	if err != nil || page.Last != last+1 {
		t.Errorf("Events = %+v, %v, want the end at %d, behind what none tells of", page, err, last+1)
	}
	s.order(pet, 1)
	if got := s.events(); len(got) != 2 || got[0].ID != last+2 {
		t.Errorf("events = %+v, want two from %d on", got, last+2)
	}
	// By a command that keeps events, or the last node that did: the feed ends once more.
	s.must(0, s.forgetAll(2))
	_, err = s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 5, After: last + 3})
	wantCode(t, "Events after those of a command", err, petstore.CodeEventsExpired)
}

// forgetAll removes all events, of which there must be n.
func (s *tenant) forgetAll(n int64) error {
	removed, err := s.ForgetEvents(s.ctx, petstore.Time{})
	if err == nil && removed != n {
		err = fmt.Errorf("ForgetEvents = %d, want %d", removed, n)
	}
	return err
}

func testEventsOfReset(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.pet(5)
	last := int64(len(s.events()))
	s.must(0, s.ResetWorkspace(s.ctx, s.workspace, "cli"))
	got := s.eventsAfter(petstore.EventQuery{Limit: 5, After: last})
	if len(got) != 1 || got[0].Type != petstore.WorkspaceReset || got[0].ID != last+1 || string(got[0].Data) != "{}" {
		t.Errorf("events after a reset = %+v, want %s with the id %d", got, petstore.WorkspaceReset, last+1)
	}
	_, err := s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 5})
	wantCode(t, "Events of before the reset", err, petstore.CodeEventsExpired)
	s.wantEvents("after the reset", func() { s.category("dogs") }, `category.created {"id":2,"name":"dogs"}`)
}

func testEventsOfImport(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.wantEvents("import", func() {
		s.load(&petstore.Batch{Units: newPets(3)})
		s.load(&petstore.Batch{Imported: &petstore.Imported{Categories: 1, Pets: 3}})
	}, `catalogue.imported {"categories":1,"pets":3,"orders":0}`)
}

// testWritten: who waits is woken by a commit, and by nobody else's.
func testWritten(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.beside("other")
	wake, sleep := s.Written(s.workspace), s.Written(other.workspace)
	s.category("dogs")
	select {
	case <-wake:
	case <-time.After(10 * time.Second):
		t.Error("nobody was woken")
	}
	select {
	case <-sleep:
		t.Error("the other workspace was woken")
	default:
	}
}
