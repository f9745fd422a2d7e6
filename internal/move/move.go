// Package move carries a whole database from SQLite to PostgreSQL: every table,
// with ids, keys, ledger and counters. It knows tables, columns and keys, not
// what they mean: those that later versions add move without a word about them
// here.
package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.com/petstore/internal/postgres"
	"example.com/petstore/internal/sqlite"
)

// A Move is one run, which may go on from where an earlier one was ended.
type Move struct {
	From *sqlite.Source
	To   *postgres.Target

	// StartOver empties a target that holds a part of a move, whichever, before
	// it begins.
	StartOver bool

	// OnProgress, if set, learns which step is at work, and how many rows of all
	// it has done. It may be called concurrently.
	OnProgress func(step string, done, all int64)

	atOnce int // rows in one transaction; maxRows if 0
}

// The steps that OnProgress learns.
const (
	Copying   = "copying"
	Verifying = "verifying"
)

// A Result says what was moved.
type Result struct {
	Tables  []Moved
	Rows    int64
	Resumed bool // an earlier run had begun it
}

// A Moved is a table with the same rows on both sides.
type Moved struct {
	Table    string
	Rows     int64
	Checksum string // of all rows, whatever their order
}

// leftBehind are the columns of SQLite's tables, and the tables without names of
// columns, that are for the file's own use: they say where rows are.
func leftBehind() map[string][]string {
	return map[string][]string{
		"receipts":      {"number"},
		"movements":     {"entry", "before"},
		"pets":          {"last_entry", "level", "recent"},
		"counters":      {"entries"},
		"departed":      nil,
		"name_segments": nil,
		"name_grams":    nil,
		"pet_orders":    nil,
	}
}

// ownTables are the tables whose rows are written when a move begins.
func ownTables() []string { return []string{"access_state", "meta"} }

// Run moves everything, compares both sides, and only then gives the target
// free. A target that holds anything else is refused. After an error, or the end
// of ctx, or of the process, another run goes on behind the last batch that was
// kept.
func (m *Move) Run(ctx context.Context) (Result, error) {
	r := &run{Move: m}
	if err := r.plan(ctx); err != nil {
		return Result{}, err
	}
	if err := r.begin(ctx); err != nil {
		return Result{}, err
	}
	for i := range r.tables {
		if err := r.copy(ctx, &r.tables[i]); err != nil {
			return Result{}, err
		}
	}
	result := Result{Resumed: r.resumed}
	for i := range r.tables {
		moved, err := r.verify(ctx, &r.tables[i])
		if err != nil {
			return Result{}, err
		}
		result.Tables = append(result.Tables, moved)
		result.Rows += moved.Rows
	}
	return result, r.finish(ctx)
}

// A run is a Move under way.
type run struct {
	*Move
	tables  []table
	all     int64 // rows of all tables
	state   state
	resumed bool

	done, verified int64 // rows
}

// A table is one that is moved.
type table struct {
	postgres.Table
	columns []string
	key     []string // of the source: the rows come in its order
	rows    int64
}

// plan finds out what there is to move. A table or a column that the target
// lacks would be lost, and is an error.
func (r *run) plan(ctx context.Context) error {
	have, err := r.From.Tables()
	if err != nil {
		return err
	}
	targets, err := r.To.Tables(ctx)
	if err != nil {
		return err
	}
	for _, own := range ownTables() {
		delete(have, own)
	}
	for _, t := range targets {
		columns, there := have[t.Name]
		if !there {
			continue // the target's own
		}
		delete(have, t.Name)
		if err := sameColumns(t, columns); err != nil {
			return err
		}
		key, err := r.From.Key(t.Name)
		if err != nil {
			return err
		}
		n, err := r.From.Count(t.Name)
		if err != nil {
			return err
		}
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			names[i] = c.Name
		}
		r.tables = append(r.tables, table{t, names, key, n})
		r.all += n
	}
	for name := range have {
		if columns, there := leftBehind()[name]; !there || columns != nil {
			return fmt.Errorf("the target has no table %s", name)
		}
	}
	return nil
}

func sameColumns(t postgres.Table, have []string) error {
	for _, name := range have {
		if !slices.Contains(leftBehind()[t.Name], name) && !slices.ContainsFunc(t.Columns, func(c postgres.Column) bool { return c.Name == name }) {
			return fmt.Errorf("the target's table %s has no column %s", t.Name, name)
		}
	}
	for _, c := range t.Columns {
		if !slices.Contains(have, c.Name) {
			return fmt.Errorf("the source's table %s has no column %s", t.Name, c.Name)
		}
	}
	if len(t.Key) == 0 {
		return fmt.Errorf("the target's table %s has no key", t.Name)
	}
	return nil
}

// begin goes on with the move that the target holds a part of, or begins one.
func (r *run) begin(ctx context.Context) error {
	start, source, err := r.start()
	if err != nil {
		return err
	}
	kept, err := r.To.State(ctx)
	if err != nil {
		return err
	}
	if kept != nil && !r.StartOver {
		if err := json.Unmarshal(kept, &r.state); err != nil || r.state.Source != source {
			return errors.New("the target holds a part of what was moved from another database; --start-over empties it first")
		}
		r.resumed = true
		for _, t := range r.state.Tables {
			r.done += t.Rows
		}
		return nil
	}
	targets := make([]postgres.Table, len(r.tables))
	for i := range r.tables {
		targets[i] = r.tables[i].Table
	}
	if kept == nil {
		name, err := r.To.Occupied(ctx, targets)
		if err != nil {
			return err
		}
		if name != "" {
			return fmt.Errorf("the target holds other data (in the table %s): move into a database that petstore has none in", name)
		}
	}
	r.state = state{Source: source, Tables: map[string]*place{}}
	if start.State, err = json.Marshal(r.state); err != nil {
		return err
	}
	return r.To.Begin(ctx, targets, start)
}

// start returns what a move begins with, and a name of the source that no other
// has.
func (r *run) start() (s postgres.Start, source string, err error) {
	s.Meta = map[string][]byte{}
	err = r.From.Rows("meta", []string{"name", "value"}, nil, nil, func(row []any) bool {
		s.Meta[row[0].(string)] = row[1].([]byte) //nolint:forcetypeassert // the columns' types are strict
		return true
	})
	if err == nil {
		err = r.From.Rows("access_state", []string{"state", "floor"}, nil, nil, func(row []any) bool {
			s.Access, s.From = row[0].(int64), row[1].(int64) //nolint:forcetypeassert // as above
			return true
		})
	}
	if err == nil && len(s.Meta["secret"]) == 0 {
		err = errors.New("the source has no secret: it was never opened by petstore serve")
	}
	return s, fingerprint(s.Meta["secret"]), err
}

// finish gives the target free.
func (r *run) finish(ctx context.Context) error {
	last := map[string]int64{}
	var targets []postgres.Table
	for i := range r.tables {
		t := &r.tables[i]
		targets = append(targets, t.Table)
		if !t.Counted {
			continue
		}
		id, err := r.From.LastID(t.Name)
		if err != nil {
			return err
		}
		last[t.Name] = id
	}
	return r.To.Finish(ctx, targets, last)
}

func (r *run) progress(step string, done int64) {
	if r.OnProgress != nil {
		r.OnProgress(step, done, r.all)
	}
}
