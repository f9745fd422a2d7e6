package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// A Move carries a whole database from one engine to another: every table, with ids, keys,
// ledger and counters. It knows tables and columns, not what they mean: those that later
// versions add move without a word about them here.
type Move struct {
	From MoveSource
	To   MoveTarget
	Name string // of To, for whoever opens the file of From later

	// OnProgress, if not nil, is called with how many of all rows were copied.
	OnProgress func(done, all int64)
}

// A MoveSource is a database that nobody else can open.
type MoveSource interface {
	Tx
	// LastIDs returns the last ids that were issued by tables which count them.
	LastIDs() (map[string]int64, error)
	// MarkMoved records durably that everything is now in the database called to. From
	// then on the source can only be opened for another move. It is the last call, and the
	// end of a context does not stop it.
	MarkMoved(to string) error
}

// A MoveTarget is a transaction of a database that nobody else can open.
type MoveTarget interface {
	Tx
	// Columns returns those of all tables but the migrations, meta and access_state.
	Columns() ([]MovedColumn, error)
	// ContinueIDs makes the next ids of tables follow the greatest ones that exist and the
	// last ones that were issued.
	ContinueIDs(last map[string]int64) error
	// Commit ends the transaction.
	Commit() error
}

// A MovedColumn is a column of a table. Boolean is whether its values are true and false
// where others have 1 and 0.
type MovedColumn struct {
	Table, Name string
	Boolean     bool
}

const movedAtOnce = 1000 // rows that a move holds

// A Moved is a table, with as many rows on both sides.
type Moved struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Run moves everything in one transaction, counts the rows of both sides, and only then commits
// and marks the source as moved. Others can use neither of them before Run returns. A target that
// holds data is refused. After an error, or the end of ctx, or of the process, both are as
// they were, and another run begins again. Only if the commit is not confirmed, or the source
// cannot be marked after it, may the target have everything; the error says so.
func (m *Move) Run(ctx context.Context) ([]Moved, error) {
	r := &moveRun{Move: m}
	for _, step := range []func() error{r.plan, r.start, r.copy, r.continueIDs, ctx.Err} {
		if err := step(); err != nil {
			return nil, cmp.Or(ctx.Err(), err) // the error of an interrupted read says less
		}
	}
	if err := m.To.Commit(); err != nil {
		return nil, fmt.Errorf("the target has everything or nothing, and the source is as it was: %w", err)
	}
	if err := m.From.MarkMoved(m.Name); err != nil {
		return nil, fmt.Errorf("the target has everything, but the source could not be marked as moved, do not use it any more: %w", err)
	}
	return r.moved, nil
}

// A moveRun is a Move under way.
type moveRun struct {
	*Move
	tables []movedTable
	all    int64 // rows of all tables
	done   int64
	moved  []Moved
}

// A movedTable is one that is moved, with its columns and what selects them.
type movedTable struct {
	name    string
	columns []string
	boolean []bool
	query   string
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

// plan finds out what there is to move. Both sides have all migrations of this program, and so
// the same columns. A row that the target has is an error.
func (r *moveRun) plan() error {
	columns, err := r.To.Columns()
	if err != nil {
		return err
	}
	r.tables = tablesOf(columns)
	for i := range r.tables {
		name := r.tables[i].name
		if some, err := exists(r.To, `SELECT 1 FROM "`+name+`" LIMIT 1`); err != nil {
			return err
		} else if some {
			return fmt.Errorf("the target holds other data (in the table %s): use a database without data of Petstore", name)
		}
		rows, err := number(r.From, `SELECT count(*) FROM "`+name+`"`)
		if err != nil {
			return err
		}
		r.all += rows
	}
	return nil
}

// start copies the secret, the interrupted imports and the state of access.
func (r *moveRun) start() error {
	var b Batch
	b.Exec("DELETE FROM meta")
	secret := false
	err := Each(r.From, "SELECT name, value FROM meta WHERE name = 'secret' OR name LIKE 'import:%'", func(row Row) error {
		var (
			name  string
			value []byte
		)
		err := row.Scan(&name, &value)
		b.Exec("INSERT INTO meta (name, value) VALUES ($1, $2)", name, value)
		secret = secret || name == "secret"
		return err
	})
	if err != nil {
		return err
	}
	if !secret {
		return errors.New("the source has no secret: it was never opened by petstore serve")
	}
	state, err := number(r.From, "SELECT state FROM access_state")
	if err != nil {
		return err
	}
	b.Exec("UPDATE access_state SET state = $1", state)
	return r.To.Run(&b)
}

// copy writes the rows of all tables, and makes sure that the target has all of them.
func (r *moveRun) copy() error {
	for i := range r.tables {
		t, before := &r.tables[i], r.done
		there, err := int64(0), r.fill(t)
		if err == nil {
			there, err = number(r.To, `SELECT count(*) FROM "`+t.name+`"`)
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		if there != r.done-before {
			return fmt.Errorf("the table %s differs: it has %d rows in the source, and %d in the target", t.name, r.done-before, there)
		}
		r.moved = append(r.moved, Moved{t.name, there})
	}
	return nil
}

// fill writes the rows of a table.
func (r *moveRun) fill(t *movedTable) error {
	rows := make([][]any, 0, movedAtOnce)
	write := func() error {
		err := r.To.Fill(t.name, t.columns, rows)
		r.done += int64(len(rows))
		rows = rows[:0]
		if r.OnProgress != nil {
			r.OnProgress(r.done, r.all)
		}
		return err
	}
	err := Each(r.From, t.query, func(row Row) error {
		values, err := valuesOf(row, len(t.columns))
		if err != nil {
			return err
		}
		for i, boolean := range t.boolean {
			if number, ok := values[i].(int64); boolean && ok {
				values[i] = number != 0
			}
		}
		if rows = append(rows, values); len(rows) == movedAtOnce {
			err = write()
		}
		return err
	})
	if err != nil {
		return err
	}
	return write()
}

func (r *moveRun) continueIDs() error {
	last, err := r.From.LastIDs()
	if err != nil {
		return err
	}
	return r.To.ContinueIDs(last)
}
