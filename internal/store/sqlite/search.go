package sqlite

import (
	"slices"
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

// dialect is how the SQL of lists differs for SQLite. The plus sign keeps it from planning a
// statement anew for each value that is bound. Left to itself it would read past rows in
// the primary key rather than take an index.
func dialect() store.Dialect {
	return store.Dialect{
		Parameter: "+$",
		Contains:  "instr(folded, ?) > 0",
		LowStock:  "quantity <= ? AND quantity <= 100",
		Hint:      func(index string) string { return " INDEXED BY " + index },
		Search:    searchNames,
	}
}

// searchNames implements the Search of [store.Dialect]. Texts of one or two letters are not
// in the index.
func searchNames(tx store.Tx, workspace int64, p petstore.Page, text string, arg func(any) string) (*store.Search, error) {
	if !searchable(text) || workspace >= mostWorkspaces {
		return nil, nil
	}
	last := int64(0)
	for row, err := range tx.Query("SELECT pets FROM counters WHERE workspace = $1", workspace) {
		if err == nil {
			err = row.Scan(&last)
		}
		if err != nil {
			return nil, err
		}
	}
	if last >= mostPets {
		return nil, nil
	}
	from, to := p.After, int64(mostPets)
	if p.Newest {
		from, to = 0, min(p.After, mostPets)
	}
	term, err := rareTerm(tx, workspace, from, min(to, last), text)
	if err != nil || term == "" {
		return nil, err
	}
	first := workspace << idBits
	return &store.Search{
		From: "pet_names CROSS JOIN pets",
		Where: "id = pet_names.rowid - " + arg(first) + " AND pet_names MATCH " + arg(`"`+strings.ReplaceAll(asIndexed.Replace(term), `"`, `""`)+`"`) +
			" AND pet_names.rowid > " + arg(first+from) + " AND pet_names.rowid < " + arg(first+to),
		OrderBy: "pet_names.rowid",
	}, nil
}

// termLetters is how many letters a term of the index of names has.
const termLetters = 3

func searchable(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) >= termLetters && !strings.ContainsFunc(text, unicode.IsControl)
}

// asIndexed replaces the letters that FTS5 reads as U+FFFD.
var asIndexed = strings.NewReplacer("\uFFFE", "\uFFFD", "\uFFFF", "\uFFFD")

// By which names is told which terms are rare: some of them at places of the same distance,
// since numbered names that follow one another are alike.
const (
	placesSeen = 20
	namesSeen  = 25 // at each place
	frequent   = 10 // one name in so many: to read these by the index takes longer than to test all

	selectNames = "SELECT folded FROM pets WHERE workspace = +$1 AND id > +$2 ORDER BY id LIMIT +$3"
)

// rareTerm returns the three letters of a text that are rarest in the names of the pets with
// ids between two. FTS5 compares a row with the bounds of a query only after it has found a
// match. With more letters it would read the names of other workspaces that have a part of
// them, up to the first that has them all. With one term the next row that has it is a match,
// and ends the search. If all are frequent it returns "".
func rareTerm(tx store.Tx, workspace, from, to int64, text string) (string, error) {
	letters := []rune(text)
	terms := make([]string, len(letters)-termLetters+1)
	for i := range terms {
		terms[i] = string(letters[i : i+termLetters])
	}
	seen, names, name := make([]int, len(terms)), 0, ""
	for place := range int64(placesSeen) {
		for row, err := range tx.Query(selectNames, workspace, from+max(to-from, 0)/placesSeen*place, namesSeen) {
			if err == nil {
				err = row.Scan(&name)
			}
			if err != nil {
				return "", err
			}
			names++
			for i, term := range terms {
				if strings.Contains(name, term) {
					seen[i]++
				}
			}
		}
	}
	fewest := slices.Min(seen)
	if names == placesSeen*namesSeen && fewest > names/frequent {
		return "", nil
	}
	return terms[slices.Index(seen, fewest)], nil
}
