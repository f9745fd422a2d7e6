package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// moveLock is the key of the advisory lock of who fills a database.
const moveLock int64 = 0x5045_5453_0000_0003

// moveNote is the name under which the state of a move that has not ended is
// kept, in the table meta. No node opens a database that has one.
const moveNote = "move"

// leaveTimeout is how long sessions of a process that was killed may linger.
const leaveTimeout = 5 * time.Second

// A Target is a database that another store's rows are moved into. One goroutine
// at a time uses it.
type Target struct {
	conn *pgx.Conn
	name string
}

// A Column is one of a table that is filled.
type Column struct {
	Name    string
	Boolean bool // of the values that other stores keep as 0 and 1
}

// A Table is one that is filled.
type Table struct {
	Name    string
	Columns []Column
	Counted bool // the column id has a counter of the database's own
}

// values returns one member of every row.
func values[T, V any](rows []T, value func(*T) V) []V {
	all := make([]V, len(rows))
	for i := range rows {
		all[i] = value(&rows[i])
	}
	return all
}

// Names returns the names of the columns.
func (t Table) Names() []string { return values(t.Columns, func(c *Column) string { return c.Name }) }

// OpenTarget makes and migrates the database at url, as Open does, and keeps
// others from filling it until Close. It is refused while a node is connected.
func OpenTarget(ctx context.Context, url string, now func() time.Time) (*Target, error) {
	name, err := describe(url)
	if err != nil {
		return nil, err
	}
	if _, err := MigrateUp(ctx, url, now); err != nil {
		return nil, err
	}
	c, err := connect(ctx, url, administering)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	t := &Target{conn: c, name: name}
	if err := t.alone(ctx); err != nil {
		return nil, errors.Join(t.named(err), c.Close(context.WithoutCancel(ctx)))
	}
	return t, nil
}

// Close disconnects.
func (t *Target) Close(ctx context.Context) error {
	return t.named(t.conn.Close(context.WithoutCancel(ctx)))
}

func (t *Target) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("database %s: %w", t.name, err)
}

// alone makes sure that no node and no other move is at the database. It waits
// a moment: the sessions of a process that was killed may not have ended yet.
func (t *Target) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	for n := 0; ; n++ {
		var locked bool
		var others int
		err := t.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1), (SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'petstore')`, moveLock).Scan(&locked, &others)
		if err != nil {
			return err
		}
		if locked && others == 0 {
			return nil
		}
		if pause(ctx, min(n, 4)) == nil {
			continue
		}
		if !locked {
			return errors.New("another migrate-store is filling it")
		}
		return fmt.Errorf("is in use: stop the nodes that are connected to it first (%d sessions)", others)
	}
}

// Tables returns the tables to fill, those that others refer to first. The
// migrations are left out, and what Begin writes: meta and access_state.
func (t *Target) Tables(ctx context.Context) ([]Table, error) {
	rows, err := t.conn.Query(ctx, `SELECT r.relname::text, a.attname::text, a.atttypid = 'boolean'::regtype, a.attidentity <> ''
		FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		WHERE r.relnamespace = $1::text::regnamespace AND r.relkind IN ('r', 'p') AND NOT r.relispartition AND r.relname NOT IN ('migrations', 'meta', 'access_state')
		ORDER BY r.relname NOT IN ('workspaces', 'api_keys', 'categories'), r.relname = 'api_keys', r.relname, a.attnum`, schema)
	if err != nil {
		return nil, t.named(err)
	}
	defer rows.Close()
	var tables []Table
	err = each(func(row pgx.Rows) error {
		var (
			table   string
			column  Column
			counted bool
		)
		err := row.Scan(&table, &column.Name, &column.Boolean, &counted)
		if len(tables) == 0 || tables[len(tables)-1].Name != table {
			tables = append(tables, Table{Name: table})
		}
		last := &tables[len(tables)-1]
		last.Columns = append(last.Columns, column)
		last.Counted = last.Counted || counted
		return err
	})(rows)
	return tables, t.named(err)
}

// State returns the state of a move that has not ended, nil if there is none.
func (t *Target) State(ctx context.Context) (state []byte, err error) {
	err = t.conn.QueryRow(ctx, "SELECT value FROM meta WHERE name = $1", moveNote).Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return state, t.named(err)
}

// Occupied returns the name of a table that has rows, "" if there is none.
func (t *Target) Occupied(ctx context.Context, tables []Table) (string, error) {
	for _, table := range tables {
		var some bool
		if err := t.conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+ident(table.Name)+")").Scan(&some); err != nil || some {
			return table.Name, t.named(err)
		}
	}
	return "", nil
}

// Begin empties the tables, takes over what a store notes of itself and the state
// of access with its floor, and writes down that a move has begun: from now on no
// node opens the database before Finish.
func (t *Target) Begin(ctx context.Context, tables []Table, state []byte, meta map[string][]byte, access, floor int64) error {
	return t.in(ctx, func(tx pgx.Tx) error {
		b := new(pgx.Batch)
		for _, table := range tables {
			b.Queue("TRUNCATE " + ident(table.Name) + " CASCADE")
		}
		b.Queue("DELETE FROM meta")
		b.Queue("INSERT INTO meta (name, value) VALUES ($1, $2)", moveNote, state)
		for name, value := range meta {
			b.Queue("INSERT INTO meta (name, value) VALUES ($1, $2)", name, value)
		}
		b.Queue("UPDATE access_state SET state = $1, floor = $2", access, floor)
		return tx.SendBatch(ctx, b).Close()
	})
}

// Rows are rows on their way, whose values are int64, string, []byte or nil.
type Rows = pgx.CopyFromSource

// truths are rows in which columns of truth values are numbers.
type truths struct {
	Rows
	columns []Column
}

// Values implements [Rows].
func (r truths) Values() ([]any, error) {
	row, err := r.Rows.Values()
	for i := range row {
		if v, number := row[i].(int64); number && r.columns[i].Boolean {
			row[i] = v != 0
		}
	}
	return row, err
}

// Keep writes the rows of a table, and the state that they lead to, in one
// transaction.
func (t *Target) Keep(ctx context.Context, table Table, rows Rows, state []byte) error {
	return t.in(ctx, func(tx pgx.Tx) error {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{schema, table.Name}, table.Names(), truths{rows, table.Columns}); err != nil {
			return fmt.Errorf("table %s: %w", table.Name, err)
		}
		_, err := tx.Exec(ctx, "UPDATE meta SET value = $2 WHERE name = $1", moveNote, state)
		return err
	})
}

// Rows gives the values of a table's rows, as Keep took them, to row, in any order.
func (t *Target) Rows(ctx context.Context, table Table, row func([]any)) error {
	names := values(table.Columns, func(c *Column) string { return pgx.Identifier{c.Name}.Sanitize() })
	rows, err := t.conn.Query(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+ident(table.Name))
	if err != nil {
		return t.named(err)
	}
	defer rows.Close()
	return t.named(each(func(r pgx.Rows) error {
		values, err := r.Values()
		for i := range values {
			values[i] = plain(values[i])
		}
		if err == nil {
			row(values)
		}
		return err
	})(rows))
}

// plain returns a value as other stores have it.
func plain(value any) any {
	switch v := value.(type) {
	case int32:
		return int64(v)
	case int16:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	}
	return value
}

// Finish sets the counters of the tables behind the last ids, and writes down
// that the move has ended: the database is as any other.
func (t *Target) Finish(ctx context.Context, tables []Table, lastIDs map[string]int64) error {
	err := t.in(ctx, func(tx pgx.Tx) error {
		for table, last := range lastIDs {
			if _, err := tx.Exec(ctx, "SELECT setval(pg_get_serial_sequence($1, 'id'), greatest($2::bigint, 1), $2::bigint > 0)",
				schema+"."+table, last); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "DELETE FROM meta WHERE name = $1", moveNote)
		return err
	})
	if err != nil {
		return err
	}
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = ident(tables[i].Name)
	}
	_, err = t.conn.Exec(ctx, "ANALYZE "+strings.Join(names, ", "))
	return t.named(err)
}

// in calls f in a transaction.
func (t *Target) in(ctx context.Context, f func(pgx.Tx) error) error {
	return t.named(pgx.BeginFunc(ctx, t.conn, f))
}

func ident(name string) string { return pgx.Identifier{schema, name}.Sanitize() }

// refuseHalf returns an error if the database holds a part of what is moved into it.
func refuseHalf(ctx context.Context, c querier) error {
	var half bool
	err := c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM meta WHERE name = $1)", moveNote).Scan(&half)
	if err == nil && half {
		err = errors.New("holds a part of what petstore migrate-store moves into it; run that again to its end")
	}
	return err
}
