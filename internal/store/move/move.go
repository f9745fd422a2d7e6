// Package move carries a whole database from SQLite to PostgreSQL: every table,
// with ids, keys, ledger and counters. It knows tables and columns, not what they
// mean: those that later versions add move without a word about them here.
package move

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// A Move is one run, which may go on from where an earlier one was ended.
type Move struct {
	From *sqlite.Source
	To   *postgres.Target
	Name string // of To, for whoever opens the file of From later

	// StartOver empties a target that holds a part of a move, whichever, before
	// it begins.
	StartOver bool

	// OnProgress, if set, learns which step is at work, and how many rows of all
	// it has done.
	OnProgress func(step string, done, all int64)
}

// The steps that OnProgress learns.
const (
	Copying   = "copying"
	Verifying = "verifying"
)

// reportEvery is after how many rows OnProgress is called, and after each table.
const reportEvery = 10_000

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

// Run moves everything, one table in each transaction, compares both sides, and
// only then gives the target free and the source up: nobody can use both. A target that holds anything else is refused.
// After an error, or the end of ctx, or of the process, another run goes on with
// the table that it was at.
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
			return Result{}, cmp.Or(ctx.Err(), err) // a read that ctx ended says no more than that
		}
	}
	result := Result{Resumed: r.resumed, Rows: r.all}
	r.done = 0
	for i := range r.tables {
		moved, err := r.verify(ctx, &r.tables[i])
		if err != nil {
			return Result{}, cmp.Or(ctx.Err(), err)
		}
		result.Tables = append(result.Tables, moved)
	}
	return result, r.finish(ctx)
}

// A run is a Move under way.
type run struct {
	*Move
	tables  []table
	all     int64 // rows of all tables
	done    int64 // of the step
	state   state
	resumed bool
}

// A table is one that is moved.
type table struct {
	postgres.Table
	rows int64
}

// A state is how far a move has come. The target keeps it in the transaction of
// the rows that lead to it.
type state struct {
	Source string   `json:"source"`
	Copied []string `json:"copied"` // tables
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
	delete(have, "meta") // these two are written when the move begins
	delete(have, "access_state")
	for _, t := range targets {
		columns, there := have[t.Name]
		if !there {
			continue // the target's own
		}
		delete(have, t.Name)
		if err := sameColumns(t, columns); err != nil {
			return err
		}
		n, err := r.From.Count(t.Name)
		if err != nil {
			return err
		}
		r.tables = append(r.tables, table{t, n})
		r.all += n
	}
	for name := range have {
		return fmt.Errorf("the target has no table %s", name)
	}
	return nil
}

func sameColumns(t postgres.Table, have []string) error {
	want := t.Names()
	for _, name := range have {
		if !slices.Contains(want, name) {
			return fmt.Errorf("the target's table %s has no column %s", t.Name, name)
		}
	}
	for _, name := range want {
		if !slices.Contains(have, name) {
			return fmt.Errorf("the source's table %s has no column %s", t.Name, name)
		}
	}
	return nil
}

// begin goes on with the move that the target holds a part of, or begins one.
func (r *run) begin(ctx context.Context) error {
	start, err := r.From.Start()
	if err != nil {
		return err
	}
	source := fingerprint(start.Meta["secret"])
	kept, err := r.To.State(ctx)
	if err != nil {
		return err
	}
	if kept != nil && !r.StartOver {
		if err := json.Unmarshal(kept, &r.state); err != nil || r.state.Source != source {
			return errors.New("the target holds a part of what was moved from another database; --start-over empties it first")
		}
		r.resumed = true
		return nil
	}
	if kept == nil {
		name, err := r.To.Occupied(ctx, r.targets())
		if err != nil {
			return err
		}
		if name != "" {
			return fmt.Errorf("the target holds other data (in the table %s): use a database without data of Petstore", name)
		}
	}
	r.state = state{Source: source}
	text, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	return r.To.Begin(ctx, r.targets(), text, start.Meta, start.State, start.Floor)
}

// fingerprint returns a name of the source that no other has.
func fingerprint(secret []byte) string {
	hash := sha256.Sum256(append([]byte("petstore move by the source's keys "), secret...))
	return hex.EncodeToString(hash[:16])
}

func (r *run) targets() []postgres.Table {
	all := make([]postgres.Table, len(r.tables))
	for i := range r.tables {
		all[i] = r.tables[i].Table
	}
	return all
}

// copy moves a table unless an earlier run has.
func (r *run) copy(ctx context.Context, t *table) error {
	if slices.Contains(r.state.Copied, t.Name) {
		r.done += t.rows
		return nil
	}
	r.state.Copied = append(r.state.Copied, t.Name)
	text, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	rows, err := r.From.Rows(t.Name, t.Names())
	if err != nil {
		return err
	}
	defer rows.Close()
	before := r.done
	if err := r.To.Keep(ctx, t.Table, &reported{rows, r}, text); err != nil {
		return err
	}
	r.done = before + t.rows
	r.report(Copying)
	return nil
}

// A reported is rows whose number is reported.
type reported struct {
	*sqlite.Rows
	run *run
}

// Next implements [postgres.Rows].
func (p *reported) Next() bool {
	if p.run.done++; p.run.done%reportEvery == 0 {
		p.run.report(Copying)
	}
	return p.Rows.Next()
}

func (r *run) report(step string) {
	if r.OnProgress != nil {
		r.OnProgress(step, r.done, r.all)
	}
}

// finish gives the source up, which another run can still read, and then the target free.
func (r *run) finish(ctx context.Context) error {
	last := map[string]int64{}
	for _, t := range r.tables {
		if !t.Counted {
			continue
		}
		id, err := r.From.LastID(t.Name)
		if err != nil {
			return err
		}
		last[t.Name] = id
	}
	if err := r.From.MarkMoved(r.Name); err != nil {
		return err
	}
	return r.To.Finish(ctx, r.targets(), last)
}
