package sqlite

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"

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

	// removeNames is for the rows of a workspace that a step of its removal deletes.
	removeNames = "INSERT INTO pet_names (pet_names, rowid, name) SELECT 'delete', (workspace << 40) + id, folded || char(1, 1) FROM pets" +
		" WHERE workspace = $1 AND id IN (SELECT id FROM pets WHERE workspace = $1 LIMIT $2)" +
		" AND workspace < 1 << 23 AND id < 1 << 40"
)

// termRunes is how many letters a term of the index of names has.
const termRunes = 3

// asIndexed replaces the letters that FTS5 reads as U+FFFD.
var asIndexed = strings.NewReplacer("\uFFFE", "\uFFFD", "\uFFFF", "\uFFFD")

// termsOf returns the terms of a text, each once.
func termsOf(text string) (terms []string) {
	text = asIndexed.Replace(text)
	var begins [termRunes]int // of the last letters
	seen := 0
	for i := range text {
		if seen++; seen > termRunes {
			terms = append(terms, text[begins[seen%termRunes]:i])
		}
		begins[seen%termRunes] = i
	}
	if seen >= termRunes {
		terms = append(terms, text[begins[(seen+1)%termRunes]:])
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

var termSeed = maphash.MakeSeed()

func termHash(term string, number int64) uint64 {
	return maphash.Comparable(termSeed, struct {
		term   string
		number int64
	}{term, number})
}

// number returns the number of a pet's row in the index, and whether it may have one.
func (k petKey) number() (int64, bool) {
	return k.workspace<<idBits + k.id, k.id <= lastIndexed(k.workspace)
}

// lastIndexed returns the last id of a workspace that may be in the index.
func lastIndexed(workspace int64) int64 {
	if workspace >= 1<<(63-idBits) {
		return 0
	}
	return 1<<idBits - 1
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

// saveNames writes the names that were noted into the index.
func (c *conn) saveNames() error {
	for _, k := range slices.SortedFunc(maps.Keys(c.renames), petKey.compare) {
		r := c.renames[k]
		if r.before == r.after {
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

// checkNames makes sure that the index has the names of the pets, and nothing else:
// the sums of all terms must be the same.
func checkNames(c *conn, report accesssql.Report) error {
	sums := map[int64]uint64{} // by workspace
	err := c.each("SELECT workspace, id, folded FROM pets", func(row *sqlite.Stmt) {
		k := petKey{row.ColumnInt64(0), row.ColumnInt64(1)}
		if number, ok := k.number(); ok {
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
