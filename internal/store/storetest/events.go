package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// eventTests compare the feeds of workspaces with the changes in them.
var eventTests = map[string]func(*tenant){
	"each change": testEachChange, "no change": testNoChange, "pages": testEventPages, "large events": testLargeEvents,
	"forgotten": testForgotten, "not kept": testNotKept, "import": testEventsOfImport, "waiting": testWritten,
}

// events returns the whole feed of the workspace.
func (s *tenant) events() []petstore.Event {
	s.Helper()
	return s.eventsAfter(petstore.EventQuery{Oldest: true, Limit: 50})
}

func (s *tenant) eventsAfter(q petstore.EventQuery) (all []petstore.Event) {
	s.Helper()
	for {
		page := s.eventPage(q)
		all = append(all, page.Events...)
		q.After, q.Oldest = page.Next, false
		if !page.More {
			return all
		}
	}
}

func (s *tenant) eventPage(q petstore.EventQuery) petstore.EventPage {
	s.Helper()
	page, err := s.Events(s.ctx, s.workspace, q)
	if err != nil {
		s.Fatalf("Events(%+v) = %v", q, err)
	}
	return page
}

// wantIDs fails the test unless a query has these events.
func (s *tenant) wantIDs(q petstore.EventQuery, want ...int64) {
	s.Helper()
	var got []int64
	for _, e := range s.eventsAfter(q) {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		s.Errorf("the events of %+v are %v, want %v", q, got, want)
	}
}

// wantExpired fails the test unless who goes on after an event is told that there are no such events, and which there are.
func (s *tenant) wantExpired(after int64, says string) {
	s.Helper()
	err := errOf(s.Events(s.ctx, s.workspace, petstore.EventQuery{Limit: 5, After: after}))
	if petstore.CodeOf(err) != petstore.CodeEventsExpired || !strings.Contains(err.Error(), says) {
		s.Errorf("Events after %d = %v, want %s: %s", after, err, petstore.CodeEventsExpired, says)
	}
}

// upTo returns the numbers from one to the other.
func upTo(from, to int64) (all []int64) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// wantEvents compares what f adds to the feed, one line for each event.
func (s *tenant) wantEvents(what string, f func(), want ...string) {
	s.Helper()
	before := len(s.events())
	f()
	var got []string
	for _, e := range s.events()[before:] {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Type, e.Data, e.Previous)))
	}
	if !slices.Equal(got, want) {
		s.Errorf("%s: events\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// testLargeEvents: pages of large events are short, and so is what one call looks at, but
// nothing is left out.
func testLargeEvents(s *tenant) {
	const many = 300
	text := strings.Repeat("𝄞", 1000) // 4 KB
	large := petstore.NewCategory{Description: &text}
	for i := range many {
		large.Name = fmt.Sprint("category ", i)
		s.must(s.CreateCategory(s.ctx, s.workspace, large, nil))
	}
	s.petIn(1, "Rex", petstore.Available)
	page := s.eventPage(petstore.EventQuery{Limit: 100})
	if !page.More || len(page.Events) < 10 || len(page.Events) > 40 {
		s.Errorf("a page of at most 100 has %d events of 4 KB, more %t, want some 32 and more", len(page.Events), page.More)
	}
	s.wantIDs(petstore.EventQuery{Limit: 100}, upTo(1, many+2)...)
	page = s.eventPage(petstore.EventQuery{Limit: 100, Types: []petstore.EventType{petstore.PetCreated}}) // what it looks at for others is not read
	if len(page.Events) != 1 || page.Events[0].Type != petstore.PetCreated || len(page.Events[0].Data) == 0 {
		s.Errorf("behind %d events of 4 KB for others one call finds %v, want one with its data", many, page.Events)
	}
}

func testEachChange(s *tenant) {
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
	s.wantEvents("complete", func() { must(s, s.complete(first)) },
		`order.completed {"id":1,"petId":1,"quantity":1,"shipDate":"2026-03-01T12:00:00Z","complete":true} {"shipDate":null,"complete":false}`)
	s.wantEvents("cancel", func() { must(s, s.cancel(second)) },
		`order.cancelled {"id":2,"petId":1,"quantity":2,"shipDate":"2026-05-01T00:00:00Z","complete":false}`,
		`inventory.updated {"petId":1,"quantity":2,"status":"available"} {"quantity":0,"status":"pending"}`,
		`pet.updated {"id":1,"name":"Rex","categoryId":1,"status":"available"} {"status":"pending"}`)
	s.wantEvents("rename", func() {
		s.must(s.UpdatePet(s.ctx, s.workspace, pet, petstore.PetPatch{Name: petstore.Some("Tom")}, on))
	}, `pet.updated {"id":1,"name":"Tom","categoryId":1,"status":"available"} {"name":"Rex"}`)
	s.wantEvents("delete pet", func() { must(s, s.DeletePet(s.ctx, s.workspace, pet, on)) },
		`inventory.deleted {"petId":1,"quantity":2,"status":"available"}`, `pet.deleted {"id":1,"name":"Tom","categoryId":1,"status":"available"}`)
	s.wantEvents("delete category", func() { must(s, s.DeleteCategory(s.ctx, s.workspace, dogs, on)) }, `category.deleted {"id":1,"name":"Dogs"}`)
	for i, e := range s.events() {
		if e.ID != int64(i)+1 || e.CreatedAt != petstore.At(start) {
			s.Errorf("event %d has the id %d, of %v, want %v", i, e.ID, e.CreatedAt, start)
		}
		if got, err := s.Event(s.ctx, s.workspace, e.ID); err != nil || string(petstore.JSON(got)) != string(petstore.JSON(e)) {
			s.Errorf("Event(%d) = %s, %v, want %s", e.ID, petstore.JSON(got), err, petstore.JSON(e))
		}
	}
	s.wantCode("Event", errOf(s.Event(s.ctx, s.workspace, 99)), petstore.CodeEventNotFound)
}

// testNoChange: what leaves a workspace as it is has no event; what a request causes
// names it.
func testNoChange(s *tenant) {
	pet := s.pet(3)
	s.wantEvents("no change", func() {
		s.stock(pet, 3)
		must(s, s.mark(pet, petstore.Available))
		s.must(s.UpdateCategory(s.ctx, s.workspace, 1, petstore.CategoryPatch{Name: petstore.Some("pets")}, petstore.Condition{}))
		s.wantCode("CreateOrder", errOf(s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 9}, nil)), petstore.CodeInsufficientStock)
	})
	again := func() {
		s.must(s.CreateCategory(petstore.OfRequest(s.ctx, "r-1"), s.workspace, petstore.NewCategory{Name: "cats"}, once("k", "a")))
	}
	s.wantEvents("first", again, `category.created {"id":2,"name":"cats"}`)
	s.wantEvents("replay", again)
	if all := s.events(); all[len(all)-1].RequestID != "r-1" || all[0].RequestID != "" {
		s.Errorf("requests %q and %q, want none and r-1", all[0].RequestID, all[len(all)-1].RequestID)
	}
}

// A mirror is a workspace that knows nothing but events: resources by kind and id.
type mirror map[string]map[string]any

// members returns those of objects of JSON, a later one before an earlier one, and no nulls.
func members(objects ...[]byte) (all map[string]any) {
	for _, object := range objects {
		_ = json.Unmarshal(object, &all) // what fails is another workspace
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// apply does what an event says, and reports whether that can be.
func (m mirror) apply(e petstore.Event) bool {
	kind, verb, _ := strings.Cut(string(e.Type), ".")
	data := members(e.Data)
	id := data["id"]
	if kind == "inventory" {
		id = data["petId"]
	}
	key := fmt.Sprint(kind, " ", id)
	was, there := m[key]
	if m[key] = data; verb == "created" {
		return !there
	}
	if verb == "deleted" || verb == "cancelled" {
		delete(m, key)
		return reflect.DeepEqual(was, data)
	}
	return there && reflect.DeepEqual(was, members(e.Data, e.Previous))
}

// wantMirror fails unless all events, from the first on, give the workspace.
func (s *tenant) wantMirror() {
	s.Helper()
	got, want := mirror{}, mirror{}
	for _, e := range s.events() {
		if !got.apply(e) {
			s.Errorf("event %d does not follow from those before it: %s %s %s", e.ID, e.Type, e.Data, e.Previous)
		}
	}
	for _, u := range s.dump().units {
		if c := u.Category; c != nil {
			want[fmt.Sprint("category ", c.ID)] = members(petstore.JSON(c))
		}
		if p := u.Pet; p != nil {
			want[fmt.Sprint("pet ", p.ID)], want[fmt.Sprint("inventory ", p.ID)] = members(petstore.JSON(p.Pet)), members(petstore.JSON(p.Item()))
		}
		for _, o := range u.Orders {
			want[fmt.Sprint("order ", o.ID)] = members(petstore.JSON(o))
		}
	}
	if !reflect.DeepEqual(got, want) {
		s.Errorf("all events give\n%v\nwant the workspace\n%v", got, want)
	}
	if problems, err := s.CheckFeed(s.ctx, s.workspace); err != nil || len(problems) > 0 {
		s.Errorf("CheckFeed = %q, %v, want no problems", problems, err)
	}
}

func testEventPages(s *tenant) {
	pet := s.pet(1000)
	for range 30 {
		s.order(pet, 1)
	}
	all := upTo(1, 64)
	for _, limit := range []int{1, 7, 64, 100} {
		s.wantIDs(petstore.EventQuery{Limit: limit}, all...)
	}
	orders := s.eventsAfter(petstore.EventQuery{Limit: 7, After: 10, Types: []petstore.EventType{petstore.OrderCreated, petstore.PetDeleted}})
	if len(orders) != 27 || orders[0].Type != petstore.OrderCreated || orders[0].ID <= 10 {
		s.Errorf("%d orders after the id 10, from %+v on, want 27", len(orders), orders[0])
	}
	slices.Reverse(all)
	for _, limit := range []int{7, 64} {
		s.wantIDs(petstore.EventQuery{Limit: limit, Newest: true}, all...)
	}
	if page := s.eventPage(petstore.EventQuery{Limit: 5, After: 64}); len(page.Events) != 0 || page.Next != 64 || page.Last != 64 || page.More {
		s.Errorf("Events at the end = %+v, want none, and to go on after 64", page)
	}
	s.wantExpired(65, "the newest has the id 64")
	if page := s.eventPage(petstore.EventQuery{Limit: 5, After: 20}); page.Next != 25 || page.Last != 64 {
		s.Errorf("Events after 20 = %+v, want the end at 64", page)
	}
	must(s, s.cancel(17)) // the events 65 and 66
	s.order(s.pet(5), 5)  // and seven more, the first of them of a category
	s.wantIDs(petstore.EventQuery{Newest: true, Limit: 2, Order: 17}, 65, 37)
	s.wantIDs(petstore.EventQuery{Newest: true, Limit: 2, Order: 17, Types: []petstore.EventType{petstore.OrderCreated, petstore.PetCreated}}, 37)
	s.wantIDs(petstore.EventQuery{Newest: true, Limit: 2, Pet: pet, After: 7}, 6, 5, 4, 3, 2)
	s.wantIDs(petstore.EventQuery{Newest: true, Limit: 2, Pet: pet + 1, Types: []petstore.EventType{petstore.PetUpdated, petstore.OrderCreated}}, 73, 71)
	s.wantIDs(petstore.EventQuery{Newest: true, Limit: 2, Order: 1700})
}

// forget removes the events of before an instant, of which there must be n.
func (s *tenant) forget(before petstore.Time, n int64) {
	s.Helper()
	same(s, "ForgetEvents", n)(s.ForgetEvents(s.ctx, before))
}

// testForgotten: old events are removed, the oldest first, and a reader that asks for
// them gets an error.
func testForgotten(s *tenant) {
	pet := s.pet(5000)
	for range 300 {
		s.order(pet, 1)
	}
	before := int64(len(s.events()))
	s.clock.Advance(time.Hour)
	s.order(pet, 1)
	s.forget(petstore.At(s.clock.Now().Add(-time.Minute)), before)
	s.wantIDs(petstore.EventQuery{Oldest: true, Limit: 50}, before+1, before+2)
	s.wantExpired(before-1, fmt.Sprint("the oldest that is kept has the id ", before+1))
	s.wantIDs(petstore.EventQuery{Limit: 5, After: before}, before+1, before+2)
	s.clock.Advance(time.Hour)
	s.forget(petstore.At(s.clock.Now()), 2)
	if page := s.eventPage(petstore.EventQuery{Oldest: true, Limit: 5}); len(page.Events) != 0 || page.Next != before+2 || page.Last != page.Next {
		s.Errorf("Events of an empty feed = %+v, want to go on after %d", page, before+2)
	}
	s.order(pet, 1)
	s.wantIDs(petstore.EventQuery{Limit: 5, After: before + 2}, before+3, before+4)

	s.clock.Advance(time.Hour) // the clock of another node is ahead
	s.order(pet, 1)
	s.clock.Advance(-time.Hour)
	s.order(pet, 1)
	s.forget(petstore.At(s.clock.Now().Add(time.Minute)), 2)
	s.wantIDs(petstore.EventQuery{Oldest: true, Limit: 5}, before+5, before+6, before+7, before+8)
}

// testNotKept: while no events are kept, changes may happen that none tells of. Who goes
// on from before learns that.
func testNotKept(s *tenant) {
	pet := s.pet(5)
	last := int64(len(s.events()))
	for _, end := range []func(){
		func() { must(s, s.EndFeeds(s.ctx)) },
		func() { must(s, s.EndFeeds(s.ctx)) },
		func() { s.forget(petstore.Time{}, last) },
		func() { s.forget(petstore.Time{}, 0) },
	} {
		end()
		s.wantExpired(last, "")
		s.wantCode("Event that is not kept", errOf(s.Event(s.ctx, s.workspace, last)), petstore.CodeEventNotFound)
		s.wantIDs(petstore.EventQuery{Oldest: true, Limit: 5})
		s.wantIDs(petstore.EventQuery{Newest: true, Limit: 5})
	}
	if page := s.eventPage(petstore.EventQuery{Oldest: true, Limit: 5}); page.Last != last+1 {
		s.Errorf("Events = %+v, want the end at %d, behind what none tells of", page, last+1)
	}
	s.order(pet, 1)
	s.wantIDs(petstore.EventQuery{Oldest: true, Limit: 5}, last+2, last+3)
	// By a command that keeps events, or the last node that did: the feed ends once more.
	s.forget(petstore.Time{}, 2)
	s.wantExpired(last+3, "")
}

func testEventsOfImport(s *tenant) {
	s.wantEvents("import", func() {
		s.load(&petstore.Batch{Units: newPets(3)})
		s.load(&petstore.Batch{Imported: &petstore.Imported{Categories: 1, Pets: 3}})
	}, `catalogue.imported {"categories":1,"pets":3,"orders":0}`)
}

// testWritten: who waits is woken by a commit, and by nobody else's.
func testWritten(s *tenant) {
	other := s.beside("other")
	wake, sleep := s.Written(s.workspace), s.Written(other.workspace)
	s.category("dogs")
	select {
	case <-wake:
	case <-time.After(10 * time.Second):
		s.Error("nobody was woken")
	}
	select {
	case <-sleep:
		s.Error("the other workspace was woken")
	default:
	}
}
