package sqlite

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/petstore/internal/accesssql"
	"zombiezen.com/go/sqlite"
)

// The index of names is a table of FTS5, see migrations/0011_name_search.sql. Names
// that a transaction changes are written there at its end, in the order of their
// numbers, as FTS5 writes a part of the index for each that comes after a greater one.
const (
	idBits     = 40         // of a row's number; pets with greater ids are not in the index
	nameMarks  = "\x01\x01" // behind each name
	addName    = "INSERT INTO pet_names (rowid, name) VALUES (?1, ?2)"
	removeName = "INSERT INTO pet_names (pet_names, rowid, name) VALUES ('delete', ?1, ?2)"

	selectIndexed = "SELECT workspace, pet FROM names_indexed"
	updateIndexed = "UPDATE names_indexed SET workspace=?1, pet=?2"
	selectNames   = "SELECT workspace, id, folded FROM pets WHERE (workspace, id) > (?1, ?2) ORDER BY workspace, id LIMIT ?3"
	// removeNames is for the rows of a workspace that a step of its removal deletes.
	removeNames = "INSERT INTO pet_names (pet_names, rowid, name) SELECT 'delete', (workspace << 40) + id, folded || char(1, 1) FROM pets" +
		" WHERE workspace = $1 AND id IN (SELECT id FROM pets WHERE workspace = $1 LIMIT $2)" +
		" AND workspace < 1 << 23 AND id < 1 << 40 AND (workspace, id) <= (SELECT workspace, pet FROM names_indexed)"
)

// allIndexed is behind all pets.
var allIndexed = petKey{workspace: 1 << 62}

// number returns the number of a pet's row in the index, and whether it may have one.
func (k petKey) number() (int64, bool) {
	return k.workspace<<idBits + k.id, k.workspace < 1<<(63-idBits) && k.id < 1<<idBits
}

// upTo returns the last id of a workspace of those that are indexed, given the last
// pet of all.
func (k petKey) upTo(workspace int64) int64 {
	switch {
	case workspace >= 1<<(63-idBits) || workspace > k.workspace:
		return 0
	case workspace < k.workspace:
		return 1<<idBits - 1
	}
	return min(k.id, 1<<idBits-1)
}

// indexed returns the last pet that is indexed.
func (c *conn) indexed() (last petKey, err error) {
	_, err = c.one(selectIndexed, func(row *sqlite.Stmt) { last = petKey{row.ColumnInt64(0), row.ColumnInt64(1)} })
	return last, err
}

// renamed notes what a change does to the name of a pet.
func (c *conn) renamed(workspace, id int64, before, after string) {
	k := petKey{workspace, id}
	if known, ok := c.renames[k]; ok {
		before = known.before
	}
	if c.renames == nil {
		c.renames = map[petKey]nameChange{}
	}
	c.renames[k] = nameChange{before, after}
}

// saveNames writes the names that were noted into the index. Those that are not
// indexed yet are left to indexNames.
func (c *conn) saveNames() error {
	if len(c.renames) == 0 {
		return nil
	}
	last, err := c.indexed()
	if err != nil {
		return err
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.renames), petKey.compare) {
		r := c.renames[k]
		if k.id > last.upTo(k.workspace) || r.before == r.after {
			continue
		}
		if err := c.saveName(removeName, k, r.before); err != nil {
			return err
		}
		if err := c.saveName(addName, k, r.after); err != nil {
			return err
		}
	}
	clear(c.renames)
	return nil
}

func (k petKey) compare(o petKey) int {
	return slices.Compare([]int64{k.workspace, k.id}, []int64{o.workspace, o.id})
}

// saveName carries out a query for a name, if there is one.
func (c *conn) saveName(query string, k petKey, folded string) error {
	number, ok := k.number()
	if folded == "" || !ok {
		return nil
	}
	stmt, err := c.ints(query, number)
	if err != nil {
		return err
	}
	stmt.BindText(2, folded+nameMarks)
	_, err = stmt.Step()
	return err
}

const (
	namesAtOnce = 250              // in a transaction: some milliseconds
	indexAnew   = 10 * time.Second // after a failure
	indexPause  = 4 * time.Millisecond
)

// startIndexing has names indexed in the background, if there are any that were there
// before the index. The writer does not run yet.
func (db *DB) startIndexing() error {
	last, err := db.writer.indexed()
	if err != nil || last == allIndexed {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { db.indexNames(ctx) })
	db.stopIndexing = func() {
		cancel()
		done.Wait()
	}
	return nil
}

// indexNames adds the names that were there before the index, in small transactions
// with pauses between them, until ctx ends.
func (db *DB) indexNames(ctx context.Context) {
	for told := false; ; {
		began := time.Now()
		more, err := db.indexSome(ctx, namesAtOnce)
		if ctx.Err() != nil || err == nil && !more {
			return
		}
		pause := max(indexPause, time.Since(began)) // half of the time is for others
		if err != nil {
			pause = indexAnew
			if !told {
				db.log.Warn("names could not be indexed: searches read those row by row", "err", err)
			}
		}
		told = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// indexSome adds the names of the next pets, and reports whether there may be more.
func (db *DB) indexSome(ctx context.Context, n int) (more bool, err error) {
	err = db.changeOf(ctx, named, func(c *conn) error {
		c.touched.wrote = true
		more, err = c.indexNames(n)
		return err
	})
	return more, err
}

func (c *conn) indexNames(n int) (more bool, err error) {
	if err := c.saveNames(); err != nil { // which of them are indexed changes now
		return false, err
	}
	last, err := c.indexed()
	if err != nil || last == allIndexed {
		return false, err
	}
	pets, names := make([]petKey, 0, n), make([]string, 0, n)
	err = c.each(selectNames, func(row *sqlite.Stmt) {
		pets = append(pets, petKey{row.ColumnInt64(0), row.ColumnInt64(1)})
		names = append(names, row.ColumnText(2))
	}, last.workspace, last.id, n)
	if err != nil {
		return false, err
	}
	for i, k := range pets {
		if err := c.saveName(addName, k, names[i]); err != nil {
			return false, err
		}
	}
	last = allIndexed
	if len(pets) == n {
		last = pets[n-1]
	}
	return last != allIndexed, c.exec(updateIndexed, last.workspace, last.id)
}

// checkNames makes sure that the index has the names of the pets, and nothing else:
// the sums of all terms must be the same.
func checkNames(c *conn, report accesssql.Report) error {
	last, err := c.indexed()
	if err != nil {
		return err
	}
	sums := map[int64]uint64{} // by workspace
	err = c.each("SELECT workspace, id, folded FROM pets", func(row *sqlite.Stmt) {
		k := petKey{row.ColumnInt64(0), row.ColumnInt64(1)}
		if number, ok := k.number(); ok && k.id <= last.upTo(k.workspace) {
			for _, term := range termsOf(row.ColumnText(2) + nameMarks) {
				sums[k.workspace] += termHash(term, number)
			}
		}
	})
	if err != nil {
		return err
	}
	err = c.each("SELECT term, doc FROM pet_name_terms", func(row *sqlite.Stmt) {
		number := row.ColumnInt64(1)
		sums[number>>idBits] -= termHash(row.ColumnText(0), number)
	})
	for workspace, sum := range sums {
		if sum != 0 {
			report("names: the index of names does not fit the pets of workspace %d, and searches may miss some; docs/troubleshooting.md says how to rebuild it", workspace)
		}
	}
	return err
}
