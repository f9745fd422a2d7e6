package sqlite

import (
	"cmp"
	"slices"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// A ladder finds what lies in a range of values: an index has the ids by steps, a
// step being a range of values, and in order within each. What is asked for is then
// in some steps, of which only the first and the last can have rows that are not;
// the steps are merged by id.
type ladder struct {
	table       string
	index       string   // by the workspace, a column of lanes, the step, and the id
	lanes       []filter // alternatives
	term        string   // what the index has as the step
	first, last int64    // the steps of the ends of the range
}

const (
	nearby   = 500    // ids that are looked at one by one before the steps are
	farther  = 20_000 // at most, if as many rows match as fill the page then: some 4 ms
	maxSteps = 4_096  // for each a search or two: some 12 ms
)

// climb returns the page of a list with a ladder. Where many rows match the page is
// full after few in the order of ids, so those come first: and as many more as the
// page needs if matches go on like that, twice over.
func (l *list[T]) climb(c *conn) ([]T, error) {
	near, far := l.split(nearby)
	page, err := near.run(c)
	if err != nil || len(page) == l.page.Limit {
		return page, err
	}
	far.page.Limit -= len(page)
	if len(page) > 0 {
		near, far = far.split(min(farther, 2*nearby*int64(far.page.Limit)/int64(len(page))))
		more, err := near.run(c)
		page = append(page, more...)
		if err != nil || len(page) == l.page.Limit {
			return page, err
		}
		far.page.Limit -= len(more)
	}
	steps, all, err := far.steps(c)
	if err != nil {
		return nil, err
	}
	if !all {
		far.ladder = nil
		more, err := far.run(c)
		return append(page, more...), err
	}
	ids, err := merge(c, steps, far.page.Limit)
	if err != nil {
		return nil, err
	}
	return far.append(c, page, ids)
}

// split returns what the next ids have, row by row, and what comes then.
func (l *list[T]) split(ids int64) (near, far list[T]) {
	near, far = *l, *l
	far.page.After = min(far.page.After, petstore.MaxID) + ids
	near.ladder, near.filters = nil, append(slices.Clip(l.filters), filter{upTo, far.page.After})
	return near, far
}

// append appends the rows with the ids.
func (l *list[T]) append(c *conn, page []T, ids []int64) ([]T, error) {
	query := l.from + " WHERE workspace=?1 AND id=?2"
	for _, id := range ids {
		row, err := find(c, query, l.workspace, id, l.scan)
		if err != nil {
			return nil, err
		}
		if row != nil {
			page = append(page, *row)
		}
	}
	return page, nil
}

// steps returns the steps of the range that have rows, or false if they are too
// many.
func (l *list[T]) steps(c *conn) (found []*step, all bool, err error) {
	for _, lane := range l.ladder.lanes {
		for at := l.ladder.first; at <= l.ladder.last; at++ {
			next, err := l.ladder.next(c, l.workspace, lane, at)
			if err != nil {
				return nil, false, err
			}
			if next == nil {
				break
			}
			if len(found) == maxSteps {
				return nil, false, nil
			}
			at = *next
			found = append(found, l.step(lane, at))
		}
	}
	return found, true, nil
}

// next returns the first step from one on that has rows, or nil.
func (r *ladder) next(c *conn, workspace int64, lane filter, from int64) (next *int64, err error) {
	_, err = c.one(r.search(lane), func(row *sqlite.Stmt) {
		at := row.ColumnInt64(0)
		next = &at
	}, workspace, lane.arg, from, r.last)
	return next, err
}

func (r *ladder) search(lane filter) string {
	return "SELECT " + r.term + " FROM " + r.table + " INDEXED BY " + r.index +
		" WHERE workspace=?" + lane.sql + " AND " + r.term + ">=? AND " + r.term + "<=? ORDER BY " + r.term + " LIMIT 1"
}

func (l *list[T]) step(lane filter, at int64) *step {
	s := &step{list: list[int64]{
		from: "SELECT id FROM " + l.ladder.table, index: l.ladder.index, workspace: l.workspace, page: l.page,
		filters: []filter{lane, {" AND " + l.ladder.term + "=?", at}}, scan: scanInt,
	}}
	if at == l.ladder.first || at == l.ladder.last {
		s.list.filters = append(s.list.filters, l.filters...)
	}
	return s
}

// A step gives the ids of one step in order.
type step struct {
	list list[int64]
	ids  []int64 // that are read and not taken
	more bool    // than were read
}

// read reads the next ids, at most limit.
func (s *step) read(c *conn, limit int) (err error) {
	s.list.page.Limit = limit
	if s.ids, err = s.list.run(c); err == nil && len(s.ids) > 0 {
		s.list.page.After = s.ids[len(s.ids)-1]
	}
	s.more = len(s.ids) == limit
	return err
}

// merge returns the first ids of all steps, up to a limit. It reads few of each
// step at a time: most have none that the page is left for.
func merge(c *conn, steps []*step, limit int) (ids []int64, err error) {
	few := limit/max(len(steps), 1) + 1
	for _, s := range steps {
		if err := s.read(c, few); err != nil {
			return nil, err
		}
	}
	steps = slices.DeleteFunc(steps, func(s *step) bool { return len(s.ids) == 0 })
	slices.SortFunc(steps, func(a, b *step) int { return cmp.Compare(a.ids[0], b.ids[0]) })
	for len(ids) < limit && len(steps) > 0 {
		first := steps[0]
		ids = append(ids, first.ids[0])
		if first.ids = first.ids[1:]; len(first.ids) == 0 && first.more {
			if err := first.read(c, min(limit, 4*few)); err != nil {
				return nil, err
			}
		}
		steps = rearranged(steps)
	}
	return ids, nil
}

// rearranged returns the steps in order again after an id of the first was taken.
func rearranged(steps []*step) []*step {
	first, others := steps[0], steps[1:]
	if len(first.ids) == 0 {
		return others
	}
	at, _ := slices.BinarySearchFunc(others, first.ids[0], func(s *step, id int64) int { return cmp.Compare(s.ids[0], id) })
	copy(steps, others[:at])
	steps[at] = first
	return steps
}
