package petstore

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// An EventType says what happened, and to which kind of resource.
type EventType string

// The types of events. After the last two a mirror reads the lists again.
const (
	PetCreated        EventType = "pet.created"
	PetUpdated        EventType = "pet.updated"
	PetDeleted        EventType = "pet.deleted"
	CategoryCreated   EventType = "category.created"
	CategoryUpdated   EventType = "category.updated"
	CategoryDeleted   EventType = "category.deleted"
	OrderCreated      EventType = "order.created"
	OrderUpdated      EventType = "order.updated"
	OrderCompleted    EventType = "order.completed"
	OrderCancelled    EventType = "order.cancelled"
	InventoryCreated  EventType = "inventory.created"
	InventoryUpdated  EventType = "inventory.updated"
	InventoryDeleted  EventType = "inventory.deleted"
	CatalogueImported EventType = "catalogue.imported"
	WorkspaceReset    EventType = "workspace.reset"
)

// EventTypes lists every EventType, in the order of the description.
func EventTypes() []EventType {
	return []EventType{
		PetCreated, PetUpdated, PetDeleted, CategoryCreated, CategoryUpdated, CategoryDeleted,
		OrderCreated, OrderUpdated, OrderCompleted, OrderCancelled,
		InventoryCreated, InventoryUpdated, InventoryDeleted, CatalogueImported, WorkspaceReset,
	}
}

// Valid reports whether t is one of the values of EventType.
func (t EventType) Valid() bool { return slices.Contains(EventTypes(), t) }

// An Event is a change of one resource of a workspace, in the order of the commits.
// Data is the resource in its canonical form: after the change, or the last one of what
// is gone. Previous is a JSON object with the members that an update changed, and
// their values before, null for one that was absent; nil unless it is an update.
type Event struct {
	ID        int64 // ascending in a workspace, and never issued twice
	Type      EventType
	CreatedAt Time
	RequestID string // of the request that caused it; "" for a command
	Data      []byte
	Previous  []byte
}

// AppendJSON appends e in its canonical form, see [JSON].
func (e Event) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, e.ID, 10)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, e.Type...)
	dst = append(dst, `","createdAt":"`...)
	dst = append(e.CreatedAt.Append(dst), '"')
	if e.RequestID != "" {
		dst = append(dst, `,"requestId":`...)
		dst = AppendString(dst, e.RequestID)
	}
	dst = append(dst, `,"data":`...)
	dst = append(dst, e.Data...)
	if len(e.Previous) > 0 {
		dst = append(dst, `,"previous":`...)
		dst = append(dst, e.Previous...)
	}
	return append(dst, '}')
}

// Events returns an event for each resource whose canonical form the effects change, in
// the order in which a mirror can apply them, without ids. A store calls it after Link.
func (e *Effects) Events(at Time, requestID string) []Event {
	l := eventList{at: at, requestID: requestID}
	if c := e.SaveCategory; c != nil && c.ID != e.was.category.ID {
		l.add(CategoryCreated, *c, nil)
	} else if c != nil {
		l.update(CategoryUpdated, *c, changes(&e.was.category, c))
	}
	if e.SaveOrder != nil {
		l.order(e.was.order, *e.SaveOrder)
	}
	if e.DropOrder != 0 {
		l.add(OrderCancelled, e.was.order, nil)
	}
	if p := e.SavePet; p != nil && p.ID != e.was.pet.ID {
		l.add(PetCreated, p.Pet, nil)
		l.add(InventoryCreated, p.Item(), nil)
	} else if p != nil {
		was, now := e.was.pet.Item(), p.Item()
		l.update(InventoryUpdated, now, changes(&was, &now))
		l.update(PetUpdated, p.Pet, changes(&e.was.pet.Pet, &p.Pet))
	}
	if e.DropPet != 0 {
		l.add(InventoryDeleted, e.was.pet.Item(), nil)
		l.add(PetDeleted, e.was.pet.Pet, nil)
	}
	if e.DropCategory != 0 {
		l.add(CategoryDeleted, e.was.category, nil)
	}
	return l.events
}

// An eventList collects the events of one change.
type eventList struct {
	at        Time
	requestID string
	events    []Event
}

func (l *eventList) add(what EventType, r any, previous []byte) {
	l.events = append(l.events, Event{
		Type: what, CreatedAt: l.at, RequestID: l.requestID, Data: JSON(r), Previous: previous,
	})
}

// update adds an event unless nothing has changed.
func (l *eventList) update(what EventType, r any, previous []byte) {
	if previous != nil {
		l.add(what, r, previous)
	}
}

func (l *eventList) order(was, now Order) {
	switch {
	case now.ID != was.ID:
		l.add(OrderCreated, now, nil)
	case now.Complete && !was.Complete:
		l.add(OrderCompleted, now, changes(&was, &now))
	default:
		l.update(OrderUpdated, now, changes(&was, &now))
	}
}

// changes returns a JSON object with the members that differ between two values of a
// struct, as they were before; nil if there are none.
func changes[T any](was, now *T) (previous []byte) {
	before, after := reflect.ValueOf(was).Elem(), reflect.ValueOf(now).Elem()
	for i := range before.NumField() {
		if reflect.Indirect(before.Field(i)).Equal(reflect.Indirect(after.Field(i))) {
			continue
		}
		if previous == nil {
			previous = append(make([]byte, 0, 64), '{')
		} else {
			previous = append(previous, ',')
		}
		name, _, _ := strings.Cut(before.Type().Field(i).Tag.Get("json"), ",")
		previous = append(AppendString(previous, name), ':')
		if former := before.Field(i); former.CanInt() { // as of most changes
			previous = strconv.AppendInt(previous, former.Int(), 10)
		} else {
			previous = AppendJSON(previous, former.Interface())
		}
	}
	if previous != nil {
		previous = append(previous, '}')
	}
	return previous
}
