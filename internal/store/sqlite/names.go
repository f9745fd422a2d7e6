package sqlite

import (
	"hash/maphash"

	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
)

const (
	addName    = "INSERT INTO pet_names (rowid, name) VALUES (?1, ?2)"
	removeName = "INSERT INTO pet_names (pet_names, rowid, name) VALUES ('delete', ?1, ?2)"

	// removeNames is for the rows of a workspace that a step of its removal deletes.
	removeNames = "INSERT INTO pet_names (pet_names, rowid, name) SELECT 'delete', (workspace << 40) + id, folded FROM pets" +
		" WHERE workspace = $1 AND id IN (SELECT id FROM pets WHERE workspace = $1 LIMIT $2)" +
		" AND workspace < 1 << 23 AND id < 1 << 40"
)

// renamePet adds what changes the folded name of a pet in the index of names. A pet without
// the name before, or without the one after, has "".
func renamePet(b *store.Batch, workspace, id int64, before, after string) {
	if workspace >= mostWorkspaces || id >= mostPets {
		return
	}
	if before != "" {
		b.Exec(removeName, workspace<<idBits+id, before)
	}
	if after != "" {
		b.Exec(addName, workspace<<idBits+id, after)
	}
}

var termSeed = maphash.MakeSeed()

// termHash returns a hash of three letters in the row of the index with a number.
func termHash(letters string, number int64) uint64 {
	return maphash.Comparable(termSeed, struct {
		letters string
		number  int64
	}{letters, number})
}

// checkNames makes sure that the index has the names of the pets, and nothing else: the
// sums of the hashes of all terms must be the same.
func checkNames(c *conn, report store.Report) error {
	sums := map[int64]uint64{} // by workspace
	for row, err := range c.query("SELECT number, name FROM indexed_names") {
		if err != nil {
			return err
		}
		number, letters := row.ColumnInt64(0), []rune(asIndexed.Replace(row.ColumnText(1)))
		for i := range len(letters) - termLetters + 1 {
			sums[number>>idBits] += termHash(string(letters[i:i+termLetters]), number)
		}
	}
	for row, err := range c.query("SELECT term, doc FROM pet_name_terms") {
		if err != nil {
			return err
		}
		number := row.ColumnInt64(1)
		sums[number>>idBits] -= termHash(row.ColumnText(0), number)
	}
	for workspace, sum := range sums {
		if sum != 0 {
			report("names: the index of names does not fit the pets of workspace %d, and searches may miss some; docs/troubleshooting.md says how to rebuild it", workspace)
		}
	}
	return nil
}

// primeNames makes FTS5 look at the file: else it may check what it remembers of an
// earlier state.
func primeNames(c *conn, _ store.Report) error {
	_, err := first(c, func(*sqlite.Stmt) bool { return true }, "SELECT rowid FROM pet_names WHERE pet_names MATCH 'any'")
	return err
}
