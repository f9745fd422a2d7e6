package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"example.com/petstore/internal/petstore"
)

// The feed of a workspace has two columns of the table counters: events is the greatest id that
// was issued. Events with ids up to forgotten are no longer returned, though their rows may
// still exist. Where changes were made without events, forgotten is greater than events:
// then a reader who has read up to events gets events_expired. The next id is greater than
// both.

const (
	// eventsOf selects what scanEvent reads. $1 has the wanted types between commas, or is
	// '' for all. Other events come without their data, which costs most.
	eventsOf = `SELECT id, type, at, request, CASE WHEN ` + named + ` THEN data ELSE '' END, CASE WHEN ` + named + ` THEN previous ELSE '' END
		FROM events WHERE workspace = $2 AND `
	named        = "($1 = '' OR $1 LIKE '%,' || type || ',%')"
	forgotten    = "(SELECT forgotten FROM counters WHERE workspace = $2)"
	selectEvents = eventsOf + "id > (SELECT CASE WHEN forgotten > $3 THEN forgotten ELSE $3 END FROM counters WHERE workspace = $2) ORDER BY id LIMIT $4"
	selectNewest = eventsOf + "id > " + forgotten + " AND id < $3 ORDER BY id DESC LIMIT $4"
	selectEvent  = eventsOf + "id > " + forgotten + " AND id = $3"
)

func scanEvent(row Row, e *petstore.Event) error {
	e.CreatedAt.Valid = true
	return row.Scan(&e.ID, (*string)(&e.Type), &e.CreatedAt.Millis, &e.RequestID, &e.Data, &e.Previous)
}

// Events implements [petstore.Feed]. It reads eventsAtOnce events at most, so that a
// reader of a rare type makes many short calls.
func (s *Store) Events(ctx context.Context, workspace int64, q petstore.EventQuery) (petstore.EventPage, error) {
	events := readEvents
	if q.Order != 0 || q.Pet != 0 {
		events = readEventsOf
	}
	return read(ctx, s, func(tx Tx) (petstore.EventPage, error) { return events(tx, workspace, q) })
}

// rowsAtOnce is how many events one call of Events reads to find those of an order or a
// pet, for which there is no index.
const rowsAtOnce = 100_000

// selectEventsOf selects the newest events in a range of ids that are of an order or a pet.
const (
	newestEvent    = "SELECT id FROM events WHERE id < $1 AND workspace = $2 AND id > " + forgotten + " ORDER BY id DESC LIMIT 1"
	selectEventsOf = `SELECT id, type, at, request, data, previous FROM events WHERE ` + named + ` AND workspace = $2 AND id > ` + forgotten + ` AND id > $3 AND id <= $4
		AND (type LIKE $5 AND data LIKE $6 OR data LIKE $7) ORDER BY id DESC LIMIT $8`
)

// typeList returns types in the form in which statements compare them: each between commas.
func typeList(types []petstore.EventType) (list string) {
	for _, t := range types {
		list += "," + string(t) + ","
	}
	return list
}

// readEventsOf reads events of one order or pet.
func readEventsOf(tx Tx, workspace int64, q petstore.EventQuery) (page petstore.EventPage, err error) {
	top, err := number(tx, newestEvent, cmp.Or(q.After, math.MaxInt64), workspace)
	if err != nil {
		return page, err
	}
	kind, pet := "order.%", ""
	if q.Pet != 0 {
		kind, pet = "pet.%", fmt.Sprintf(`%%"petId":%d,%%`, q.Pet)
	}
	bottom := max(top-rowsAtOnce, 0)
	page.Events, err = RowsOf(tx, scanEvent, selectEventsOf, typeList(q.Types), workspace, bottom, top, kind, fmt.Sprintf(`{"id":%d,%%`, cmp.Or(q.Order, q.Pet)), pet, q.Limit)
	if err != nil {
		return page, err
	}
	page.Next = bottom + 1
	if n := len(page.Events); n > 0 && n == q.Limit {
		page.Next = page.Events[n-1].ID
	}
	page.More, err = exists(tx, newestEvent, page.Next, workspace)
	return page, err
}

const (
	// eventsAtOnce is how many events one call of Events looks at.
	eventsAtOnce = 2000

	// pageBytes is how many bytes the events of a page have before it ends early.
	pageBytes = 128 << 10
)

func readEvents(tx Tx, workspace int64, q petstore.EventQuery) (petstore.EventPage, error) {
	page, looked, statement := petstore.EventPage{Next: q.After}, q.Limit, selectEvents
	switch {
	case q.Newest:
		statement, page.Next = selectNewest, cmp.Or(q.After, math.MaxInt64)
	case q.Oldest:
		page.Next = 0
	}
	if len(q.Types) > 0 {
		looked = eventsAtOnce
	}
	seen, size := 0, 0
	for row, err := range tx.Query(statement, typeList(q.Types), workspace, page.Next, looked) {
		var e petstore.Event
		if err == nil {
			err = scanEvent(row, &e)
		}
		if err != nil {
			return petstore.EventPage{}, err
		}
		if len(q.Types) == 0 || slices.Contains(q.Types, e.Type) {
			page.Events = append(page.Events, e)
			size += len(e.Data) + len(e.Previous)
		}
		page.Next = e.ID
		seen++
		if page.More = seen == looked || len(page.Events) == q.Limit || size >= pageBytes; page.More {
			break
		}
	}
	if q.Newest { // a reader that goes back just comes to an end
		return page, nil
	}
	return page, checkKept(tx, workspace, q, &page) // after the events: none was forgotten before they were read
}

// checkKept returns events_expired if some of the events that the query asks for are no
// longer kept, or if its After is beyond the end of the feed.
func checkKept(tx Tx, workspace int64, q petstore.EventQuery, page *petstore.EventPage) error {
	f, err := feedOf(tx, workspace)
	page.Last = f.Last
	switch {
	case err != nil:
		return err
	case q.Oldest:
		page.Next = max(page.Next, f.Forgotten)
		return nil
	case q.After > f.Last:
		return petstore.EventsBeyond(q.After, f.Last)
	case q.After >= f.Forgotten:
		return nil
	}
	oldest, err := number(tx, "SELECT id FROM events WHERE workspace = $1 AND id > $2 ORDER BY id LIMIT 1", workspace, f.Forgotten)
	if err != nil {
		return err
	}
	return petstore.EventsExpired(q.After, cmp.Or(oldest, f.Forgotten+1))
}

// Event implements [petstore.Feed].
func (s *Store) Event(ctx context.Context, workspace, id int64) (petstore.Event, error) {
	return read(ctx, s, func(tx Tx) (petstore.Event, error) {
		return rowOf(tx, petstore.NoEvent(id), scanEvent, selectEvent, "", workspace, id)
	})
}

// selectOldFeeds selects the feeds whose oldest event is older than an instant.
const selectOldFeeds = `SELECT f.workspace FROM counters f
	WHERE (SELECT e.at FROM events e WHERE e.workspace = f.workspace ORDER BY e.id LIMIT 1) < $1`

// EndFeeds implements [petstore.Feed]. It writes nothing if all feeds have ended.
func (s *Store) EndFeeds(ctx context.Context) error {
	feeds, err := s.numbers(ctx, "SELECT workspace FROM counters WHERE forgotten <= events LIMIT 1")
	if err != nil || len(feeds) == 0 {
		return err
	}
	return s.db.Change(ctx, func(tx Tx) error {
		var b Batch
		lockAll(&b, &s.dialect)
		b.Exec("UPDATE counters SET forgotten = events + 1 WHERE forgotten <= events")
		return tx.Run(&b)
	})
}

// ForgetEvents implements [petstore.Feed].
func (s *Store) ForgetEvents(ctx context.Context, before petstore.Time) (removed int64, err error) {
	if !before.Valid {
		if err := s.EndFeeds(ctx); err != nil {
			return 0, err
		}
		before.Millis = math.MaxInt64
	}
	feeds, err := s.numbers(ctx, selectOldFeeds, before.Millis)
	for _, workspace := range feeds {
		for n := int64(stepRows); n == stepRows && err == nil; removed += n {
			err = s.db.WriteBulk(ctx, 0, func(tx Tx) (err error) {
				n, err = forgetEvents(tx, &s.dialect, workspace, before.Millis)
				return err
			})
		}
	}
	return removed, err
}

// selectOldest selects the last of the oldest events of a workspace before the first that is not
// older than an instant.
const selectOldest = `SELECT coalesce(min(CASE WHEN at >= $1 THEN id END) - 1, max(id), 0)
	FROM (SELECT id, at FROM events WHERE workspace = $2 ORDER BY id LIMIT $3) AS oldest`

// forgetEvents removes some events of one workspace, in one transaction, unless its shop has ended.
func forgetEvents(tx Tx, d *Dialect, workspace, before int64) (n int64, err error) {
	if there, err := exists(tx, "SELECT 1 FROM counters WHERE workspace = $1"+d.Lock, workspace); err != nil || !there {
		return 0, err
	}
	through, err := number(tx, selectOldest, before, workspace, stepRows)
	if err != nil {
		return 0, err
	}
	if n, err = tx.Exec("DELETE FROM events WHERE workspace = $1 AND id <= $2", workspace, through); err != nil || n == 0 {
		return 0, err
	}
	return n, exec(tx, "UPDATE counters SET forgotten = $1 WHERE workspace = $2 AND forgotten < $1", through, workspace)
}

// numbers returns what a query of one column selects.
func (s *Store) numbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	return readRows(ctx, s, func(row Row, n *int64) error { return row.Scan(n) }, query, args...)
}
