package sqlite

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// The index of names is a table of FTS5 with every three letters of each name, see
// migrations/0001_petstore.sql. Its rows are numbered by workspace and id. The pets of a
// workspace that has other numbers than these are tested one by one.
const (
	idBits         = 40
	mostWorkspaces = 1 << (63 - idBits)
	mostPets       = 1 << idBits
)

// termLetters is how many letters a term of the index of names has.
const termLetters = 3

// phraseLetters is how many letters from the start and from the end of a text are looked up
// in the index: enough that few other names have both, even where all names begin or end
// alike. A lookup takes longer with more letters.
const phraseLetters = 6

// searchNames implements the Search of [store.Dialect]. Texts of one or two letters are not
// in the index.
func searchNames(workspace int64, p petstore.Page, last int64, text string) *store.Search {
	unindexed := utf8.RuneCountInString(text) < termLetters || strings.ContainsFunc(text, unicode.IsControl)
	if unindexed || workspace >= mostWorkspaces || last >= mostPets {
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

// asIndexed replaces the letters that FTS5 reads as U+FFFD.
var asIndexed = strings.NewReplacer("\uFFFE", "\uFFFD", "\uFFFF", "\uFFFD")

// addName implements the AddName of [store.Dialect].
func addName(b *store.Batch, workspace, id int64, name string) {
	if workspace < mostWorkspaces && id < mostPets {
		b.Exec("INSERT INTO pet_names (rowid, name) VALUES ($1, $2)", workspace<<idBits+id, name)
	}
}

// mergeNames implements the Tidy of [store.Dialect]: an import leaves the index in dozens of
// parts, and a search reads all of them. FTS5 changes two rows or more if it merges any
// (https://sqlite.org/fts5.html#the_merge_command).
func mergeNames(tx store.Tx) (more bool, err error) {
	c := tx.(*conn) //nolint:forcetypeassert // that of Group
	before, err := c.number("SELECT total_changes()")
	if err == nil {
		err = c.exec("INSERT INTO pet_names (pet_names, rank) VALUES ('merge', 100)") // pages
	}
	after, failed := c.number("SELECT total_changes()")
	return after-before > 1, cmp.Or(err, failed)
}
