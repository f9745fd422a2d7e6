package petstore

import (
	"slices"
	"strconv"
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

// AppendJSON appends e in its canonical form, see [Pet.AppendJSON].
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
		l.update(CategoryUpdated, *c, e.was.category.changes(c))
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
		l.update(InventoryUpdated, p.Item(), e.was.pet.Item().changes(p.Item()))
		l.update(PetUpdated, p.Pet, e.was.pet.Pet.changes(&p.Pet))
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

func (l *eventList) add(what EventType, r canonical, previous []byte) {
	l.events = append(l.events, Event{
		Type: what, CreatedAt: l.at, RequestID: l.requestID, Data: r.AppendJSON(make([]byte, 0, 96)), Previous: previous,
	})
}

// update adds an event unless nothing has changed.
func (l *eventList) update(what EventType, r canonical, previous []byte) {
	if previous != nil {
		l.add(what, r, previous)
	}
}

func (l *eventList) order(was, now Order) {
	switch {
	case now.ID != was.ID:
		l.add(OrderCreated, now, nil)
	case now.Complete && !was.Complete:
		l.add(OrderCompleted, now, was.changes(now))
	default:
		l.update(OrderUpdated, now, was.changes(now))
	}
}

func (p Pet) changes(now *Pet) []byte {
	return difference(nil).text("name", p.Name, now.Name).number("categoryId", p.CategoryID, now.CategoryID).
		text("status", string(p.Status), string(now.Status)).end()
}

func (c Category) changes(now *Category) []byte {
	d := difference(nil).text("name", c.Name, now.Name)
	switch {
	case c.Description == nil && now.Description != nil:
		d = append(d.member("description"), "null"...)
	case c.Description != nil && (now.Description == nil || *now.Description != *c.Description):
		d = AppendString(d.member("description"), *c.Description)
	}
	return d.end()
}

func (o Order) changes(now Order) []byte {
	d := difference(nil)
	switch {
	case o.ShipDate == now.ShipDate:
	case o.ShipDate.Valid:
		d = AppendString(d.member("shipDate"), o.ShipDate.String())
	default:
		d = append(d.member("shipDate"), "null"...)
	}
	if o.Complete != now.Complete {
		d = strconv.AppendBool(d.member("complete"), o.Complete)
	}
	return d.end()
}

func (i InventoryItem) changes(now InventoryItem) []byte {
	return difference(nil).number("quantity", i.Quantity, now.Quantity).text("status", string(i.Status), string(now.Status)).end()
}

// A difference is the members that changed, as JSON, without its end.
type difference []byte

// member begins a member with its former value.
func (d difference) member(name string) difference {
	if d == nil {
		d = append(make(difference, 0, 64), '{')
	} else {
		d = append(d, ',')
	}
	return append(AppendString(d, name), ':')
}

func (d difference) text(name, was, now string) difference {
	if was == now {
		return d
	}
	return AppendString(d.member(name), was)
}

func (d difference) number(name string, was, now int64) difference {
	if was == now {
		return d
	}
	return strconv.AppendInt(d.member(name), was, 10)
}

// end returns the object, or nil if nothing has changed.
func (d difference) end() []byte {
	if d == nil {
		return nil
	}
	return append(d, '}')
}
