package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
)

// A Move carries a whole database from one engine to another: every table, with ids, keys,
// ledger and counters. It knows tables and columns, not what they mean: those that later
// versions add move without a word about them here.
type Move struct {
	From MoveSource
	To   MoveTarget
	Name string // of To, for whoever opens the file of From later

	OnProgress func(done, all int64) // is called with how many of all rows were copied
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
	// Tables returns all tables but that of the migrations.
	Tables() ([]MovedTable, error)
	// Fill adds rows to a table, until next returns nil, and returns how many it added.
	Fill(t *MovedTable, next func() ([]any, error)) (int64, error)
	// ContinueIDs makes the next ids of tables follow the last ones that were issued.
	ContinueIDs(last map[string]int64) error
	// Commit ends the transaction.
	Commit() error
}

// A MovedTable is a table with its columns. Boolean is whether the values of each are true and
// false where others have 1 and 0.
type MovedTable struct {
	Name    string
	Columns []string
	Boolean []bool
}

const progressEvery = 1000 // rows

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
	moved, err := m.fill()
	if err = cmp.Or(ctx.Err(), err); err != nil { // the error of an interrupted read says less
		return nil, err
	}
	if err := m.To.Commit(); err != nil {
		return nil, fmt.Errorf("the target has everything or nothing, and the source is as it was: %w", err)
	}
	if err := m.From.MarkMoved(m.Name); err != nil {
		return nil, fmt.Errorf("the target has everything, but the source could not be marked as moved, do not use it any more: %w", err)
	}
	return moved, nil
}

// fill writes the rows of all tables to the target, and makes sure that it has all of them.
func (m *Move) fill() (moved []Moved, err error) {
	tables, err := m.To.Tables()
	if err != nil {
		return nil, err
	}
	var done, all int64
	for _, t := range tables {
		rows, err := m.count(t.Name)
		if err != nil {
			return nil, err
		}
		moved = append(moved, Moved{t.Name, rows})
		all += rows
	}
	for i := range tables {
		rows, err := m.copy(&tables[i], func(rows int64) { m.OnProgress(done+rows, all) })
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", tables[i].Name, err)
		}
		if rows != moved[i].Rows {
			return nil, fmt.Errorf("the table %s differs: it has %d rows in the source, and %d in the target", tables[i].Name, moved[i].Rows, rows)
		}
		done += rows
	}
	last, err := m.From.LastIDs()
	if err != nil {
		return nil, err
	}
	return moved, m.To.ContinueIDs(last)
}

// count returns how many rows a table has in the source. A row that the target has is an error.
func (m *Move) count(table string) (int64, error) {
	some, err := exists(m.To, `SELECT 1 FROM "`+table+`" LIMIT 1`)
	if err != nil {
		return 0, err
	}
	if some {
		return 0, fmt.Errorf("the target holds other data (in the table %s): use a database without data of Petstore", table)
	}
	return number(m.From, `SELECT count(*) FROM "`+table+`"`)
}

// copy writes the rows of a table, and returns how many the target has then. It calls copied with
// how many it has read, now and then and at the end. Both sides have all migrations of this program,
// and so the same columns.
func (m *Move) copy(t *MovedTable, copied func(rows int64)) (int64, error) {
	next, stop := iter.Pull2(m.From.Query(`SELECT "` + strings.Join(t.Columns, `", "`) + `" FROM "` + t.Name + `"`))
	defer stop()
	read := int64(0)
	return m.To.Fill(t, func() ([]any, error) {
		row, err, there := next()
		if !there || read%progressEvery == 0 {
			copied(read)
		}
		if err != nil || !there {
			return nil, err
		}
		read++
		values, err := valuesOf(row, len(t.Columns))
		for i, boolean := range t.Boolean {
			if number, ok := values[i].(int64); boolean && ok {
				values[i] = number != 0
			}
		}
		return values, err
	})
}
