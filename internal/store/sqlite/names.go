package sqlite

import (
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// The index of names is a table of FTS5 with every three letters of each name, see
// migrations/0001_init.sql. Its rows are numbered by workspace and id. The pets of a
// workspace that has other numbers than these are tested one by one.
const (
	idBits         = 40
	mostWorkspaces = 1 << (63 - idBits)
	mostPets       = 1 << idBits
)

// phraseLetters is how many letters from the start and from the end of a text are looked up
// in the index: enough that few other names have both, even where all names begin or end
// alike. A lookup takes longer with more letters.
const phraseLetters = 6

// searchNames implements the Search of [store.Dialect]. Texts of one or two letters are not
// in the index.
func searchNames(workspace int64, p petstore.Page, last int64, text string) *store.Search {
	if !searchable(text) || workspace >= mostWorkspaces || last >= mostPets {
		return nil
	}
	from, to := p.After, int64(mostPets)
	if p.Newest {
		from, to = 0, min(p.After, mostPets)
	}
	first := workspace << idBits
	return &store.Search{
		From:    "pet_names CROSS JOIN pets",
		Where:   "id = pet_names.rowid - ? AND pet_names MATCH ? AND pet_names.rowid > ? AND pet_names.rowid < ?",
		Args:    []any{first, phrases([]rune(text)), first + from, first + to},
		OrderBy: "pet_names.rowid",
	}
}

// phrases returns the query for the index, in the language of FTS5.
func phrases(text []rune) string {
	quote := func(letters []rune) string {
		return `"` + strings.ReplaceAll(asIndexed.Replace(string(letters)), `"`, `""`) + `"`
	}
	if len(text) <= phraseLetters {
		return quote(text)
	}
	return quote(text[:phraseLetters]) + " AND " + quote(text[len(text)-phraseLetters:])
}

// termLetters is how many letters a term of the index of names has.
const termLetters = 3

func searchable(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) >= termLetters && !strings.ContainsFunc(text, unicode.IsControl)
}

// asIndexed replaces the letters that FTS5 reads as U+FFFD.
var asIndexed = strings.NewReplacer("\uFFFE", "\uFFFD", "\uFFFF", "\uFFFD")

const (
	addName    = "INSERT INTO pet_names (rowid, name) VALUES (?1, ?2)"
	removeName = "INSERT INTO pet_names (pet_names, rowid, name) VALUES ('delete', ?1, ?2)"

	// removeNames is [store.Dialect.RemoveNames].
	removeNames = "INSERT INTO pet_names (pet_names, rowid, name) SELECT 'delete', (workspace << 40) + id, folded FROM pets" +
		" WHERE workspace = $1 AND id IN (SELECT id FROM pets WHERE workspace = $1 LIMIT $2)" +
		" AND workspace < 1 << 23 AND id < 1 << 40"
)

// renamePet implements the Rename of [store.Dialect].
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
	err := store.Each(tx, "SELECT number, name FROM indexed_names", func(row store.Row) error {
		err := row.Scan(&number, &text)
		letters := []rune(asIndexed.Replace(text))
		for i := range len(letters) - termLetters + 1 {
			sums[number>>idBits] += termHash(string(letters[i:i+termLetters]), number)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = store.Each(tx, "SELECT term, doc FROM pet_name_terms", func(row store.Row) error {
		err := row.Scan(&text, &number)
		sums[number>>idBits] -= termHash(text, number)
		return err
	})
	for workspace, sum := range sums {
		if sum != 0 && err == nil {
			report("names: the index of names does not fit the pets of workspace %d, and searches may miss some; docs/troubleshooting.md says how to rebuild it", workspace)
		}
	}
	return err
}
