package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Move carries a whole database from one engine to another: every table, with ids, keys,
// ledger and counters. It knows tables and columns, not what they mean: those that later
// versions add move without a word about them here. It is one run, which may go on from
// where an earlier one was ended.
type Move struct {
	From MoveSource
	To   MoveTarget
	Name string // of To, for whoever opens the file of From later

	// StartOver empties a target that holds a part of a move, whichever, before
	// it begins.
	StartOver bool

	// OnProgress, if set, learns which step is at work, and how many rows of all
	// it has done.
	OnProgress func(step string, done, all int64)
}

// A MoveSource is a database that nobody else can open.
type MoveSource interface {
	Tx
	// Columns returns those of all tables but the migrations, meta and access_state.
	Columns() ([]MovedColumn, error)
	// LastIDs returns the last ids that were issued by tables which count them.
	LastIDs() (map[string]int64, error)
	// MarkMoved notes, durably, that all it holds is now in the database called to: nobody
	// opens it any more, but for another move. It is the last call.
	MarkMoved(to string) error
}

// A MoveTarget is a database that nobody else fills. No node opens it while meta has
// [MoveNote].
type MoveTarget interface {
	Tx
	// Columns is that of [MoveSource]. Tables that others refer to come first.
	Columns() ([]MovedColumn, error)
	// Transaction calls f in a transaction.
	Transaction(f func(Tx) error) error
	// Empty removes all rows of tables.
	Empty(tx Tx, tables []string) error
	// Finish opens the database to nodes. Ids go on behind those that are there and the
	// last ones that were issued.
	Finish(last map[string]int64) error
}

// A MovedColumn is a column of a table. Boolean is whether its values are true and false
// where others have 1 and 0.
type MovedColumn struct {
	Table, Name string
	Boolean     bool
}

// MoveNote is the name under which the state of a move that has not ended is in meta.
const MoveNote = "move"

// The steps that OnProgress learns.
const (
	Copying   = "copying"
	Verifying = "verifying"
)

const (
	reportEvery = 10_000 // rows, and after each table
	movedAtOnce = 1000   // rows that a move holds
)

// A MoveResult says what was moved.
type MoveResult struct {
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

// Run moves everything, one table in each transaction, compares both sides, and only then
// gives the source up, which another run can still read, and the target free: nobody can
// use both. A target that holds anything else is refused. After an error, or the end of
// ctx, or of the process, another run goes on with the table that it was at.
func (m *Move) Run(ctx context.Context) (MoveResult, error) {
	r := &moveRun{Move: m, ctx: ctx}
	err := r.plan()
	if err == nil {
		err = r.begin()
	}
	for i := 0; err == nil && i < len(r.tables); i++ {
		err = r.copy(&r.tables[i])
	}
	result := MoveResult{Resumed: r.resumed, Rows: r.all}
	r.done = 0
	for i := 0; err == nil && i < len(r.tables); i++ {
		var moved Moved
		moved, err = r.verify(&r.tables[i])
		result.Tables = append(result.Tables, moved)
	}
	if err == nil {
		err = r.finish()
	}
	if err != nil {
		return MoveResult{}, cmp.Or(ctx.Err(), err) // a read that ctx ended says no more than that
	}
	return result, nil
}

// A moveRun is a Move under way.
type moveRun struct {
	*Move
	ctx     context.Context //nolint:containedctx // it lives as long as the run
	tables  []movedTable
	all     int64 // rows of all tables
	done    int64 // of the step
	state   moveState
	resumed bool
}

// A movedTable is one that is moved, with its columns and what selects them.
type movedTable struct {
	name    string
	columns []string
	boolean []bool
	query   string
	rows    int64
}

// A moveState is how far a move has come. The target keeps it in the transaction of the
// rows that lead to it.
type moveState struct {
	Source string   `json:"source"`
	Copied []string `json:"copied"` // tables
}

// tablesOf returns the tables that columns are of.
func tablesOf(columns []MovedColumn) (tables []movedTable) {
	for _, c := range columns {
		if n := len(tables); n == 0 || tables[n-1].name != c.Table {
			tables = append(tables, movedTable{name: c.Table})
		}
		t := &tables[len(tables)-1]
		t.columns, t.boolean = append(t.columns, c.Name), append(t.boolean, c.Boolean)
		t.query = `SELECT "` + strings.Join(t.columns, `", "`) + `" FROM "` + t.name + `"`
	}
	return tables
}

// plan finds out what there is to move. A table or a column that one side lacks would be
// lost, and is an error.
func (r *moveRun) plan() error {
	have, err := r.From.Columns()
	if err != nil {
		return err
	}
	want, err := r.To.Columns()
	if err != nil {
		return err
	}
	for _, side := range []struct {
		lacks string
		has   []MovedColumn
		of    []MovedColumn
	}{{"the target", want, have}, {"the source", have, want}} {
		for _, c := range side.of {
			if !slices.ContainsFunc(side.has, func(h MovedColumn) bool { return h.Table == c.Table && h.Name == c.Name }) {
				return fmt.Errorf("%s has no column %s in a table %s", side.lacks, c.Name, c.Table)
			}
		}
	}
	r.tables = tablesOf(want)
	for i := range r.tables {
		t := &r.tables[i]
		if _, err := one(r.From, `SELECT count(*) FROM "`+t.name+`"`, func(row Row) error { return row.Scan(&t.rows) }); err != nil {
			return err
		}
		r.all += t.rows
	}
	return nil
}

// begin goes on with the move that the target holds a part of, or begins one.
func (r *moveRun) begin() error {
	secret, err := metaOf(r.From, "secret")
	if err != nil {
		return err
	}
	if len(secret) == 0 {
		return errors.New("the source has no secret: it was never opened by petstore serve")
	}
	source := fingerprint(secret)
	kept, err := metaOf(r.To, MoveNote)
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
		if err := r.refuseOccupied(); err != nil {
			return err
		}
	}
	r.state = moveState{Source: source}
	return r.To.Transaction(r.start)
}

func (r *moveRun) refuseOccupied() error {
	for i := range r.tables {
		name := r.tables[i].name
		some, err := one(r.To, `SELECT 1 FROM "`+name+`" LIMIT 1`, func(Row) error { return nil })
		if err != nil {
			return err
		}
		if some {
			return fmt.Errorf("the target holds other data (in the table %s): use a database without data of Petstore", name)
		}
	}
	return nil
}

// start empties the tables, takes over what the source notes of itself and the state of
// access, and writes down that a move has begun.
func (r *moveRun) start(tx Tx) error {
	names := make([]string, len(r.tables))
	for i := range r.tables {
		names[i] = r.tables[i].name
	}
	if err := r.To.Empty(tx, names); err != nil {
		return err
	}
	var (
		b     Batch
		state int64
	)
	b.Exec("DELETE FROM meta")
	const insert = "INSERT INTO meta (name, value) VALUES ($1, $2)"
	for row, err := range r.From.Query("SELECT name, value FROM meta WHERE name = 'secret' OR name LIKE 'import:%'") {
		var (
			name  string
			value []byte
		)
		if err == nil {
			err = row.Scan(&name, &value)
		}
		if err != nil {
			return err
		}
		b.Exec(insert, name, value)
	}
	if _, err := one(r.From, "SELECT state FROM access_state", func(row Row) error { return row.Scan(&state) }); err != nil {
		return err
	}
	text, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	b.Exec(insert, MoveNote, text)
	b.Exec("UPDATE access_state SET state = $1", state)
	return tx.Run(&b)
}

// fingerprint returns a name of the source that no other has.
func fingerprint(secret []byte) string {
	hash := sha256.Sum256(append([]byte("petstore move by the source's keys "), secret...))
	return hex.EncodeToString(hash[:16])
}

// copy moves a table unless an earlier run has.
func (r *moveRun) copy(t *movedTable) error {
	before := r.done
	if !slices.Contains(r.state.Copied, t.name) {
		r.state.Copied = append(r.state.Copied, t.name)
		text, err := json.Marshal(r.state)
		if err != nil {
			return err
		}
		err = r.To.Transaction(func(tx Tx) error {
			if err := r.fill(tx, t); err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
			return exec(tx, "UPDATE meta SET value = $1 WHERE name = $2", text, MoveNote)
		})
		if err != nil {
			return err
		}
		r.report(Copying)
	}
	r.done = before + t.rows
	return r.ctx.Err()
}

// fill writes the rows of a table.
func (r *moveRun) fill(tx Tx, t *movedTable) error {
	rows := make([][]any, 0, movedAtOnce)
	for row, err := range r.From.Query(t.query) {
		var values []any
		if err == nil {
			values, err = valuesOf(row, len(t.columns))
		}
		if err != nil {
			return err
		}
		for i, boolean := range t.boolean {
			if number, ok := values[i].(int64); boolean && ok {
				values[i] = number != 0
			}
		}
		if rows = append(rows, values); len(rows) == movedAtOnce {
			if err := tx.Fill(t.name, t.columns, rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
		r.count(Copying)
	}
	return tx.Fill(t.name, t.columns, rows)
}

// count counts a row of the step.
func (r *moveRun) count(step string) {
	if r.done++; r.done%reportEvery == 0 {
		r.report(step)
	}
}

func (r *moveRun) report(step string) {
	if r.OnProgress != nil {
		r.OnProgress(step, r.done, r.all)
	}
}

func (r *moveRun) finish() error {
	last, err := r.From.LastIDs()
	if err != nil {
		return err
	}
	if err := r.From.MarkMoved(r.Name); err != nil {
		return err
	}
	return r.To.Finish(last)
}
