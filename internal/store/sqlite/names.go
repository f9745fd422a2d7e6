package sqlite

import (
	"hash/maphash"

	"example.com/petstore/internal/store"
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
func checkNames(tx store.Tx, report store.Report) error {
	sums := map[int64]uint64{} // by workspace
	var (
		number int64
		text   string
	)
	for row, err := range tx.Query("SELECT number, name FROM indexed_names") {
		if err == nil {
			err = row.Scan(&number, &text)
		}
		if err != nil {
			return err
		}
		letters := []rune(asIndexed.Replace(text))
		for i := range len(letters) - termLetters + 1 {
			sums[number>>idBits] += termHash(string(letters[i:i+termLetters]), number)
		}
	}
	for row, err := range tx.Query("SELECT term, doc FROM pet_name_terms") {
		if err == nil {
			err = row.Scan(&text, &number)
		}
		if err != nil {
			return err
		}
		sums[number>>idBits] -= termHash(text, number)
	}
	for workspace, sum := range sums {
		if sum != 0 {
			report("names: the index of names does not fit the pets of workspace %d, and searches may miss some; docs/troubleshooting.md says how to rebuild it", workspace)
		}
	}
	return nil
}
